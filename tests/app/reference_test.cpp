// Completions and man pages, made from the program's flags: they offer what it takes.
#include <regex>
#include <set>

#include "tests/support/program.hpp"

using program::Folder;
using program::read_file;
using program::shell;

namespace {

const std::string folder = ATTN_REFERENCE_DIR;

/// What bash offers for a line with the cursor at its end.
std::string offered(const std::string& line) {
    const Folder scratch;
    std::ofstream(scratch / "complete") << ". '" << folder << "/attn-explain.bash'\n"
                                        << "compopt() { :; }\n"
                                        << "COMP_LINE=$1 COMP_POINT=${#1}\n"
                                        << "_attn_explain\necho \"${COMPREPLY[*]}\"\n";
    const program::Result result = shell("bash '" + (scratch / "complete") + "' \"" + line + "\"");
    CHECK_MESSAGE(result.err.empty(), result.err);
    return result.out.substr(0, result.out.find('\n'));
}

/// The flags that a command's help lists.
std::set<std::string> flags_of(const std::string& command) {
    const std::string help = program::run(command + " --help").out;
    std::set<std::string> flags;
    static const std::regex form("\n  (?:-[a-z],)?(--[a-z-]+)");
    for (std::sregex_iterator it(help.begin(), help.end(), form), end; it != end; ++it) {
        flags.insert((*it)[1]);
    }
    REQUIRE(flags.size() > 1);
    return flags;
}

std::vector<std::string> command_names() {
    const std::string help = program::run("--help").out;
    std::vector<std::string> names{""};
    static const std::regex form("\n  ([a-z]+) ");
    const std::string commands = help.substr(help.find("Subcommands:"));
    for (std::sregex_iterator it(commands.begin(), commands.end(), form), end; it != end; ++it) {
        names.push_back((*it)[1]);
    }
    REQUIRE(names.size() > 8);
    return names;
}

std::string man_page(const std::string& command) {
    return read_file(folder + "/man1/attn-explain" + (command.empty() ? "" : "-" + command) + ".1");
}

/// A line of a man page as it is read: without fonts and escapes.
std::string plain(std::string line) {
    for (const auto& [escape, text] : {std::pair{"\\fB", ""},
                                       {"\\fI", ""},
                                       {"\\fR", ""},
                                       {"\\(aq", "'"},
                                       {"\\-", "-"},
                                       {"\\&", ""},
                                       {"\\e", "\\"}}) {
        for (std::size_t at = 0; (at = line.find(escape, at)) != std::string::npos;) {
            line.replace(at, std::string(escape).size(), text);
            at += std::string(text).size();
        }
    }
    return line;
}

}  // namespace

TEST_SUITE("app: reference") {
    TEST_CASE("bash offers commands, flags and what a flag takes") {
        CHECK(offered("attn-explain wh") == "why");
        CHECK(offered("attn-explain --no-m") == "--no-merge");
        CHECK(offered("attn-explain --mask ") == "none causal padding causal,padding");
        CHECK(offered("attn-explain --mask=ca") == "causal causal,padding");
        CHECK(offered("attn-explain --variant l") == "loop");
        CHECK(offered("attn-explain why --rng numpy-") == "numpy-pcg64");
        CHECK(offered("attn-explain notebook 00") == "000 001 002 003");
        CHECK(offered("attn-explain --only weights,con") == "weights,context");
        CHECK(offered("attn-explain why wei") == "weights[");
        CHECK(offered("attn-explain lint --only no-pow") == "no-power");
        CHECK(offered("attn-explain --seed ").empty());
        CHECK(offered("attn-explain -o LICEN") == "LICENSE");
        CHECK(offered("attn-explain compare l") == "loop lib");
        // Readline replaces only what stands behind the last = of a word.
        CHECK(offered("attn-explain --bug softmax-axis=q") == "query");
    }
    TEST_CASE("every flag of every command is in every file") {
        const std::string bash = read_file(folder + "/attn-explain.bash");
        const std::string zsh = read_file(folder + "/_attn-explain");
        const std::string fish = read_file(folder + "/attn-explain.fish");
        for (const std::string& command : command_names()) {
            const std::string page = plain(man_page(command));
            const std::string offers = " " + offered("attn-explain " + command + " --") + " ";
            for (const std::string& flag : flags_of(command)) {
                INFO(command << " " << flag);
                CHECK(offers.find(" " + flag + " ") != std::string::npos);
                CHECK(page.find(flag) != std::string::npos);
                CHECK(zsh.find(flag + "[") != std::string::npos);
                CHECK(fish.find(" -l " + flag.substr(2) + " ") != std::string::npos);
            }
        }
        CHECK(bash.find("complete -F _attn_explain attn-explain\n") != std::string::npos);
        CHECK(zsh.starts_with("#compdef attn-explain\n"));
    }
    TEST_CASE("the files are what their shells can read") {
        CHECK(shell("bash -n '" + folder + "/attn-explain.bash'").exit_code == 0);
        for (const auto& [name, file] :
             {std::pair{"zsh", "_attn-explain"}, {"fish", "attn-explain.fish"}}) {
            if (shell(std::string("command -v ") + name).exit_code != 0) {
                MESSAGE(name << " is not installed: its file was not parsed");
                continue;
            }
            const program::Result result =
                shell(std::string(name) + " -n '" + folder + "/" + file + "'");
            CHECK_MESSAGE(result.exit_code == 0, result.err);
        }
    }
    TEST_CASE("no line of a man page is a request by accident") {
        static const std::regex request("\\.(TH|SH|SS|TP|PP|B|BR|RS|RE|EX|EE|br)\\b.*|\\.\\\\\".*");
        for (const std::string& command : command_names()) {
            std::istringstream lines(man_page(command));
            for (std::string line; std::getline(lines, line);) {
                INFO(line);
                const bool controls = line.starts_with(".") || line.starts_with("'");
                CHECK((!controls || std::regex_match(line, request)));
            }
        }
    }
    TEST_CASE("the examples of the man pages work") {
        const Folder scratch;
        int count = 0;
        for (const std::string command :
             {"probe", "", "notebook", "step", "why", "lint", "compare", "diagnose", "bugs"}) {
            std::istringstream lines(man_page(command));
            for (std::string line; std::getline(lines, line);) {
                if (line != ".EX") continue;
                std::getline(lines, line);
                line = plain(line);
                INFO(line);
                if (command == std::string("diagnose")) {
                    const program::Result made = shell(
                        "cd '" + scratch.path().string() +
                        "' && attn-explain --x probe.npz:x --weights probe.npz --heads 2 --bias "
                        "--output-projection --output-bias --mask causal,padding --lengths 5,3,5 "
                        "--bug scale-missing --format npz -o mine.npz");
                    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
                }
                const program::Result result =
                    shell("cd '" + scratch.path().string() + "' && " + line);
                CHECK_MESSAGE(result.exit_code <= 1, result.err);
                CHECK_MESSAGE(result.err.find("error") == std::string::npos, result.err);
                ++count;
            }
        }
        CHECK(count >= 13);
    }
}
