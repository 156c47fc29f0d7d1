#include <doctest/doctest.h>

#include <random>

#include <nlohmann/json.hpp>

#include "attn/files/io/array_files.hpp"
#include "tests/support/program.hpp"
#include "tests/support/thinned.hpp"

using program::run;

namespace {

/// Draws the flags of valid walks, one after the other.
class RandomFlags {
public:
    RandomFlags(unsigned seed, const program::Folder& folder)
        : random_(seed), mask_(folder / "mask.csv") {
        std::ofstream(mask_) << "0,1,1\n0,0,1\n0,0,0\n";
    }

    std::string next() {
        if (draw(12) == 0) return notebook();
        return walk() + any({"", "", " --detail", " --only weights,context", " --until scores"}) +
               any({"", " --precision 7", " --format json", " --format csv", " -q",
                    " --sci-mode on", " --code torch", " --format markdown", " --format svg"});
    }

    std::string walk() {
        if (draw(12) == 0) return model();
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
        flags += any({"", " --rng numpy", " --rng numpy-pcg64", " --torch-build portable",
                      " --dtype float64", " --variant loop"});
        flags +=
            any({"", " --seed " + std::to_string(draw(100000)), " --seed 18446744073709551615"});
        return flags + any({"", "", "", " --bug k-dot-k"});
    }

private:
    std::size_t draw(std::size_t count) { return random_() % count; }
    std::string any(const std::vector<std::string>& of) { return of[draw(of.size())]; }
    std::string source() {
        return any({"", "--text 'the cat sat'", "--text 'a \"b\" \\ c' --text 'zwei: w\u00f6rter'",
                    "--ids '1,2,0,0;1,2,3,4' --pad-id 0", "--batch 2 --seq-len 3",
                    "--random rand --seq-len 4", "--x data/six-by-three.csv --projection none",
                    "--seq-len 3 --memory-len 4", "--ids 3,1,2 --vocab-size 9",
                    "--text 'one two three' --memory-text 'eins zwei'", "--text abc --split chars",
                    "--text 'A a' --keep-case", "--ids '1,2;'",
                    "--text 'a b c' --position-embedding learned --rope half --head-dim 4",
                    "--text 'a b c' --mask-true drop --mask-file " + mask_,
                    "--preset llama2 --text 'a b'", "--preset gpt2 --mask none",
                    "--past 2 --seq-len 3",
                    "--text 'a b' --embed-dim 3 --memory data/six-by-three.csv"});
    }
    std::string model() {
        return "--model-file " +
               any({"stories --text 'Once upon a time'",
                    "tests/models/fixtures/gpt2 --ids 2,0,1"}) +
               " --layer " + std::to_string(draw(2)) +
               any({"", " --mask none", " --scale none", " --rope half", " --variant loop"});
    }
    std::string notebook() {
        return "notebook " + any({"000", "001", "002", "003"}) +
               any({"", " --seed 7", " --corrected", " --format json", " -q"});
    }

    std::mt19937 random_;
    std::string mask_;
};

}  // namespace

