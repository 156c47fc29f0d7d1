// "What you can rely on" in app/README.md, except for parts that other suites test.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::has;
using program::read_file;
using program::run;
using program::shell;

namespace {

std::string written(const Folder& folder, const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return folder / name;
}

/// The lines of that section.
std::string section() {
    const std::string page = read_file(ATTN_SOURCE_DIR "/app/README.md");
    return page.substr(page.find("## What you can rely on"));
}

}  // namespace

TEST_SUITE("app: promises") {
    TEST_CASE("each line of the page names existing suites") {
        std::set<std::string> suites;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(ATTN_SOURCE_DIR "/tests")) {
            if (!entry.path().string().ends_with("_test.cpp")) continue;
            std::ifstream file(entry.path());
            for (std::string line; std::getline(file, line);) {
                if (!line.starts_with("TEST_SUITE(\"")) continue;
                suites.insert(line.substr(12, line.find('"', 12) - 12));
            }
        }
        std::istringstream lines(section());
        int count = 0;
        for (std::string line; std::getline(lines, line);) {
            if (line.empty() || line[0] < '0' || line[0] > '9') continue;
            ++count;
            const std::size_t open = line.rfind('[');
            REQUIRE_MESSAGE(line.ends_with("]"), line);
            std::istringstream names(line.substr(open + 1, line.size() - open - 2));
            for (std::string name; std::getline(names, name, ',');) {
                if (name.starts_with(' ')) name.erase(0, 1);
                CHECK_MESSAGE(suites.contains(name), name);
            }
        }
        CHECK(count == 10);
    }

    TEST_CASE("a settings file cannot name a file of rules, and its contents do not leak") {
        const Folder folder;
        const std::string secret = written(folder, "secret", "root:x:0:0\n");
        for (const std::string& rules : {"[\"@" + secret + "\"]", "\"@" + secret + "\""}) {
            const auto result =
                run("--config " + written(folder, "c.json", "{\"rules\": " + rules + "}"));
            const std::string file = "{\"rule\": " + rules + "}";
            const auto same = run("--config " + written(folder, "d.json", file));
            for (const auto& each : {result, same}) {
                CHECK(each.exit_code == 2);
                CHECK_MESSAGE(!has(each.err, "root"), each.err);
            }
            CHECK_MESSAGE(has(same.err, "d.json:1: a settings file cannot name a file"), same.err);
        }
        // Typed rules are applied, and saved as text.
        const std::string rules =
            written(folder, "r.txt", "scaled_scores[q,k] = scores[q,k] / 3\n");
        const std::string saved = folder / "saved.json";
        const auto typed = run("--rule @" + rules + " --save-config " + saved);
        CHECK(typed.exit_code == 0);
        CHECK(!has(read_file(saved), "@"));
        CHECK(run("--config " + saved).out == typed.out);
    }

    TEST_CASE("no pipe or device is read for a settings file") {
        const Folder folder;
        const std::string fifo = folder / "fifo";
        REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
        for (const std::string& input : {fifo, std::string("/dev/zero")}) {
            for (const char* key :
                 {"x", "text_file", "weights", "memory", "mask_file", "tokenizer"}) {
                CAPTURE(key);
                const std::string json = std::string("{\"") + key + "\": \"" + input + "\"}";
                const auto result =
                    shell("timeout 10 attn-explain --config " + written(folder, "c.json", json));
                CHECK(result.exit_code == 2);
                CHECK_MESSAGE(has(result.err, "a pipe or a device"), result.err);
            }
        }
    }

    TEST_CASE("no setting makes the program wait: tested for each flag that may name a file") {
        const Folder folder;
        REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
        std::istringstream rows(run("completions fish").out);
        std::set<std::string> keys;
        for (std::string row; std::getline(rows, row);) {
            const bool is_walks = has(row, "-n 'not __attn_explain_command");
            const bool may_name_file = row.ends_with(" -F") || has(row, " -F -a") ||
                                       has(row, "FILE") || has(row, "a file");
            const std::size_t at = row.find(" -l ") + 4;
            if (is_walks && may_name_file) keys.insert(row.substr(at, row.find(' ', at) - at));
        }
        for (const char* key : {"x", "loss", "sink", "past", "position-bias", "model-file"}) {
            CHECK_MESSAGE(keys.contains(key), key);
        }
        // Standard input is a pipe that is held open and never written to.
        std::string script = "cd '" + folder.path().string() + "'; exec 3<>pipe 4<>hold\n";
        int count = 0;
        for (std::string key : keys) {
            std::ranges::replace(key, '-', '_');
            for (const char* value : {R"("-")", R"("./pipe")", R"("mse:./pipe")", R"("-:x")",
                                      R"(["./pi", "pe"])", R"("/dev/zero")"}) {
                const std::string setting = "\"" + key + "\": " + value;
                const std::string file = std::to_string(count++) + ".json";
                std::ofstream(folder / file) << "{\"backward\": true, " + setting + "}";
                std::ofstream(folder / ("said" + file))
                    << R"({"attn_explain": "1", "config": {"said": {"backward": true}, )" +
                           setting + "}}";
            }
        }
        REQUIRE(::mkfifo((folder / "hold").c_str(), 0600) == 0);
        REQUIRE(::mkfifo((folder / "pi,pe").c_str(), 0600) == 0);
        script +=
            "for c in *.json; do timeout 10 attn-explain -q --config $c <&4 >out 2>err\n"
            "if [ $? = 124 ]; then echo $c; cat $c; fi; done";
        const auto result = shell("bash -c '" + script + "'");
        CHECK_MESSAGE(result.out.empty(), result.out);
        check_refused("--config " + written(folder, "c.json", R"({"x": "-"})"),
                      "does not read standard input: type --x - instead");
    }

    TEST_CASE("an overlong file is refused before it is read to its end") {
        if (build::is_sanitized) return;  // it reserves terabytes of address space
        for (const std::string& command : std::vector<std::string>{
                 "--attention /dev/stdin", "--config /dev/stdin", "--config -", "--text-file -"}) {
            CAPTURE(command);
            const auto result =
                shell("ulimit -v 400000; yes | head -c 500000000 | attn-explain " + command);
            CHECK(result.exit_code == 2);
            CHECK_MESSAGE((has(result.err, "1 MB") || has(result.err, "64 MB")), result.err);
        }
    }

    TEST_CASE("null in a settings file has no effect, which is reported") {
        const Folder folder;
        const auto result = run("--config " + written(folder, "c.json", "{\"heads\": null}"));
        CHECK(result.exit_code == 0);
        CHECK_MESSAGE(has(result.err, "c.json:1: 'heads' is null"), result.err);
        CHECK(result.out == run("").out);
        check_refused("--config " + written(folder, "d.json", "{\"haeds\": null}"), "haeds");
    }

    TEST_CASE("a text that ends in an equals sign is a text") {
        const std::string separated = run("--text '1 + 1 =' --only ids").out;
        CHECK(has(separated, "tensor"));
        CHECK(run("'--text=1 + 1 =' --only ids").out == separated);
    }

    TEST_CASE("an impossible walk is refused before it allocates memory") {
        if (!build::is_sanitized) {  // which reserves terabytes of address space
            // The names of all these tokens do not fit in 256 MB.
            const Folder folder;
            const std::string file = written(folder, "c.json", "{\"seq_len\": 16777216}");
            for (const std::string& command : std::vector<std::string>{
                     "--only weights --seq-len 16777216", "lint --seq-len 16777216",
                     "why 'weights[0,0]' --seq-len 16777216", "compare '' '' --seq-len 16777216",
                     "compare '--seq-len 16777216' ''", "--config " + file,
                     "--batch 20000000 --ids 1,2,3 --embed-dim 4096", "--batch 200000000 --text a",
                     "--batch 20000000 --text 'a b c d e f g' --embed-dim 512",
                     "--batch 900000000 --memory-text a",
                     "--attention retention --batch 20000000 --ids 1,2,3 --embed-dim 4096"}) {
                CAPTURE(command);
                const auto result = shell("ulimit -v 262144; attn-explain " + command);
                CHECK(result.exit_code == 2);
                CHECK_MESSAGE(has(result.err, "this walk would need"), result.err);
            }
        }
        // Parts of it can be computed, and steps without a cell for each query and key.
        CHECK(run("--list-steps --seq-len 400000").exit_code == 0);
    }

    TEST_CASE("the program ends by SIGPIPE if its reader leaves") {
        const auto result = shell(
            "bash -c 'attn-explain --seq-len 300 --threshold 1000000 | true; "
            "echo ${PIPESTATUS[0]}'");
        CHECK_MESSAGE(result.out == "141\n", result.out);
        CHECK(result.err.empty());
    }

    TEST_CASE("the digits of loop are those of every BLAS kernel") {
        const std::string walk =
            "attn-explain --random randn --seq-len 200 --embed-dim 16 --heads 2 --variant loop "
            "--only context --format csv";
        const std::string digits = shell(walk).out;
        CHECK(!digits.empty());
        for (const char* core : {"Haswell", "SkylakeX", "Nehalem"}) {
            CHECK(shell("OPENBLAS_CORETYPE=" + std::string(core) + " " + walk).out == digits);
        }
        const std::string fast = walk.substr(0, walk.find("--variant")) + "--only context";
        CHECK(shell(fast).out == shell(fast + " --threads 1").out);
    }

    TEST_CASE("whatever is written, a signal that ends the program runs a cleanup handler") {
        const Folder folder;
        for (const char* command : {"--save-config c.json", "--save-dir d", "-o x.txt", ""}) {
            const auto result =
                shell("cd '" + folder.path().string() +
                      "' && mkfifo t 2>&-; attn-explain --text-file t " + command +
                      " >o 2>e & exec 3>t; grep -E 'Sig(Ign|Cgt)' /proc/$!/status; echo a >&3");
            CAPTURE(command);
            // A signal that was ignored before the program began stays ignored.
            const auto mask_of = [&](const char* word) {
                const std::size_t at = result.out.find(word);
                REQUIRE(at != std::string::npos);
                return std::stoull(result.out.substr(result.out.find('\t', at) + 1), nullptr, 16);
            };
            const unsigned long long caught = mask_of("SigCgt") | mask_of("SigIgn");
            for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
                CHECK((caught >> (signal - 1) & 1U) == 1);
            }
        }
    }

    TEST_CASE(
        "without descriptors and with a tiny stack, nothing is left behind and nothing crashes") {
        const Folder folder;
        const std::string in = "cd '" + folder.path().string() + "' && ";
        for (int files = 3; files < 8; ++files) {
            shell(in + "ulimit -n " + std::to_string(files) + "; attn-explain --save-dir d");
            shell(in + "ulimit -n " + std::to_string(files) +
                  "; attn-explain quiz --sheet 2 --students 3 -o s.md --solutions k.md");
        }
        CHECK(shell(in + "ls -A | grep part").out == "");
        if (build::is_sanitized) return;  // its frames are larger
        const std::string deep =
            "weights[q,k] = " + std::string(250, '(') + "scores[q,k]" + std::string(250, ')');
        for (const std::string& command :
             {std::string("quiz --sheet 20 -o q.md"), "--backward -q --rule '" + deep + "'"}) {
            const auto tight = shell(in + "ulimit -s 64; attn-explain " + command);
            CAPTURE(tight.err);
            // A process that may raise the limit does so.
            CHECK((tight.exit_code == 0 || has(tight.err, "a stack of 64 KB is too small")));
        }
    }

    TEST_CASE("sheets and keys that do not fit on a disk are removed, and an existing set stays") {
        const Folder folder;
        const std::string in = "cd '" + folder.path().string() + "' && ";
        REQUIRE(shell(in + "attn-explain quiz --sheet 2 --students 10 -o s.md --solutions k.md")
                    .exit_code == 0);
        const std::string before = shell(in + "cat *").out;
        // The last key names a folder: no file of the set may change.
        const auto refused = shell(in +
                                   "mkdir k-12.md; attn-explain quiz --sheet 3 --students 12 "
                                   "-o s.md --solutions k.md; echo $?; rmdir k-12.md");
        CHECK(has(refused.out, "2"));
        CHECK(shell(in + "cat *").out == before);
        CHECK(shell(in + "ls -A | wc -l").out == "20\n");
        CHECK(run("man --save-dir " + folder.path().string()).exit_code == 0);
        CHECK(shell(in + "ls -A s-01.md attn-explain.1").exit_code == 0);
        // A limit on the size of files stands for a full disk.
        const auto limited = shell(in +
                                   "rm *; ulimit -f 8; attn-explain quiz --sheet 200 "
                                   "--students 3 -o s.md --solutions k.md");
        CHECK(limited.exit_code == 2);
        CHECK(shell(in + "ls -A").out == "");
    }
}
