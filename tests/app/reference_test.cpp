// Completions and man pages, generated from the program's flags: they list what it accepts.
#include <regex>
#include <set>

#include "tests/support/terminal.hpp"

using program::Folder;
using program::is_installed;
using program::read_file;
using program::shell;

namespace {

const std::string references = build::reference_folder;

/// Completions by bash of a line with the cursor at its end.
std::string offered(const std::string& line, const std::string& setting = {}) {
    const Folder scratch;
    std::ofstream(scratch / "complete")
        << ". '" << references << "/attn-explain.bash'\n"
        << "compopt() { :; }\n"
        << setting << "\nIFS= read -r COMP_LINE\nCOMP_POINT=${#COMP_LINE}\n"
        << "_attn_explain\necho \"${COMPREPLY[*]}\"\n";
    const program::Result result = shell("bash '" + (scratch / "complete") + "'", line + "\n");
    CHECK_MESSAGE(result.err.empty(), result.err);
    return result.out.substr(0, result.out.find('\n'));
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// A command's help text for a flag.
std::string help_of(const std::string& help, const std::string& flag) {
    const std::size_t start = help.find(flag + " ");
    if (start == std::string::npos) return {};
    return help.substr(start,
                       std::min(help.find("\n      -", start), help.find("\n  -", start)) - start);
}

/// The flags that a command's help lists.
std::set<std::string> flags_of(const std::string& command) {
    const std::string help = program::run(command + " --help all").out;
    std::set<std::string> flags;
    static const std::regex form("\n  (?:-[a-z],|   ) (--[a-z-]+)");
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
    const std::string commands = help.substr(help.find("\nCommands\n"), help.find("\nInput"));
    for (std::sregex_iterator it(commands.begin(), commands.end(), form), end; it != end; ++it) {
        names.push_back((*it)[1]);
    }
    REQUIRE(names.size() > 8);
    return names;
}

std::string man_page_file(const std::string& command) {
    return references + "/man1/attn-explain" + (command.empty() ? "" : "-" + command) + ".1";
}

std::string man_page(const std::string& command) { return read_file(man_page_file(command)); }

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
    TEST_CASE("bash offers commands, flags and the values of a flag") {
        CHECK(offered("attn-explain wh") == "why");
        CHECK(offered("attn-explain --no-m") == "--no-merge");
        CHECK(offered("attn-explain --mask ") ==
              "none causal padding causal,padding causal,window:4 window:4 dilated:3:2 "
              "chunk:4 prefix:2 documents:3+3");
        CHECK(offered("attn-explain --mask win") == "window:4");
        CHECK(offered("attn-explain tour 1") == "1 10 11 12 13 14 15 16 17 18 19");
        CHECK(offered("attn-explain --mask=ca") == "causal causal,padding causal,window:4");
        CHECK(offered("attn-explain --variant l") == "loop");
        CHECK(offered("attn-explain why --rng numpy-") == "numpy-pcg64");
        CHECK(offered("attn-explain notebook 00") == "000 001 002 003");
        CHECK(offered("attn-explain --only weights,con") == "weights,context");
        CHECK(offered("attn-explain why wei") == "weights[");
        CHECK(offered("attn-explain lint --only no-pow") == "no-power");
        CHECK(offered("attn-explain --seed ").empty());
        CHECK(offered("attn-explain -o LICEN") == "LICENSE");
        CHECK(offered("attn-explain compare l") == "loop lib");
        CHECK(offered("attn-explain --text 'why not' --draw") == "--draw-order");
        CHECK(offered("attn-explain --heads 2 w").empty());
        // Readline replaces only the part after the last = of a word.
        CHECK(offered("attn-explain --bug softmax-axis=q") == "query");
        const std::string uncut = "COMP_WORDBREAKS=' '";
        CHECK(offered("attn-explain --bug softmax-axis=q", uncut) == "softmax-axis=query");
        CHECK(offered("attn-explain --mask=pa", uncut) == "--mask=padding");
    }
    TEST_CASE("bash completes file names, however they are quoted") {
        const Folder scratch;
        std::filesystem::create_directory(scratch.path() / "my data");
        std::ofstream(scratch / "my data/a b.npy") << "";
        std::ofstream(scratch / "my data/[c].npy") << "";
        const std::string there = "cd '" + scratch.path().string() + "'";
        CHECK(offered("attn-explain --x m", there) == "my data");
        CHECK(offered(R"(attn-explain --x "my data/a)", there) == "my data/a b.npy");
        CHECK(offered(R"(attn-explain --x='my data/a)", there) == "my data/a b.npy");
        CHECK(offered("attn-explain --save-dir ", there) == "my data");
        CHECK(offered(R"(attn-explain --x my\ data/[)", there) == "my data/[c].npy");
    }
    TEST_CASE("a shell completes the typed word") {
        Terminal terminal("HISTFILE= INPUTRC=/dev/null PS1='ready>' bash --norc -i\n");
        terminal.wait_for("ready>");
        terminal.type(". " + references + "/attn-explain.bash");
        terminal.press("Enter C-l");
        terminal.type("attn-explain --softmax-axis=q");
        terminal.press("Tab");
        terminal.type("--on");
        terminal.press("Tab");
        terminal.type("ids,wei");
        terminal.press("Tab");
        terminal.wait_for("attn-explain --softmax-axis=query --only ids,weights");
    }
    TEST_CASE("fish offers the same completions") {
        if (!is_installed("fish")) return;
        const auto fish = [](const std::string& line) {
            const program::Result result =
                shell("fish --no-config -c '. " + references +
                      "/attn-explain.fish; complete -C \"" + line + "\"' | cut -f 1");
            CHECK_MESSAGE(result.err.empty(), result.err);
            const std::vector<std::string> words = words_of(result.out);
            return std::set<std::string>(words.begin(), words.end());
        };
        using Words = std::set<std::string>;
        CHECK(fish("attn-explain wh") == Words{"why"});
        CHECK(fish("attn-explain --variant l") == Words{"loop"});
        CHECK(fish("attn-explain --mask=ca") == Words{"--mask=causal", "--mask=causal,padding"});
        CHECK(fish("attn-explain --only ids,wei") == Words{"ids,weights"});
        CHECK(fish("attn-explain --text why --dra") == Words{"--draw-order"});
        CHECK(fish("attn-explain why --dep") == Words{"--depth"});
        CHECK(fish("attn-explain --dep").empty());
        CHECK(fish("attn-explain --heads 2 w").empty());
        CHECK(fish("attn-explain -o LICEN") == Words{"LICENSE"});
    }
    TEST_CASE("zsh offers the same completions") {
        if (!is_installed("zsh")) return;
        Terminal terminal("PS1='ready>' zsh -f -i\n");
        terminal.wait_for("ready>");
        terminal.type("fpath=(" + references + " $fpath); autoload -Uz compinit; compinit -D -u");
        terminal.press("Enter C-l");
        terminal.type("attn-explain --softmax-axis=q");
        terminal.press("Tab");
        terminal.type("--on");
        terminal.press("Tab");
        terminal.type("ids,wei");
        terminal.press("Tab");
        terminal.wait_for("attn-explain --softmax-axis=query --only=ids,weights");
    }
    TEST_CASE("the completed words are those that the program accepts and documents") {
        const Folder scratch;
        const auto complaint = [&](const std::string& arguments) {
            return shell("cd '" + scratch.path().string() + "' && attn-explain " + arguments).err;
        };
        const std::string help = program::run("--help all").out;
        int with_words = 0;
        for (const std::string& flag : flags_of("")) {
            INFO(flag);
            const std::string line = "attn-explain " + flag + " ";
            if (complaint(flag + " nonsense").find("'nonsense' is unknown") == std::string::npos) {
                continue;  // any value is valid, or it depends on other flags
            }
            const std::vector<std::string> words = words_of(offered(line));
            const std::string printed = help_of(help, flag);
            const auto tells = [&](const std::string& word) {
                return printed.find(word) != std::string::npos;
            };
            const bool tells_any = std::any_of(words.begin(), words.end(), tells);
            CHECK(words.size() >= 2);
            for (const std::string& word : words) {
                INFO(word);
                CHECK(complaint(flag + " " + word).find("is unknown") == std::string::npos);
                CHECK(tells(word) == tells_any);
            }
            ++with_words;
        }
        CHECK(with_words >= 14);
    }
    TEST_CASE("every flag of every command is in every file") {
        const std::string bash = read_file(references + "/attn-explain.bash");
        const std::string zsh = read_file(references + "/_attn-explain");
        const std::string fish = read_file(references + "/attn-explain.fish");
        for (const std::string& command : command_names()) {
            const std::string page = plain(man_page(command));
            const std::string offers = " " + offered("attn-explain " + command + " --") + " ";
            for (const std::string& flag : flags_of(command)) {
                INFO(command << " " << flag);
                CHECK(offers.find(" " + flag + " ") != std::string::npos);
                CHECK(page.find(flag) != std::string::npos);
                CHECK((zsh.find(flag + "[") != std::string::npos ||
                       zsh.find(flag + "=[") != std::string::npos));
                CHECK(fish.find(" -l " + flag.substr(2) + " ") != std::string::npos);
            }
        }
        CHECK(bash.find("complete -F _attn_explain attn-explain\n") != std::string::npos);
        CHECK(zsh.starts_with("#compdef attn-explain\n"));
    }
    TEST_CASE("the shells accept their files") {
        CHECK(shell("bash -n '" + references + "/attn-explain.bash'").exit_code == 0);
        for (const auto& [name, file] :
             {std::pair{"zsh", "_attn-explain"}, {"fish", "attn-explain.fish"}}) {
            if (!is_installed(name)) continue;
            const program::Result result =
                shell(std::string(name) + " -n '" + references + "/" + file + "'");
            CHECK_MESSAGE(result.exit_code == 0, result.err);
        }
    }
    TEST_CASE("no line of a man page is a roff request by accident") {
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
    TEST_CASE("the programs that show man pages report nothing about ours") {
        for (const std::string reader :
             {"man --warnings -E UTF-8 -l %s >/dev/null", "mandoc -T lint -W error %s"}) {
            if (!is_installed(reader.substr(0, reader.find(' ')))) continue;
            for (const std::string& command : command_names()) {
                std::string line = reader;
                line.replace(line.find("%s"), 2, "'" + man_page_file(command) + "'");
                const program::Result result = shell(line);
                CHECK(result.exit_code == 0);
                CHECK_MESSAGE((result.out + result.err).empty(), result.out << result.err);
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
                // The Python lines between probe and diagnose write mine.npz.
                if (line.find("np.") != std::string::npos || line.starts_with("q = ")) continue;
                if (line.find("diagnose mine.npz") != std::string::npos) {
                    const program::Result outcome = shell(
                        "cd '" + scratch.path().string() +
                        "' && attn-explain --x probe.npz:x --weights probe.npz --heads 2 --bias "
                        "--output-projection --output-bias --mask causal,padding --lengths 5,3,5 "
                        "--bug scale-missing --format npz -o mine.npz");
                    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
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