TEST_SUITE("app: config") {
    TEST_CASE("a walk read from its saved settings prints the same bytes") {
        const program::Folder folder;
        const std::string file = folder / "saved.json";
        RandomFlags random(18, folder);
        std::size_t walked = 0;
        for (std::size_t i = 0; i < 300 / thinned_by; ++i) {
            const std::string flags = random.next();
            CAPTURE(flags);
            const program::Result typed = run(flags + " --save-config " + file);
            if (typed.exit_code == 2) continue;  // two flags that exclude each other
            ++walked;
            const bool replays = flags.starts_with("notebook");
            const program::Result read =
                run((replays ? flags.substr(0, 13) : "") + " --config " + file);
            CHECK(read.exit_code == typed.exit_code);
            CHECK(read.out == typed.out);
            CHECK(read.err == typed.err);
        }
        CHECK(walked > 200 / thinned_by - 10);
    }

    TEST_CASE("the configuration in --format json is accepted too") {
        const program::Folder folder;
        const std::string file = folder / "walk.json";
        const std::string flags =
            "--batch 2 --seq-len 5 --embed-dim 8 --heads 2 --mask causal --bias --seed 7";
        REQUIRE(run(flags + " -o " + file).exit_code == 0);
        const program::Result again = run("--config " + file);
        CHECK_MESSAGE(again.exit_code == 0, again.err);
        CHECK(again.out == run(flags).out);
        std::ofstream(file) << R"({"attn_explain": "1.0.0",
"config": {"input": {"source": "text", "vocab_size": 3}, "heads": 2}, "steps": []})";
        program::check_refused("--config " + file,
                               "walk.json:2: this record does not contain the ");
        CHECK(run("--text 'a b' --config " + file).out == run("--text 'a b' --heads 2").out);
        // Written by hand in the layout of JSON output.
        std::ofstream(file) << R"({"config": {"heads": 2, "text": "a b"}})";
        CHECK(run("--config " + file).out == run("--text 'a b' --heads 2").out);
        std::ofstream(file) << R"({"text": "a b", "heads": {"count": 2}})";
        program::check_refused("--config " + file,
                               "'heads' is an object: write the value of --heads");
    }

    TEST_CASE("a record restores words, ids, files and models, and writes the same record again") {
        const program::Folder folder;
        const std::string file = folder / "walk.json";
        const auto without_command = [](const std::string& text) {
            nlohmann::json record = nlohmann::json::parse(text);
            CHECK(record.contains("command"));
            record.erase("command");
            return record;
        };
        RandomFlags random(19, folder);
        int walked = 0;
        for (int i = 0; i < 60; ++i) {
            const std::string flags = random.walk();
            CAPTURE(flags);
            const program::Result first = run(flags + " --json");
            if (first.exit_code == 2) continue;
            ++walked;
            std::ofstream(file) << first.out;
            const program::Result again = run("--json --config " + file);
            REQUIRE_MESSAGE(again.exit_code == 0, again.err);
            CHECK(without_command(again.out) == without_command(first.out));
        }
        CHECK(walked > 40);
    }

    TEST_CASE("a record holds what the user set, without defaults and files of rules") {
        const program::Folder folder;
        const std::string rules = folder / "mine.txt";
        std::ofstream(rules) << "# mine\nscaled_scores[q,k] = scores[q,k] / 3\n";
        const std::string specified =
            "--text 'b a' --heads 2 --embed-dim 4 --scale head-dim --rule ";
        const std::string typed = run(specified + "@" + rules + " --json").out;
        std::filesystem::remove(rules);
        std::ofstream(folder / "walk.json") << typed;
        const auto record = nlohmann::json::parse(typed)["config"];
        CHECK(record["explicit_settings"] == nlohmann::json{{"text", {"b a"}},
                                                            {"heads", "2"},
                                                            {"embed_dim", "4"},
                                                            {"rule", record["rules"]}});
        const std::string config = " --config " + (folder / "walk.json");
        CHECK(run("-q" + config).out ==
              run("-q " + specified + "'scaled_scores[q,k] = scores[q,k] / 3'").out);
        CHECK(run("-q --only weights --backward" + config).err.empty());
    }

    TEST_CASE("an edit of a record counts, even beside the settings that the user gave") {
        const program::Folder folder;
        auto record = nlohmann::json::parse(run("--heads 2 --mask causal --seed 7 --json").out);
        record["config"]["seed"] = 8;
        record["config"]["mask"] = "none";
        record["config"]["bias"] = true;
        const std::string expected = run("-q --heads 2 --seed 8 --bias").out;
        std::ofstream(folder / "walk.json") << record.dump(2);
        CHECK(run("-q --config " + (folder / "walk.json")).out == expected);
        std::ofstream(folder / "config.json") << record["config"].dump();
        CHECK(run("-q --config " + (folder / "config.json")).out == expected);
        CHECK(run("-q --heads 1 --config " + (folder / "config.json")).out ==
              run("-q --heads 1 --seed 8 --bias").out);
    }

    TEST_CASE("json, markdown, notebooks, figures and pages name the command that makes them") {
        const program::Folder folder;
        const std::string flags = "--text 'it''s <b>' --heads 2 --mask causal";
        const std::string line = "attn-explain --text 'its <b>' --heads 2 --mask causal";
        for (const std::string format : {"json", "markdown", "ipynb", "html", "svg"}) {
            CAPTURE(format);
            const std::string command = line + " --format " + format;
            const std::string text = run(flags + " --format " + format).out;
            const bool is_markup = format == "html" || format == "svg";
            const std::string expected =
                is_markup ? "attn-explain --text &#39;its &lt;b&gt;&#39; --heads 2" : command;
            CHECK(text.find(expected) != std::string::npos);
            CHECK(program::shell(command).out == text);
        }
        const std::string result =
            nlohmann::json::parse(run("--json --text='-a\tb'").out)["command"];
        CHECK(result == R"(attn-explain --text=$'-a\x09b' --format json)");
    }

    TEST_CASE("flags win over the file, and so does another source") {
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

    TEST_CASE("an unknown or wrong setting is reported with its line") {
        const program::Folder folder;
        const std::string path = folder / "c.json";
        std::ofstream(path) << "{\n  \"heads\": 2,\n  \"embed-dimm\": 8\n}\n";
        program::check_refused("--config " + path, "c.json:3: there is no setting 'embed-dimm'");
        std::ofstream(path) << "{\n  \"heads\": \"two\"\n}\n";
        program::check_refused("--config " + path, "c.json:2: --heads");
        // The word occurs elsewhere too: as a token, and as a key of another object.
        std::ofstream(path) << "{\n  \"text\": [\"heads\", \"a\"],\n  \"heads\": \"two\"\n}\n";
        program::check_refused("--config " + path, "c.json:3: --heads");
        std::ofstream(path)
            << "{\n  \"attn_explain\": \"\", \"of\": [\"config\", {\"heads\": 1}],\n"
               "  \"heads\": 1,\n  \"config\": {\n    \"heads\": \"two\"}\n}\n";
        program::check_refused("--config " + path, "c.json:5: --heads");
        std::ofstream(path) << "[1, 2]";
        program::check_refused("--config " + path, "contains no settings");
        std::ofstream(path) << "{\"heads\": 2,";
        program::check_refused("--config " + path, "c.json");
        program::check_refused("--config " + path + ".nowhere", "c.json.nowhere");
    }

    TEST_CASE("no settings file writes files, watches files, runs commands or loosens a check") {
        const program::Folder folder;
        const std::string path = folder / "c.json";
        const std::string mine = folder / "mine.json";
        const std::string other = folder / "other";
        std::ofstream(mine) << R"({"x": [[1, 2], [3, 4]], "output": [[9, 9], [9, 9]]})";
        const auto refused = [&](const std::string& command, const std::string& key,
                                 const std::string& value) {
            const std::string setting = "\"" + key + "\": " + value;
            std::ofstream(path) << "{\"seed\": 3,\n " + setting + "}";
            program::check_refused(command + " --config " + path,
                                   "c.json:2: a settings file cannot set");
            std::ofstream(path) << "{\"attn_explain\": \"1\", \"config\": {\"said\": {\n" +
                                       setting + "}}}";
            program::check_refused(command + " --config " + path, "cannot set '" + key + "'");
            CHECK_FALSE(std::filesystem::exists(other));
        };
        const std::string quoted = "\"" + other + "\"";
        for (const char* key : {"output", "save_config", "save_dir"}) refused("", key, quoted);
        for (const char* key : {"output", "script"}) refused("step", key, quoted);
        refused("", "watch", "true");
        refused("lint", "output", quoted);
        refused("lint", "only", "\"no-power\"");
        for (const char* key : {"atol", "rtol", "decimals"}) refused("diagnose " + mine, key, "9");
        for (const char* key : {"partial", "power"}) refused("diagnose " + mine, key, "true");
        refused("compare " + mine + " ''", "atol", "1e9");
        refused("notebook 000", "save_dir", quoted);
        // Typed flags win, and the saved file can be read again.
        CHECK(run("--seed 3 --only weights -q --no-pager -o " + other + " --save-config " + path)
                  .exit_code == 0);
        CHECK(run("--config " + path).out == program::read_file(other));
    }

    TEST_CASE("the comment in a probe's archive holds only settings of the walk") {
        const program::Folder folder;
        const std::string probe = folder / "probe.npz";
        const attn::Tensor x({"token", "feature"}, attn::Array<float>({{1, 2}, {3, 4}}));
        for (const char* setting : {"\"atol\": 1e9", "\"output\": \"here\"", "\"partial\": true"}) {
            attn::OutputFile file(probe);
            attn::write_npz(file, {{"x", x}},
                            "attn-explain settings\n{\"seed\": 3,\n" + std::string(setting) + "}");
            file.commit();
            program::check_refused("diagnose " + probe + " --given " + probe,
                                   "a settings file cannot set");
        }
    }

    TEST_CASE("contradicting settings are reported with their lines") {
        const program::Folder folder;
        const std::string path = folder / "c.json";
        std::ofstream(path)
            << "{\n  \"embed_dim\": 8,\n  \"text\": \"heads\",\n  \"heads\": 3\n}\n";
        program::check_refused("--config " + path, "embed-dim: " + path + ":2");
        program::check_refused("--config " + path, "heads: " + path + ":4");
        std::ofstream(path) << "{\n  \"text\": \"a\",\n  \"ids\": [[1, 2], [3, 4]]\n}\n";
        program::check_refused("--config " + path, "text: " + path + ":2, ids: " + path + ":3");
        CHECK(run("--text 'b c' -q --config " + path).out == run("--text 'b c' -q").out);
        std::ofstream(path)
            << "{\n  \"model_file\": \"stories\",\n  \"text\": \"a\",\n  \"heads\": 3\n}\n";
        program::check_refused("--config " + path, "heads: " + path + ":4");
        std::ofstream(path) << "{\n  \"preset\": \"llama3\",\n  \"heads\": 5\n}\n";
        program::check_refused("--config " + path, "heads: " + path + ":3");
        std::ofstream(path) << "{\"preset\": \"llama3\", \"seed\": 3}";
        CHECK(run("-q --config " + path).out == run("-q --preset llama3 --seed 3").out);
        std::ofstream(path) << "{\"preset\": \"llama3\", \"mask\": \"none\"}";
        CHECK(run("-q --config " + path).out == run("-q --preset llama3 --mask none").out);
    }
}
