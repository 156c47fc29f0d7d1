#include <doctest/doctest.h>

#include <random>

#include "tests/support/program.hpp"

using program::run;

namespace {

/// Draws the flags of walks that can be made, one after the other.
class RandomFlags {
public:
    explicit RandomFlags(unsigned seed) : random_(seed) {}

    std::string next() {
        if (draw(12) == 0) return notebook();
        std::string flags = source();
        const std::size_t heads = 1 + draw(3);
        flags += " --heads " + std::to_string(heads);
        flags += " --embed-dim " + std::to_string(heads * (2 + 2 * draw(3)));
        flags += any({"", "", " --bias", " --projection fused", " --projection fused-by-head",
                      " --projection stacked --no-merge", " --init normal",
                      " --init uniform,uniform,normal", " --draw-order kqv",
                      " --weight-layout in-out", " --output-projection --output-bias"});
        flags +=
            any({"", " --mask causal", " --mask causal --causal-align end", " --mask window:2",
                 " --scale none", " --scale 0.25", " --scale embed-dim", " --softmax-axis query"});
        flags +=
            any({"", " --rng numpy", " --rng numpy-pcg64", " --torch-build portable", " --redraw 2",
                 " --burn rand:7,randn:3", " --dtype float64", " --variant loop"});
        flags += any({"", " --seed " + std::to_string(draw(100000)), " --seed 18446744073709551615",
                      " --detail", " --only weights,context", " --until scores"});
        flags += any({"", " --precision 7", " --format json", " --format csv", " -q",
                      " --sci-mode on", " --code torch", " --bug k-dot-k"});
        return flags;
    }

private:
    std::size_t draw(std::size_t count) { return random_() % count; }
    std::string any(const std::vector<std::string>& of) { return of[draw(of.size())]; }
    std::string source() {
        return any({"", "--text 'the cat sat'", "--text 'a \"b\" \\ c' --text 'zwei: w\u00f6rter'",
                    "--ids '1,2,0,0;1,2,3,4' --pad-id 0", "--batch 2 --seq-len 3",
                    "--random rand --seq-len 4", "--x data/six-by-three.csv --projection none",
                    "--seq-len 3 --memory-len 4", "--ids 3,1,2 --vocab-size 9"});
    }
    std::string notebook() {
        return "notebook " + any({"000", "001", "002", "003"}) +
               any({"", " --seed 7", " --corrected", " --format json", " -q"});
    }

    std::mt19937 random_;
};

}  // namespace

TEST_SUITE("app: config") {
    TEST_CASE("a walk read from its saved settings prints the same bytes") {
        const program::Folder folder;
        const std::string file = folder / "saved.json";
        RandomFlags random(18);
        int walked = 0;
        for (int i = 0; i < 300; ++i) {
            const std::string flags = random.next();
            CAPTURE(flags);
            const program::Result typed = run(flags + " --save-config " + file);
            if (typed.exit_code == 2) continue;  // two flags that do not go together
            ++walked;
            const bool replays = flags.starts_with("notebook");
            const program::Result read =
                run((replays ? flags.substr(0, 13) : "") + " --config " + file);
            CHECK(read.exit_code == typed.exit_code);
            CHECK(read.out == typed.out);
            CHECK(read.err == typed.err);
        }
        CHECK(walked > 200);
    }

    TEST_CASE("the configuration of --format json is read too") {
        const program::Folder folder;
        const std::string file = folder / "walk.json";
        const std::string flags =
            "--batch 2 --seq-len 5 --embed-dim 8 --heads 2 --mask causal --bias --seed 7";
        REQUIRE(run(flags + " -o " + file).exit_code == 0);
        const program::Result again = run("--config " + file);
        CHECK_MESSAGE(again.exit_code == 0, again.err);
        CHECK(again.out == run(flags).out);
        REQUIRE(run("--text 'a b' --heads 2 -o " + file).exit_code == 0);
        program::check_refused("--config " + file, "does not hold the input itself");
        CHECK(run("--text 'a b' --config " + file).out == run("--text 'a b' --heads 2").out);
    }

    TEST_CASE("flags win over the file, also another source") {
        const program::Folder folder;
        std::ofstream(folder / "c.json")
            << R"({"text": ["the cat sat"], "heads": 2, "embed_dim": "8", "bias": true})";
        const std::string config = " --config " + (folder / "c.json");
        CHECK(run("--heads 4" + config).out ==
              run("--text 'the cat sat' --heads 4 --embed-dim 8 --bias").out);
        CHECK(run("--ids 1,2,3" + config).out ==
              run("--ids 1,2,3 --heads 2 --embed-dim 8 --bias").out);
        CHECK(run("why 'weights[0,0,1]'" + config).out ==
              run("why 'weights[0,0,1]' --text 'the cat sat' --heads 2 --embed-dim 8 --bias").out);
    }

    TEST_CASE("a setting that is unknown or wrong is named with its line") {
        const program::Folder folder;
        const std::string path = folder / "c.json";
        std::ofstream(path) << "{\n  \"heads\": 2,\n  \"embed-dimm\": 8\n}\n";
        program::check_refused("--config " + path, "c.json:3: there is no setting 'embed-dimm'");
        std::ofstream(path) << "{\n  \"heads\": \"two\"\n}\n";
        program::check_refused("--config " + path, "c.json:2: --heads");
        // The word stands elsewhere too: as a token, as another object's key.
        std::ofstream(path) << "{\n  \"text\": [\"heads\", \"a\"],\n  \"heads\": \"two\"\n}\n";
        program::check_refused("--config " + path, "c.json:3: --heads");
        std::ofstream(path)
            << "{\n  \"attn_explain\": \"\", \"of\": [\"config\", {\"heads\": 1}],\n"
               "  \"heads\": 1,\n  \"config\": {\n    \"heads\": \"two\"}\n}\n";
        program::check_refused("--config " + path, "c.json:5: --heads");
        std::ofstream(path) << "[1, 2]";
        program::check_refused("--config " + path, "holds no settings");
        std::ofstream(path) << "{\"heads\": 2,";
        program::check_refused("--config " + path, "c.json");
        program::check_refused("--config " + path + ".nowhere", "c.json.nowhere");
    }
}
