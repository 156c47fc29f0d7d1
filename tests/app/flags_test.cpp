// Nothing typed is silently ignored: a flag works, or is refused with advice, or is reported to
// have no effect.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::lines_of;
using program::run;

namespace {

const std::vector<std::string> all_commands{
    "",         "notebook", "step",      "why",        "lint",     "compare", "diagnose",
    "probe",    "bugs",     "tolerance", "bench",      "man",      "help",    "completions",
    "generate", "heads",    "export",    "attentions", "examples", "laws"};

/// Checks that the program does its work and reports that a flag has no effect.
void check_useless(const std::string& arguments, const std::string& need) {
    INFO("attn-explain " << arguments);
    const program::Result result = run(arguments);
    const std::string flag = arguments.substr(arguments.find('-'));
    CHECK(result.exit_code == 0);
    CHECK(!result.out.empty());
    CHECK_MESSAGE(result.err.find(" has no effect here: it needs " + need) != std::string::npos,
                  result.err);
}

}  // namespace

TEST_SUITE("app: flags") {
    TEST_CASE("each flag that the program reads belongs to a command") {
        std::string all = run("completions bash").out;
        std::ranges::replace(all, '\'', ' ');
        std::size_t requested = 0;
        const std::string text = program::read_file(ATTN_SOURCE_DIR "/app/flags/names.hpp");
        const std::string begin = "{\"--";
        for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++at) {
            const std::size_t name = at + begin.size() - 2;
            const std::string flag = text.substr(name, text.find('"', name) - name);
            CHECK_MESSAGE(all.find(" " + flag + " ") != std::string::npos, flag);
            ++requested;
        }
        CHECK(requested > 100);
    }

    TEST_CASE("a text file that is not UTF-8 is named in the error") {
        const program::Folder folder;
        std::ofstream(folder / "latin1.txt") << "un caf\xe9 noir\n";
        check_refused("--text-file " + (folder / "latin1.txt"), "latin1.txt: is not UTF-8");
    }

    TEST_CASE("no flag accepts an empty argument") {
        std::size_t tried = 0;
        for (const std::string& command : all_commands) {
            const std::string help = run(command + " --help all").out;
            for (const std::string& line : lines_of(help)) {
                const std::size_t start = line.find("--");
                if (start != 6 || line.size() < 8) continue;
                const std::size_t end = std::min(line.find(' ', start), line.size());
                const std::string flag = line.substr(start, end - start);
                const bool alone = end + 1 >= line.size() || line[end + 1] == ' ';
                if (alone) continue;
                check_refused(command + " " + flag + " ''", flag + " is empty");
                check_refused(command + " " + flag + "=", flag + " is empty");
                ++tried;
            }
        }
        CHECK(tried > 150);
    }

    TEST_CASE("values are accepted in every usual spelling") {
        const std::string expected = run("--heads 2 --only weights -q").out;
        CHECK(run("--heads=2 --only=weights -q").out == expected);
        CHECK(run("-q --only weights --heads +2").out == expected);
        CHECK(run("--seed 42 --heads 2 --only weights --no-notes").out == expected);
        const Folder folder;
        const std::string path = folder / "out.txt";
        for (const std::string& spelling :
             {"-o '" + path + "' -q", "-qo '" + path + "'", "-qo'" + path + "'",
              "-o='" + path + "' -q", "-qo='" + path + "'", "--output='" + path + "' -q"}) {
            INFO(spelling);
            CHECK(run("--heads 2 --only weights " + spelling).exit_code == 0);
            CHECK(program::read_file(path) == expected);
            std::filesystem::remove(path);
        }
    }

    TEST_CASE("a flag without effect is reported with the flag it needs") {
        check_useless("--causal-align end", "--mask causal");
        check_useless("--mask causal --causal-align end", "--mask causal, and a memory");
        check_useless("--lengths 3", "a padding mask");
        check_useless("--empty-row zero", "a mask");
        check_useless("--output-dim 3", "an output projection");
        check_useless("--seq-len 3 --pad-id 0", "tokens");
        check_useless("--projection none --seq-len 3 --init normal", "a projection");
        check_useless("--projection none --seq-len 3 --weight-layout in-out", "a projection");
        check_useless("--no-merge", "several heads");
        check_useless("--precision 3 --format json", "a printed form");
        check_useless("--format csv --linewidth 120", "a printed form");
        check_useless("--format csv --code torch", "a format with lines of code");
        check_useless("--format csv -q", "a format with words");
        check_useless("--format json --detail", "a printed form");
        check_useless("--color always --format json", "a printed form");
        check_useless("bench --variant loop --arch avx2 --seq-len 4 --rounds 1", "--variant fused");
        check_useless("diagnose --power --pairs", "a file to diagnose");
        for (const std::string fine :
             {"--causal-align end --mask causal --memory-len 3", "--lengths 3 --mask padding",
              "--empty-row zero --mask causal", "--output-dim 3 --output-projection",
              "--ids 1,0 --pad-id 0", "--precision 3", "--precision 3 --format markdown",
              "--code torch --format json", "--detail", "--color always", "--merge --heads 2",
              "--color never"}) {
            const program::Result result = run(fine);
            CHECK_MESSAGE(result.err.find("no effect") == std::string::npos, result.err);
        }
    }

    TEST_CASE("the extension of a file selects the format") {
        const Folder folder;
        for (const auto& [ending, format] : {std::pair{"json", "json"},
                                             {"csv", "csv"},
                                             {"md", "markdown"},
                                             {"ipynb", "ipynb"},
                                             {"npz", "npz"},
                                             {"safetensors", "safetensors"},
                                             {"txt", "torch"}}) {
            INFO(ending);
            const std::string path = folder / (std::string("walk.") + ending);
            CHECK(run("-o '" + path + "'").exit_code == 0);
            CHECK(program::read_file(path) == run(std::string("--format ") + format).out);
        }
        CHECK(run("--only weights -o '" + (folder / "w.npy") + "'").exit_code == 0);
        CHECK(run("--x '" + (folder / "w.npy") + "' --only x -q").exit_code == 0);
        check_refused("-o '" + (folder / "all.npy") + "'", "name one with --only");
        check_refused("-o '" + (folder / "a.npz") + "' --format json", "leave --format out");
        CHECK(run("--format numpy -o '" + (folder / "out") + "'").exit_code == 0);
        CHECK(run("--rng numpy -o '" + (folder / "n.txt") + "'").exit_code == 0);
        CHECK(program::read_file(folder / "n.txt") == run("--rng numpy").out);
        CHECK(!std::filesystem::exists(folder / "all.npy"));
    }

    TEST_CASE("-o and --json are spelled the same everywhere") {
        const Folder folder;
        const std::string path = folder / "out";
        for (const std::string command :
             {"", "notebook", "notebook 001", "lint", "why 'weights[0,1]'", "compare loop fused",
              "diagnose --power", "bugs", "bugs scale-missing", "help", "help why", "man why",
              "completions zsh", "--list-steps", "lint --explain no-power"}) {
            INFO(command);
            const program::Result plain = run(command);
            const program::Result written = run(command + " -o '" + path + "'");
            CHECK(written.exit_code == plain.exit_code);
            CHECK(written.out.empty());
            CHECK(program::read_file(path) == plain.out);
        }
        for (const std::string command :
             {"", "notebook 001", "lint", "why 'weights[0,1]'", "compare loop vectorized",
              "diagnose --power", "bugs", "bugs scale-missing",
              "bench --seq-len 4 --rounds 1 --variant loop"}) {
            INFO(command);
            CHECK(nlohmann::json::accept(run(command + " --json").out));
        }
        CHECK(run("--json").out == run("--format json").out);
    }

    TEST_CASE("help has three lengths and no line above 80 columns") {
        for (const std::string& command : all_commands) {
            INFO(command);
            const program::Result brief = run(command + " -h");
            const program::Result whole = run(command + " --help");
            CHECK(brief.exit_code == 0);
            CHECK(whole.exit_code == 0);
            CHECK(brief.out.size() < whole.out.size());
            const std::string name = command.empty() ? "" : " " + command;
            const std::string usage = "\nUsage: attn-explain" + name + " ";
            CHECK(brief.out.find(usage) != std::string::npos);
            CHECK(whole.out.find(usage) != std::string::npos);
            const bool has_example = brief.out.find("\nExamples\n") != std::string::npos ||
                                     brief.out.find("  $ attn-explain ") != std::string::npos;
            CHECK(has_example);
            for (const std::string& line : lines_of(brief.out + whole.out)) {
                CHECK_MESSAGE(line.size() <= 80, line);
            }
            if (!command.empty()) CHECK(run("help " + command).out == whole.out);
        }
        CHECK(run("help").out == run("-h").out);
        CHECK(run("--heads two --help").out == run("--help").out);
        const std::string verified = run("--version --verified").out;
        CHECK(verified.starts_with(run("--version").out));
        CHECK(verified.find("PyTorch 1.13") != std::string::npos);
    }

    TEST_CASE("the program itself prints what shells and man read") {
        for (const std::string name : {"bash", "zsh", "fish", "python"}) {
            const program::Result result = run("completions " + name);
            CHECK(result.exit_code == 0);
            CHECK(result.out.find("attn-explain") != std::string::npos);
        }
        CHECK(run("man").out.find(".TH ATTN\\-EXPLAIN 1 ") != std::string::npos);
        CHECK(run("man why").out.find(".TH ATTN\\-EXPLAIN\\-WHY 1 ") != std::string::npos);
        const Folder folder;
        CHECK(run("man --save-dir '" + (folder / "man1") + "'").exit_code == 0);
        CHECK(program::read_file(folder / "man1/attn-explain-why.1") == run("man why").out);
    }

    TEST_CASE("a text file may begin with a byte order mark") {
        const Folder folder;
        std::ofstream(folder / "bom.txt") << "\xEF\xBB\xBFthe cat\r\nsat\r\n";
        std::ofstream(folder / "plain.txt") << "the cat\nsat\n";
        CHECK(run("--text-file '" + (folder / "bom.txt") + "'").out ==
              run("--text-file '" + (folder / "plain.txt") + "'").out);
    }

    TEST_CASE("compare and lint accept mistakes too, and the configuration lists them") {
        const auto config =
            nlohmann::json::parse(run("--json --bug scale-missing").out).at("config");
        CHECK(config.at("bugs") == nlohmann::json({"scale-missing"}));
        CHECK(nlohmann::json::parse(run("--json").out).at("config").at("bugs").empty());
    }

    TEST_CASE("--what-if and set accept values as flags do") {
        const program::Result set =
            run("step", "set text=\"the cat sat\" mask=causal\nonly ids,mask\nprint\n");
        CHECK_MESSAGE(set.exit_code == 0, set.err);
        CHECK(set.out.find("tensor([3, 1, 2])") != std::string::npos);
        const program::Result wrong = run("step", "set heads=two\n");
        CHECK(wrong.exit_code == 2);
        CHECK(wrong.err.find("standard input:1: --heads: 'two' is not a whole number") !=
              std::string::npos);
    }
}
