// The words that help explains: each has sentences, a command that runs, and a page that exists.
#include <regex>
#include <sstream>
#include <utility>

#include "tests/support/program.hpp"
#include "tests/support/thinned.hpp"

using program::has;
using program::run;

namespace {

struct Entry {
    std::string names, sentences{}, command{}, page{};
};

std::vector<Entry> entries() {
    std::vector<Entry> all;
    std::istringstream text(program::read_file(ATTN_SOURCE_DIR "/app/reference/words.txt"));
    bool is_open = false;
    for (std::string line; std::getline(text, line);) {
        if (line.starts_with('#')) continue;
        if (line.empty()) {
            is_open = false;
            continue;
        }
        if (!std::exchange(is_open, true)) {
            all.push_back({line});
        } else if (line.starts_with("try ")) {
            all.back().command = line.substr(4);
        } else if (line.starts_with("tour ")) {
            all.back().page = line.substr(5);
        } else if (!line.starts_with("formula ")) {
            all.back().sentences = line;
        }
    }
    return all;
}

}  // namespace

TEST_SUITE("app: words") {
    TEST_CASE("sixty words have about three sentences each, and a command that runs") {
        const std::vector<Entry> all = entries();
        CHECK(all.size() >= 60);
        for (const Entry& each : thinned(all)) {
            CAPTURE(each.names);
            const auto ends = std::count(each.sentences.begin(), each.sentences.end(), '.');
            CHECK(ends >= 2);
            CHECK(each.sentences.size() < 420);
            REQUIRE(each.command.starts_with("attn-explain "));
            const auto result = run(each.command.substr(13));
            CHECK_MESSAGE(result.exit_code <= 1, result.err);
            CHECK(!result.out.empty());
            if (!each.page.empty()) CHECK(run("tour " + each.page).exit_code == 0);
            std::istringstream names(each.names);
            for (std::string name; std::getline(names, name, ',');) {
                const auto help = run("help '" + name.substr(name.starts_with(' ')) + "'");
                CHECK(help.exit_code == 0);
            }
        }
    }

    TEST_CASE("a word comes with the flags that select it") {
        for (const char* word : {"causal", "padding", "window"}) {
            CHECK(has(run("help " + std::string(word)).out, "--mask KIND"));
        }
        CHECK(has(run("help softmax").out, "--softmax-axis"));
    }
}
