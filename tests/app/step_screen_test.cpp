// The stepper on a full screen, driven through tmux: what is on the screen after each key, and the
// state in which the terminal is left.
#include <regex>

#include "tests/support/golden.hpp"
#include "tests/support/terminal.hpp"

namespace {

// The loop implementation's digits are the same on every machine.
const std::string two_heads = "attn-explain step --variant loop --heads 2 --mask causal";

/// A command between two readings of the terminal's modes, which are written to files.
std::string with_modes(const std::string& command) {
    return "trap : INT\nstty -a > before\n" + command + "\necho \"code $?\"\nstty -a > after";
}

}  // namespace

TEST_SUITE("app: step on screen") {
    TEST_CASE("the first screen, one step forward, and back") {
        Terminal terminal(two_heads);
        golden::check("screen_first", terminal.wait_for("> ids"));
        terminal.press("n n");
        golden::check("screen_third", terminal.wait_for("> projected_query"));
        terminal.press("p");
        terminal.wait_for("> x ");
        terminal.press("S-Right");
        terminal.wait_for("> projected_query");
        terminal.press("q");
        terminal.wait_for("[ended]");
    }
    TEST_CASE("the cell moves, and its derivation follows") {
        Terminal terminal(two_heads);
        terminal.wait_for("> ids");
        terminal.press("g");
        terminal.type("weights");
        terminal.press("Enter j j Right");
        golden::check("screen_cell", terminal.wait_for("weights[0,2,1] = "));
        terminal.press("Tab");
        terminal.wait_for("weights[1,2,1] = ");
        terminal.press("BTab k h");
        terminal.wait_for("weights[0,1,0] = ");
        terminal.press("End");
        terminal.wait_for("weights[0,1,5] = ");
        terminal.press("m");
        terminal.wait_for("weights[0,1,0] = ");
    }
    TEST_CASE("Space continues, and Tab completes names at the prompt") {
        Terminal terminal(two_heads);
        terminal.wait_for("> ids");
        terminal.press("Space");
        terminal.wait_for("> x ");
        terminal.press("g");
        terminal.type("scal");
        terminal.press("Tab Enter");
        terminal.wait_for("> scaled_scores");
        terminal.press(":");
        terminal.type("goto ");
        terminal.type("wei");
        terminal.press("Tab Enter");
        terminal.wait_for("> weights");
    }
    TEST_CASE("at the edge Right continues to the next step") {
        Terminal terminal(two_heads);
        terminal.wait_for("ids[0] = ");
        terminal.press("Right");
        terminal.wait_for("ids[1] = ");
        terminal.press("End Right");
        terminal.wait_for("> x ");
        terminal.press("Home Left");
        terminal.wait_for("> ids");
    }
    TEST_CASE("a dive and its return") {
        Terminal terminal(two_heads);
        terminal.wait_for("> ids");
        terminal.press("/");
        terminal.type("attention logits");
        terminal.press("Enter Down");
        terminal.wait_for("scores[0,1,0] = ");
        terminal.press("Enter");
        golden::check("screen_dive", terminal.wait_for("scores[0,1,0] came from here"));
        terminal.press("x");
        terminal.wait_for("> key");
        terminal.press("BSpace");
        terminal.wait_for("scores[0,1,0] = ");
        terminal.press("BSpace");
        terminal.wait_for("no dive to return from");
    }
    TEST_CASE("a setting is changed after a colon, and changed cells are marked") {
        Terminal terminal(two_heads);
        terminal.wait_for("> ids");
        terminal.press("g");
        terminal.type("weights");
        terminal.press("Enter");
        terminal.wait_for("> weights");
        terminal.press(":");
        terminal.type("set mask=none");
        terminal.wait_for(":set mask=none");
        terminal.press("Enter");
        golden::check("screen_changed", terminal.wait_for("gone: mask"));
        terminal.press("u");
        terminal.wait_for("changed cells: mask");
        terminal.press("+");
        terminal.wait_for("1.00000");
        terminal.press(":");
        terminal.type("w " + terminal.file("weights.npy"));
        terminal.press("Enter");
        terminal.wait_for("wrote ");
        CHECK(program::read_file(terminal.file("weights.npy")).size() == 128 + 2 * 6 * 6 * 4);
        terminal.press(":");
        terminal.type("only nonsense");
        terminal.press("Enter");
        terminal.wait_for("there is no step");
        terminal.press(":");
        terminal.type("qq");
        terminal.press("BSpace BSpace BSpace");
        terminal.wait_for("? help");
    }
    TEST_CASE("every step of the default example is whole at 80x24") {
        Terminal terminal("attn-explain step --variant loop");
        for (const std::string step : {"ids", "x", "query", "key", "value", "scores",
                                       "scaled_scores", "weights", "context"}) {
            INFO(step);
            const std::string screen = terminal.wait_for("> " + step);
            const std::size_t begin = screen.find("columns ");
            const std::string tensor = screen.substr(begin, screen.find("──", begin) - begin);
            CHECK_MESSAGE(tensor.find("…") == std::string::npos, screen);
            CHECK_MESSAGE(tensor.find(" of ") == std::string::npos, screen);
            CHECK(screen.find("  q quit  ") != std::string::npos);
            terminal.press("n");
        }
    }
    TEST_CASE("cuts are marked: columns, rows, steps and sentences") {
        Terminal terminal("attn-explain step --variant loop --seq-len 30 --heads 2", 80, 20);
        terminal.wait_for("> x ");
        terminal.press("g");
        terminal.type("scores");
        terminal.press("Enter Right");
        std::string screen = terminal.wait_for("scores[0,0,1] = ");
        CHECK(screen.find("rows query 0-5 of 30, columns key 0-5 of 30") != std::string::npos);
        CHECK_MESSAGE(screen.find(" 5…\n") != std::string::npos, screen);
        CHECK_MESSAGE(screen.find("\n… ") != std::string::npos, screen);
        terminal.press("End");
        screen = terminal.wait_for("scores[0,0,29] = ");
        CHECK_MESSAGE(screen.find("columns key 24-29 of ") != std::string::npos, screen);
        CHECK_MESSAGE(screen.find("     …     2") != std::string::npos, screen);
    }
    TEST_CASE("q asks once if settings were changed") {
        Terminal terminal(two_heads);
        terminal.wait_for("> ids");
        terminal.press(":");
        terminal.type("set mask=none");
        terminal.press("Enter");
        terminal.wait_for("gone: mask");
        terminal.press("q");
        terminal.wait_for("settings were changed: q again quits");
        terminal.press("n");
        terminal.wait_for("> x ");
        terminal.press("q");
        terminal.wait_for("settings were changed: q again quits");
        terminal.press("q");
        terminal.wait_for("[ended]");
    }
    TEST_CASE("control characters in a token are escaped, on the screen and in a message") {
        Terminal terminal(
            "attn-explain step --variant loop --text \"$(printf "
            "'a\\033[2Jb c\\342\\200\\256d')\" --from x");
        const std::string screen = terminal.wait_for("> x ");
        CHECK_MESSAGE(screen.find("a\\x1b[2jb") != std::string::npos, screen);
        CHECK_MESSAGE(screen.find("c\\u202ed") != std::string::npos, screen);
        const program::Result result = program::shell(
            "printf 'goto a\\033[2Jb\\n' | attn-explain step --script - 2>&1 >/dev/null || true");
        CHECK(result.out.find("there is no step 'a\\x1b[2Jb'") != std::string::npos);
    }
    TEST_CASE("a right-to-left word is isolated, and the isolates are not escaped") {
        Terminal terminal("attn-explain step --variant loop --text 'שלום мир' --from query");
        const std::string screen = terminal.wait_for("> query ");
        CHECK_MESSAGE(screen.find("u2068") == std::string::npos, screen);
        CHECK_MESSAGE(screen.find("query 2, columns") != std::string::npos, screen);
    }
    TEST_CASE("any size is enough, and a resized screen is redrawn") {
        Terminal terminal(two_heads + " --from scores");
        terminal.wait_for("> scores");
        terminal.resize(40, 12);
        golden::check("screen_40x12",
                      terminal.wait_for(" scores  1/7  every query compared with…"));
        terminal.press("End Down Down Down Down Down");
        golden::check("screen_40x12_scrolled", terminal.wait_for("scores[0,5,5] = "));
        terminal.resize(200, 60);
        golden::check("screen_200x60", terminal.wait_for(": command"));
        terminal.resize(20, 6);
        terminal.wait_for("[-0.");
        terminal.resize(2, 1);
        terminal.resize(80, 24);
        terminal.wait_for("> scores");
    }
    TEST_CASE("labels stay while a large matrix scrolls") {
        Terminal terminal("attn-explain step --variant loop --seq-len 100 --only scores");
        terminal.wait_for("scores[0,0] = ");
        terminal.press("NPage End");
        const std::string screen = terminal.wait_for("scores[10,99] = ");
        CHECK(screen.find(" 99\n") != std::string::npos);
        CHECK_MESSAGE(std::regex_search(screen, std::regex("\n *10 +-?[0-9.]+ ")), screen);
    }
    TEST_CASE("the cells are shaded by value") {
        Terminal terminal(two_heads + " --only weights");
        terminal.wait_for("> weights");
        CHECK(terminal.screen(true).find("\x1b[38;5;231m\x1b[48;5;") != std::string::npos);
    }
    TEST_CASE("the note describes the head on the screen, whole if there is room") {
        Terminal terminal(two_heads + " --only weights");
        const std::string first = terminal.wait_for("head 0 (of 0-1)");
        CHECK_MESSAGE(first.find("the largest weight in head 1") == std::string::npos, first);
        terminal.press("Tab");
        const std::string second = terminal.wait_for("head 1 (of 0-1)");
        CHECK_MESSAGE(second.find("in head 1 is") != std::string::npos, second);
        CHECK_MESSAGE(second.find("in head 0 is") == std::string::npos, second);
        CHECK_MESSAGE(second.find("attends most") != std::string::npos, second);
    }
    TEST_CASE("help is a page that scrolls") {
        Terminal terminal(two_heads);
        terminal.wait_for("> ids");
        terminal.press("'?'");
        const std::string screen = terminal.wait_for("Which word does a query attend to most");
        CHECK(screen.find("line 23 of") != std::string::npos);
        terminal.press("NPage NPage");
        terminal.wait_for("the number of the last dive");
        terminal.press("q");
        terminal.wait_for("> ids");
    }
    TEST_CASE("the terminal is restored after q, Ctrl-C, a termination and a crash") {
        for (const auto& [keys, code] : {std::pair{"q", "code 0"},
                                         {"C-c", "code 130"},
                                         {"TERM", "code 143"},
                                         {"SEGV", "code 139"}}) {
            INFO(keys);
            const program::Folder folder;
            Terminal terminal("cd '" + folder.path().string() + "'\necho 'was here'\n" +
                              with_modes("sh -c 'echo $$ > pid; exec attn-explain step'"));
            terminal.wait_for("> ids");
            const std::string name = keys;
            if (name == "TERM" || name == "SEGV") {
                REQUIRE(std::system(
                            ("kill -" + name + " $(cat " + (folder / "pid") + ")").c_str()) == 0);
            } else {
                terminal.press(keys);
            }
            const std::string screen = terminal.wait_for("[ended]");
            CHECK_MESSAGE(screen.find(code) != std::string::npos, screen);
            CHECK(screen.starts_with("was here\n"));
            CHECK(program::read_file(folder / "before") == program::read_file(folder / "after"));
        }
    }
    TEST_CASE("Ctrl-Z leaves the screen, and fg redraws it") {
        Terminal terminal("exec bash --norc -i");
        terminal.type("PS1=\"ready> \"; echo was here");
        terminal.press("Enter");
        terminal.wait_for("was here\nready>");
        terminal.type("attn-explain step --variant loop");
        terminal.press("Enter");
        terminal.wait_for("> ids");
        terminal.press("n");
        terminal.wait_for("> x ");
        terminal.press("C-z");
        terminal.wait_for("Stopped");
        terminal.type("fg");
        terminal.press("Enter");
        terminal.wait_for("> x ");
        terminal.press("q");
        terminal.wait_for("ready>");
    }
    TEST_CASE("on a dumb terminal, or if requested, it works line by line") {
        for (const std::string how : {"TERM=dumb attn-explain step", "attn-explain step --lines",
                                      "TERM=vt100 attn-explain step"}) {
            INFO(how);
            Terminal terminal(how);
            terminal.wait_for("tensor([5, 4, 6, 2, 1, 3])\n>");
            terminal.type("nonsense");
            terminal.press("Enter");
            terminal.wait_for("error: there is no command 'nonsense'");
            terminal.type("cell 2");
            terminal.press("Enter");
            terminal.wait_for("ids[2] = 6   token 'short'\n>");
            terminal.press("C-d");
            terminal.wait_for("[ended]");
        }
    }
    TEST_CASE("the screen works without colours") {
        for (const std::string how :
             {"NO_COLOR=1 attn-explain step", "attn-explain step --color never",
              "TERM=vt100 attn-explain step --full-screen"}) {
            INFO(how);
            Terminal terminal(how + " --only weights");
            terminal.wait_for("> weights");
            CHECK(terminal.screen(true).find("48;5;") == std::string::npos);
        }
    }
    TEST_CASE("a notebook's own remarks are below its tensors") {
        Terminal terminal("attn-explain notebook 000 --step");
        terminal.wait_for("> ids");
        terminal.press("n Down Down");
        terminal.wait_for("x[0,2,0] = ");
    }
}
