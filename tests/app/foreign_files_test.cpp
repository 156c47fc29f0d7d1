// Files as other programs and people write them, passed to the program.

#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/json.hpp"
#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::run;
using program::shell;

TEST_SUITE("app: foreign files") {
    TEST_CASE("a lone array gets its name on the command line") {
        const Folder folder;
        REQUIRE(run("--only weights --format json -o '" + (folder / "all.json") + "'").exit_code ==
                0);
        attn::write_file(folder / "w.csv", "1,0,0,0,0,0\n.5,.5,0,0,0,0\n");
        check_refused("compare '' '" + (folder / "w.csv") + "'", "w.csv:weights");
        const auto compared = run("compare '' '" + (folder / "w.csv:weights") + "'");
        CHECK(compared.err.find("error") == std::string::npos);
        CHECK(compared.out.find("weights") != std::string::npos);
    }

    TEST_CASE("a mask with other numbers than 0 and 1 is added to the scores, as in PyTorch") {
        const Folder folder;
        attn::write_file(folder / "added.json", "[[0, -Infinity], [0, 0]]");
        attn::write_file(folder / "added.csv", "0,-1e9\n0,0\n");
        attn::write_file(folder / "keep.csv", "True,False\nTrue,True\n");
        attn::write_file(folder / "bias.csv", "0.5,-0.5\n0,0\n");
        const std::string walk = "--seq-len 2 --only weights -q --mask-file ";
        const auto kept = run(walk + "'" + (folder / "keep.csv") + "' --mask-true keep");
        REQUIRE(kept.exit_code == 0);
        for (const char* name : {"added.json", "added.csv"}) {
            CHECK(run(walk + "'" + (folder / name) + "'").out == kept.out);
        }
        CHECK(run("--seq-len 2 --list-steps --mask-file '" + (folder / "added.csv") + "'")
                  .out.find("biased_scores") != std::string::npos);
        const std::string bias = "'" + (folder / "bias.csv") + "'";
        CHECK(run(walk + bias).out ==
              run("--seq-len 2 --only weights -q --position-bias " + bias).out);
        const auto printed = run(walk + "'" + (folder / "added.csv") + "' --mask-true drop");
        CHECK(printed.out == kept.out);
        CHECK(printed.err.find("--mask-true has no effect") != std::string::npos);
        check_refused(walk + "'" + (folder / "keep.csv") + "'", "--mask-true keep or");
        check_refused(walk + bias + " --position-bias alibi", "both added to the scores");
    }

    TEST_CASE("row names and skipped lines of a table are reported") {
        const Folder folder;
        attn::write_file(folder / "pandas.csv", ",0,1\n0,1.0,2.0\n1,3.0,4.0\n");
        const auto result = run("--x '" + (folder / "pandas.csv") + "' --only x -q");
        CHECK(result.out == "tensor([[1., 2.],\n        [3., 4.]])\n");
        CHECK(result.err.find("note: " + (folder / "pandas.csv") +
                              ": the first line was read as column names, the first column as row "
                              "names") != std::string::npos);
    }

    TEST_CASE("a folder with a duplicate step, or an unreadable one, is refused") {
        const Folder folder;
        REQUIRE(run("--save-dir '" + (folder / "walk") + "'").exit_code == 0);
        shell("cd '" + (folder / "walk") + "' && cp ??_query.npy query.npy");
        check_refused("compare '' '" + (folder / "walk") + "'", "are query: remove one of them");
        std::filesystem::create_directory(folder / "closed");
        std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
        // The superuser may open it: then it is a folder without arrays.
        check_refused("compare '' '" + (folder / "closed") + "'", "closed");
    }

    TEST_CASE("a file with very many arrays is compared, and an error names a dozen of them") {
        constexpr std::size_t count = 20'000;
        std::string header = "{";
        for (std::size_t i = 0; i < count; ++i) {
            header += (i > 0 ? "," : "") + ("\"blocks." + std::to_string(i)) +
                      ".gain\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[" +
                      std::to_string(i) + "," + std::to_string(i + 1) + "]}";
        }
        header += "}";
        const program::Folder folder;
        const std::string file = folder / "many.safetensors";
        std::string length;
        for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFFU);
        std::ofstream(file, std::ios::binary) << length << header << std::string(count, '\1');
        const auto same = run("compare " + file + " " + file);
        CHECK(same.exit_code == 0);
        CHECK(program::has(same.out, "blocks.19999.gain"));
        const auto refused = run("diagnose " + file);
        CHECK(refused.exit_code == 2);
        CHECK(refused.err.size() < 2000);
        CHECK(program::has(refused.err, "blocks.11.gain (1,) and 19988 others is"));
    }
    TEST_CASE("names from a file are escaped on the terminal and on a page") {
        const Folder folder;
        attn::write_file(folder / "evil.json", "{\"\\u001b[2Jw\": [\"text\"], \"x\": [[1, 2]]}");
        const auto noted = run("--x '" + (folder / "evil.json:x") + "' --only x");
        CHECK(noted.exit_code == 0);
        const auto refused = run("--x '" + (folder / "evil.json") + "' --only x");
        CHECK(refused.err.find("\\x1b[2Jw") != std::string::npos);
        CHECK(refused.err.find('\x1b') == std::string::npos);
        const auto page = run(
            "--text 'a `<script>alert(1)</script> <img src=x onerror=alert(2)>' --format ipynb");
        REQUIRE(page.exit_code == 0);
        for (std::size_t at = page.out.find("<script"); at != std::string::npos;
             at = page.out.find("<script", at + 1)) {
            // It is either code between two backticks, or part of a Python string.
            const std::size_t line = page.out.rfind('\n', at);
            const std::string before = page.out.substr(line, at - line);
            CAPTURE(before);
            CHECK((before.find("`` ") != std::string::npos ||
                   before.find_first_of("'\"") < before.size()));
        }
    }

    TEST_CASE("no control or bidi character of a name or a word reaches the output") {
        const Folder folder;
        const std::string evil = "q\x1b]0;t\x07\b\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\x1b[31mz";
        const std::string path = "'" + (folder / evil) + "'";
        const auto array = [&](const std::string& number) {
            const std::string json = attn::json_string(evil) + ": [[" + number + "]], \"x\": [[1]]";
            attn::write_file(folder / (number + ".json"), "{" + json + "}");
            std::filesystem::create_directory(folder / number);
            attn::write_file(folder / (number + "/" + evil + ".csv"), number + "\n");
            return number;
        };
        array("1"), array("2");
        std::filesystem::create_directory(folder / evil);
        const std::string text = " --text '" + evil + " b'";
        const std::vector<std::string> commands{
            "compare 1.json 2.json",
            "compare 1.json 2.json --json",
            "compare 1.json ''",
            "diagnose 1.json --given 2.json",
            "diagnose 1.json --given 2.json --json",
            "diagnose 1.json --json --map '" + evil + "':weights",
            "compare 1 2",
            "diagnose 1.json --map '" + evil + "':weights",
            "--x " + path,
            "compare " + path + " ''",
            "--detail" + text,
            "--heatmap" + text,
            "--json" + text,
            "--format html" + text,
            "--format ipynb" + text,
            "why 'weights[0,1]'" + text,
            "why 'weights[0,1]' --json" + text,
            "notebook 000 --as-flags" + text,
            "lint" + text,
            "generate --model-file stories --tokens 2" + text,
            "generate --model-file stories --tokens 2 --json" + text,
            "'" + evil + "'"};
        for (const std::string& command : commands) {
            const auto result =
                shell("cd '" + folder.path().string() + "' && attn-explain " + command);
            const std::string all = result.out + result.err;
            CAPTURE(all);
            CHECK(result.exit_code <= 3);
            const std::string_view forbidden[] = {"\x1b",     "\x07",         "\b",          "\x7f",
                                                  "\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6"};
            for (const auto& each : forbidden) CHECK(all.find(each) == std::string::npos);
        }
        const auto printed = run("compare " + (folder / "1.json") + " " + (folder / "2.json"));
        CHECK(printed.out.find("q\\x1b]0;t\\x07\\x08\\x7f\\x9b\\u202e\\u2066\\x1b[31mz") !=
              std::string::npos);
        // The program's own colours stay.
        CHECK(run("compare --color always " + (folder / "1.json") + " ''").out.find("\x1b[1m") ==
              0);
    }

    TEST_CASE("a text continues after a character of value 0") {
        const Folder folder;
        attn::write_file(folder / "t.txt", std::string("u v\0w e\0\n", 9));
        for (const char* split : {"words", "chars"}) {
            const std::string flags = " --only ids --json --split " + std::string(split);
            const auto result = run("--text-file '" + (folder / "t.txt") + "'" + flags);
            CAPTURE(result.out);
            CHECK(result.exit_code == 0);
            const bool words = split == std::string("words");
            CHECK(result.out.find(words ? "v\\u0000w" : "\"w\"") != std::string::npos);
        }
        check_refused("--text-file /dev/zero", "/dev/zero: more than 64 MB");
    }

    TEST_CASE("a missing folder and exhausted memory are errors in one line") {
        const Folder folder;
        for (const char* command : {"--save-dir d", "export --model-file stories -o h",
                                    "--json -o d.json", "--save-config c.json", "probe -o p.npz"}) {
            const auto result =
                shell("mkdir -p '" + (folder / "gone") + "'; cd '" + (folder / "gone") +
                      "'; rmdir ../gone; attn-explain " + command);
            CAPTURE(result.err);
            CHECK(result.exit_code == 2);
            CHECK(result.err.starts_with("attn-explain: error: "));
            CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
            CHECK(result.err.find("filesystem") == std::string::npos);
        }
        if (build::is_sanitized) return;  // it reserves terabytes of address space
        // From a limit that just lets the program load to one with room for the longest list.
        std::size_t failed = 0;
        std::size_t least = 8000;
        const auto within = [](std::size_t kilobytes, const std::string& command) {
            return shell("ulimit -v " + std::to_string(kilobytes) + "; attn-explain " + command);
        };
        while (within(least, "--version").exit_code != 0 && least < 400'000) least += 1000;
        for (std::size_t room = least - 1000; room < least + 1000; room += 60) {
            if (within(room, "--version").exit_code != 0) continue;
            const auto result = within(room, "bugs");
            CAPTURE(result.err);
            CHECK((result.exit_code == 0 || result.exit_code == 2));
            if (result.exit_code == 0) continue;
            ++failed;
            CHECK(result.err ==
                  "attn-explain: error: not enough memory: make the dimensions smaller\n");
        }
        CHECK(failed > 0);
    }

    TEST_CASE("a file that may not grow is an error with a reason, and nothing is left") {
        const Folder folder;
        const auto result = shell(
            "ulimit -f 100; attn-explain --seq-len 500 --only scores --format "
            "npz -o '" +
            (folder / "a.npz") + "'");
        CHECK(result.exit_code == 2);
        CHECK(result.err.find("cannot write: File too large") != std::string::npos);
        CHECK(std::filesystem::is_empty(folder.path()));
    }

    TEST_CASE("no signal leaves a partial file") {
        // A shell lets background programs ignore INT and QUIT: tests/faults.py sends these.
        for (const char* signal : {"TERM", "HUP", "USR1", "ALRM", "PIPE", "XCPU"}) {
            CAPTURE(signal);
            const Folder folder;
            const std::string target = folder / "target";
            const auto result =
                shell("ulimit -c 0; attn-explain --seq-len 2000 --format json -o '" + target +
                      "' & pid=$!; until ls -A '" + folder.path().string() +
                      "' | grep -q .; do kill -0 $pid || break; done; kill -" + signal +
                      " $pid; wait $pid");
            CHECK(result.exit_code > 128);
            CHECK(std::filesystem::is_empty(folder.path()));
        }
    }
}
