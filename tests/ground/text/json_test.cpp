#include "attn/ground/text/json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace attn;
using program::has;
using program::run;

namespace {

using OrderedJson = nlohmann::ordered_json;

/// Counts the renamed keys in a document. Each must be followed by its former name and the same
/// value.
std::size_t renamed_in(const OrderedJson& json) {
    std::size_t count = 0;
    if (!json.is_structured()) return 0;
    for (auto each = json.begin(); each != json.end(); ++each) {
        count += renamed_in(*each);
        const std::string before(json.is_object() ? former_name(each.key()) : std::string_view());
        if (before.empty()) continue;
        const auto next = std::next(each);
        REQUIRE(next != json.end());
        CHECK(next.key() == before);
        CHECK(*next == *each);
        ++count;
    }
    return count;
}

}  // namespace

TEST_SUITE("text: JSON") {
    TEST_CASE("a renamed key is written under both names, one after the other") {
        const JsonText one{{"name", "x"}, {"max_difference", 2}};
        CHECK(one.text == R"({"name": "x", "max_difference": 2, "apart": 2})");
        CHECK(JsonText({{"tensor", "q"}}, ",").with("detected", 1, ",").text ==
              R"({"tensor":"q","theirs":"q","detected":1,"shown":1})");
        const OrderedJson listed =
            OrderedJson::parse(R"({"steps": [{"tensor": "q", "shape": [2]}]})");
        CHECK(with_former_names(listed).dump() ==
              R"({"steps":[{"tensor":"q","theirs":"q","shape":[2]}]})");
        CHECK(former_name("shape").empty());
    }

    TEST_CASE("data/formats.md lists the renamed keys") {
        const std::string page = program::read_file(ATTN_SOURCE_DIR "/data/formats.md");
        std::set<std::string> listed, written;
        for (const std::string& line :
             program::lines_of(page.substr(page.find("## Renamed keys")))) {
            const std::size_t begin = line.find(" | "), end = line.rfind(" | ");
            if (!line.starts_with("| ") || begin == end) continue;
            listed.insert(line.substr(begin + 3, end - begin - 3));
        }
        listed.erase("key | before 2.0.0");
        for (const auto& [now, before] : renamed_keys()) {
            written.insert(std::string(now) + " | " + std::string(before));
        }
        CHECK(listed == written);
    }

    TEST_CASE("commands write renamed keys under both names") {
        const program::Folder folder;
        const std::string file = folder / "walk.npz", page = folder / "page.md";
        REQUIRE(run("--bug softmax-axis=query -o " + file).exit_code == 0);
        std::ofstream(page) << "q = [[1, 0], [0, 1]]\nk = [[1, 2], [3, 4]]\n"
                               "scores = [[1, 3], [2, 5]]\n";
        struct Written {
            std::string command;
            std::size_t keys;  ///< at least
        };
        const std::vector<Written> all{{"--format json", 2},
                                       {"attentions --json", 50},
                                       {"attentions retention --forms --json", 7},
                                       {"attentions retention --cost --json", 1},
                                       {"examples adjective --json", 1},
                                       {"laws first-token --json", 1},
                                       {"diagnose " + file + " --json", 10},
                                       {"diagnose " + file + " --power --json", 2},
                                       {"lens --json", 4},
                                       {"proofread " + page + " --json", 3},
                                       {"tolerance --json", 2},
                                       {"generate --bug rope-theta --json", 1}};
        for (const auto& [command, keys] : all) {
            CAPTURE(command);
            const std::string out = run(command).out;
            CHECK(renamed_in(OrderedJson::parse(out)) >= keys);
        }
    }
}
