#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/support/program.hpp"

using program::run;

namespace {

/// The cases of wrong_code.py, or of todays_code.py or latent_code.py.
nlohmann::json wrong_code_cases(const std::string& folder = "data/reference/wrong/") {
    auto cases =
        nlohmann::json::parse(program::read_file(ATTN_SOURCE_DIR "/" + folder + "index.json"))
            .at("cases");
    for (auto& one : cases) one["folder"] = folder;
    return cases;
}

std::string path_of(const nlohmann::json& one) {
    return one.at("folder").get<std::string>() + one.at("file").get<std::string>();
}

/// The output of `diagnose` for the tensors of one case, which are at `path`.
program::Result diagnosis_of(const nlohmann::json& one, const std::string& path,
                             const std::string& probe, const std::string& more = "") {
    std::string arguments =
        "diagnose --json " + path + " " + one.at("walk").get<std::string>() + more;
    if (one.at("given")) arguments += " --given " + probe;
    for (const auto& entry : one.at("map")) arguments += " --map " + entry.get<std::string>();
    return run(arguments);
}

/// Writes the tensors of a file again, rounded as if copied from a screen with `decimals` decimals.
void write_rounded(const std::string& from, const std::string& to, int decimals) {
    const double unit = std::pow(10.0, decimals);
    std::vector<attn::NamedTensor> tensors = attn::read_tensors(from);
    for (attn::NamedTensor& entry : tensors) {
        attn::Array<double> cells = attn::empty_array<double>(entry.tensor.shape());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const double rounded = std::round(entry.tensor.at(i) * unit) / unit;
            cells.data()[i] = std::isfinite(rounded) ? rounded : entry.tensor.at(i);
        }
        entry.tensor = attn::Tensor(entry.tensor.axes(), std::move(cells));
    }
    attn::OutputFile file(to);
    std::vector<attn::TensorRef> references;
    for (const attn::NamedTensor& each : tensors) references.push_back({each.name, each.tensor});
    attn::write_npz(file, references);
    file.commit();
}

/// The first finding for code with a mistake; null for correct code, in which only harmless
/// differences may be found.
nlohmann::json first_finding(const nlohmann::json& one, const program::Result& result) {
    REQUIRE(result.exit_code != 2);
    const auto findings = nlohmann::json::parse(result.out).at("findings");
    if (one.at("expects") != "none") {
        REQUIRE_FALSE(findings.empty());
        return findings.front();
    }
    CHECK(result.exit_code == 0);
    for (const auto& finding : findings) CHECK(finding.at("harmless").get<bool>());
    return nullptr;
}

/// The mistake that a finding names and those indistinguishable from it.
std::multiset<std::string> named(const nlohmann::json& finding) {
    std::multiset<std::string> ids{finding.at("id").is_null() ? "none known" : finding.at("id")};
    for (const auto& tie : finding.at("ties")) ids.insert(tie);
    return ids;
}

}  // namespace

TEST_SUITE("mistakes: other people's code") {
    TEST_CASE("diagnose names the mistake in each piece of code, and none in correct code") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe -o " + probe).exit_code == 0);
        std::set<std::string> mistakes;
        std::size_t correct = 0;
        for (const auto& one : wrong_code_cases()) {
            const program::Result result = diagnosis_of(one, path_of(one), probe);
            const std::string file = one.at("file");
            INFO(file << "\n" << result.out << result.err);
            const nlohmann::json finding = first_finding(one, result);
            if (finding.is_null()) {
                ++correct;
                continue;
            }
            // An average that a library takes is recognised, and harmless.
            const bool is_read = one.at("expects") == "weights-averaged";
            CHECK(result.exit_code == (is_read ? 0 : 1));
            std::multiset<std::string> expected{one.at("expects")};
            for (const auto& id : one.at("alike")) expected.insert(id);
            CHECK(named(finding) == expected);
            mistakes.insert(one.at("expects"));
        }
        CHECK(correct >= 4);
        CHECK(mistakes.size() >= 25);
    }
    TEST_CASE(
        "current models: the mistake is named, and correct code that looks wrong is not accused") {
        std::size_t correct = 0;
        for (const char* folder :
             {"data/reference/today/", "data/reference/newer/", "data/reference/latent/"}) {
            for (const auto& one : wrong_code_cases(folder)) {
                const program::Result result = diagnosis_of(one, path_of(one), "");
                INFO(path_of(one) << "\n" << result.out << result.err);
                const nlohmann::json finding = first_finding(one, result);
                if (finding.is_null()) {
                    ++correct;
                    continue;
                }
                CHECK(named(finding).count(one.at("expects")) == 1);
                CHECK_FALSE(finding.at("harmless").get<bool>());
            }
        }
        CHECK(correct >= 29);
    }
    TEST_CASE("current models: the output alone reveals nine mistakes in ten, and none falsely") {
        const program::Folder folder;
        const std::string alone = folder / "output.npz";
        std::size_t found = 0;
        std::size_t mistaken = 0;
        for (const char* from : {"data/reference/today/", "data/reference/newer/"}) {
            for (auto one : wrong_code_cases(from)) {
                for (const attn::NamedTensor& each :
                     attn::read_tensors(ATTN_SOURCE_DIR "/" + path_of(one))) {
                    if (each.name != "output") continue;
                    attn::OutputFile file(alone);
                    attn::write_npz(file, {{each.name, each.tensor}});
                    file.commit();
                }
                one["map"] = nlohmann::json::array();
                const program::Result result = diagnosis_of(one, alone, "");
                INFO(path_of(one) << "\n" << result.out << result.err);
                REQUIRE(result.exit_code != 2);
                const auto findings = nlohmann::json::parse(result.out).at("findings");
                if (one.at("expects") == "none") {
                    CHECK(result.exit_code == 0);
                    continue;
                }
                ++mistaken;
                if (findings.empty()) continue;
                found += named(findings.front()).count(one.at("expects"));
            }
        }
        CHECK_MESSAGE(10 * found >= 9 * mistaken, found << " of " << mistaken);
    }
    TEST_CASE("three decimals of the same tensors are enough") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe -o " + probe).exit_code == 0);
        for (const auto& one : wrong_code_cases()) {
            const std::string file = folder / "rounded.npz";
            write_rounded(ATTN_SOURCE_DIR "/" + path_of(one), file, 3);
            const program::Result result = diagnosis_of(one, file, probe, " --decimals 3");
            INFO(path_of(one) << "\n" << result.out << result.err);
            if (one.at("expects") == "none") {
                CHECK(result.exit_code == 0);
                continue;
            }
            REQUIRE(result.exit_code == (one.at("expects") == "weights-averaged" ? 0 : 1));
            const auto finding = nlohmann::json::parse(result.out).at("findings").front();
            CHECK(named(finding).count(one.at("expects")) == 1);
        }
    }
    TEST_CASE("a mistake in code that fills with -1e9 is named together with its fill") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        REQUIRE(run("probe -o " + probe).exit_code == 0);
        for (const auto& one : wrong_code_cases()) {
            if (one.at("file") != "strictly_lower_triangle.npz") continue;
            const auto finding = nlohmann::json::parse(diagnosis_of(one, path_of(one), probe).out)
                                     .at("findings")
                                     .front();
            CHECK(finding.at("harmless_difference") == "finite-fill=-1e9");
            return;
        }
        FAIL("strictly_lower_triangle.npz is not in the index");
    }
}
