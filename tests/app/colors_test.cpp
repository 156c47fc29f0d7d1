// Words that a terminal highlights, and the line on what to try next.

#include "tests/support/golden.hpp"
#include "tests/support/terminal.hpp"

using program::has;
using program::run;
using program::shell;
using program::without_escapes;

namespace {

/// Writes a walk with `--bug softmax-axis=query` as a file for diagnose.
std::string diagnosed(const program::Folder& folder) {
    const std::string file = folder / "mine.npz";
    REQUIRE(run("--bug softmax-axis=query -o " + file).exit_code == 0);
    return "diagnose " + file;
}

}  // namespace

TEST_SUITE("app: colors") {
    TEST_CASE("headings are bold, formulas dim, mistakes red and changed digits underlined") {
        const std::string walk = run("--color always --bug scale-missing").out;
        CHECK(has(walk, "\x1b[1m# scores: "));
        CHECK(has(walk, "\x1b[2m# scores[q,k] = sum f: query[q,f] * key[k,f] (query @ key^T)"));
        CHECK(has(walk, "\x1b[31m# ! "));
        CHECK(has(run("why --color always 'weights[0,1]'").out, "\x1b[1mweights[0,1] = "));
        const std::string compared = run("compare --color always '' '--bug scale-missing'").out;
        CHECK(has(compared, "\x1b[31mscaled_scores"));
        CHECK(has(compared, " and 0.\x1b[4m"));
        CHECK(has(run("lint --color always --heads 2 --scale embed-dim").out,
                  "\x1b[31merror  \x1b[0m\x1b[1mscale-dmodel"));
        const program::Folder folder;
        CHECK(has(run(diagnosed(folder) + " --color always").out,
                  "\x1b[31mrow_max: softmax-axis=query\x1b[0m"));
    }

    TEST_CASE("colours carry no information of their own: without them the bytes are the same") {
        const program::Folder folder;
        for (const std::string& command : std::vector<std::string>{
                 "--bug scale-missing", "notebook 002", "--code torch",
                 "why 'weights[0,1]' --depth 3", "lint --heads 2 --scale embed-dim",
                 "compare loop '--scale none'", diagnosed(folder), "--onyl weights"}) {
            CAPTURE(command);
            const program::Result plain = run(command);
            CHECK_FALSE(has(plain.out + plain.err, "\x1b"));
            const program::Result colored = run(command + " --color always");
            CHECK(has(colored.out + colored.err, "\x1b["));
            CHECK(without_escapes(colored.out) == plain.out);
            CHECK(without_escapes(colored.err) == plain.err);
            CHECK(shell("FORCE_COLOR=1 attn-explain " + command).out == colored.out);
            CHECK(shell("NO_COLOR=1 FORCE_COLOR=1 attn-explain " + command).out == plain.out);
            CHECK(run(command + " --color never").out == plain.out);
        }
        CHECK(run("--color always -q").out == run("-q").out);
        CHECK(run("--color always --json").out.find('\x1b') == std::string::npos);
    }

    TEST_CASE("a screen with colours, and the screen of a terminal that has none") {
        Terminal colored(
            "attn-explain --text 'the cat' --bug scale-missing --from scores --until "
            "weights 2>&1",
            80, 40);
        colored.wait_for("[ended]");
        golden::check("screen_colors", colored.screen(true));
        Terminal dumb(
            "export TERM=dumb\nattn-explain --text 'the cat' --from scores --until weights", 80,
            40);
        dumb.wait_for("[ended]");
        CHECK_FALSE(has(dumb.screen(true), "\x1b["));
        Terminal refused("attn-explain --onyl weights");
        refused.wait_for("[ended]");
        CHECK(has(refused.screen(true), "attn-explain: \x1b[31merror:"));
    }

    TEST_CASE(
        "a walk on a terminal ends with a line that suggests a command, and the command works") {
        const auto next_of = [](const std::string& flags) {
            Terminal terminal("attn-explain " + flags, 200, 24);
            const std::string screen = terminal.wait_for("[ended]");
            const std::size_t at = screen.find("# next: attn-explain ");
            if (at == std::string::npos) return std::string();
            CHECK(screen.find("# next: ", at + 1) == std::string::npos);
            return screen.substr(at + 8, screen.find('\n', at) - at - 8);
        };
        for (const auto& [flags, expected] : std::vector<std::pair<std::string, std::string>>{
                 {"--only weights", "attn-explain why 'weights["},
                 {"--text 'it''s' --memory-text 'a b' --seed 3 --only weights",
                  "attn-explain why 'weights[0,"},
                 {"--only weights --bug scale-missing", "attn-explain bugs scale-missing"},
                 {"--heads 2 --scale embed-dim --only 'weights[0]'", "attn-explain lint --heads 2"},
                 {"--variant fused --only context", "attn-explain step "},
                 {"--text a --only weights", "attn-explain step "}}) {
            CAPTURE(flags);
            const std::string line = next_of(flags);
            CHECK_MESSAGE(line.starts_with(expected), line);
            if (line.empty()) continue;
            CHECK_MESSAGE(shell(line + " </dev/null").exit_code < 2, line);
        }
        for (const std::string none :
             {"--only weights -q", "--only weights | cat", "--only weights --summary",
              "--only ids --json", "--only weights --color never | cat"}) {
            CHECK(next_of(none).empty());
        }
    }
}
