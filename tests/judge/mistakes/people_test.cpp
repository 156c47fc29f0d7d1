#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/support/program.hpp"

using program::run;

namespace {

constexpr const char* people_folder = "data/reference/people/";

nlohmann::json people_cases() {
    return nlohmann::json::parse(
               program::read_file(std::string(ATTN_SOURCE_DIR "/") + people_folder + "index.json"))
        .at("cases");
}

/// The first finding that is not harmless; null if there is none.
nlohmann::json first_mistake(const nlohmann::json& diagnosis) {
    for (const auto& finding : diagnosis.at("findings")) {
        if (!finding.at("harmless").get<bool>()) return finding;
    }
    return nullptr;
}

/// True if a finding names the mistake of a case, or one that gives the same numbers.
bool names_it(const nlohmann::json& finding, const nlohmann::json& one) {
    if (finding.is_null() || finding.at("id").is_null()) return false;
    std::vector<std::string> named{finding.at("id")};
    for (const auto& tie : finding.at("ties")) named.push_back(tie);
    return std::find(named.begin(), named.end(), one.at("expects")) != named.end();
}

struct Score {
    int named = 0, right = 0, unknown = 0;
    std::vector<std::string> wrongly_named, accused;
};

void add_to(Score& score, const nlohmann::json& one, const program::Result& result) {
    const auto diagnosis = nlohmann::json::parse(result.out);
    const auto finding = first_mistake(diagnosis);
    const std::string file = one.at("file");
    if (one.at("expects") == "none") {
        if (finding.is_null() && result.exit_code == 0) {
            ++score.right;
        } else {
            score.accused.push_back(file);
        }
    } else if (names_it(finding, one)) {
        ++score.named;
    } else if (!finding.is_null() && !finding.at("id").is_null()) {
        score.wrongly_named.push_back(file);
    } else {
        ++score.unknown;
    }
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += " " + name;
    return text;
}

}  // namespace

TEST_SUITE("mistakes: people's code") {
    TEST_CASE("from all steps, each mistake is named and right code is not accused") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe -o " + probe).exit_code == 0);
        Score score;
        int mistaken = 0;
        for (const auto& one : people_cases()) {
            const std::string file = one.at("file");
            const program::Result result =
                run("diagnose --json " + (people_folder + file) + " --given " + probe);
            INFO(file << "\n" << result.out << result.err);
            REQUIRE(result.exit_code != 2);
            CHECK(nlohmann::json::parse(result.out).at("skipped").empty());
            const Score before = score;
            add_to(score, one, result);
            mistaken += one.at("expects") == "none" ? 0 : 1;
            CHECK(score.named + score.right == before.named + before.right + 1);
        }
        CHECK(score.named == mistaken);
        CHECK(score.right == 10);
        CHECK_MESSAGE(score.wrongly_named.empty(), joined(score.wrongly_named));
        CHECK_MESSAGE(score.accused.empty(), joined(score.accused));
    }
    TEST_CASE("from the result alone most are named, none wrongly") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe -o " + probe).exit_code == 0);
        Score score;
        int mistaken = 0;
        for (const auto& one : people_cases()) {
            const std::string source = std::string(ATTN_SOURCE_DIR "/") + people_folder +
                                       one.at("file").get<std::string>();
            const std::string file = folder / "result.npz";
            for (const attn::NamedTensor& entry : attn::read_tensors(source)) {
                if (entry.name != one.at("result").get<std::string>()) continue;
                attn::OutputFile npz(file);
                attn::write_npz(npz, {{entry.name, entry.tensor}});
                npz.commit();
            }
            const program::Result result = run("diagnose --json " + file + " --given " + probe);
            REQUIRE(result.exit_code != 2);
            add_to(score, one, result);
            mistaken += one.at("expects") == "none" ? 0 : 1;
        }
        CHECK(score.right == 10);
        CHECK_MESSAGE(score.named >= 0.97 * (mistaken - 1), score.named << " of " << mistaken);
        CHECK_MESSAGE(score.wrongly_named.empty(), joined(score.wrongly_named));
        CHECK_MESSAGE(score.accused.empty(), joined(score.accused));
    }
    TEST_CASE(
        "without flags right code is right with the mask of its file, also beside its output") {
        for (const char* const name :
             {"annotated", "bert", "einsum_energy", "half", "small_gpt", "tutorial"}) {
            const program::Result result =
                run("diagnose --json " + (people_folder + std::string(name)) + "_none.npz");
            INFO(name << "\n" << result.out << result.err);
            const auto printed = nlohmann::json::parse(result.out);
            CHECK(result.exit_code == 3);  // the output has no parameters
            CHECK(printed.at("skipped").size() == 1);
            for (const auto& finding : printed.at("findings"))
                CHECK(finding.at("harmless") == true);
        }
    }
}
