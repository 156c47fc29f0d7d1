// Printing on a terminal: the pager, and the pauses of --pace.
#include "tests/support/terminal.hpp"

namespace {

// This pager prints everything at once and marks the lines that pass through it.
const std::string paged = "export PAGER='sed s/^/paged:/'\n";

}  // namespace

TEST_SUITE("app: terminal") {
    TEST_CASE("output longer than the screen goes through the pager") {
        Terminal terminal(paged + "attn-explain; echo \"code $?\"");
        CHECK(terminal.wait_for("code 0").find("paged:tensor([[ 0.2290") != std::string::npos);
    }
    TEST_CASE("short output, a pipe, a file and --no-pager do not start the pager") {
        for (const std::string how :
             {"attn-explain --only ids", "attn-explain | cat", "attn-explain --no-pager",
              "attn-explain -o /dev/stdout", "attn-explain why 'weights[0,1]'",
              "attn-explain --help --no-pager", "TERM=dumb attn-explain", "PAGER= attn-explain",
              "PAGER=cat attn-explain", "PAGER=/nowhere/pager attn-explain",
              "PAGER=' ' attn-explain"}) {
            INFO(how);
            Terminal terminal(paged + how + "; echo \"code $?\"");
            CHECK(terminal.wait_for("code 0").find("paged:") == std::string::npos);
        }
    }
    TEST_CASE("the exit code is the command's, through a pager too") {
        Terminal terminal(paged + "attn-explain compare loop '--scale none'; echo \"code $?\"", 80,
                          12);
        CHECK(terminal.wait_for("code 1").find("paged:") != std::string::npos);
    }
    TEST_CASE("quitting the pager ends the program quietly") {
        Terminal terminal(
            "export PAGER='head -n 2'\nattn-explain --seq-len 300 --threshold inf; "
            "echo \"code $?\"");
        const std::string screen = terminal.wait_for("code 0");
        CHECK(screen.find("error") == std::string::npos);
    }
    TEST_CASE("less gets keys and interrupts, shows colours, and restores the terminal") {
        if (program::shell("command -v less").exit_code != 0) {
            MESSAGE("less is not installed: it was not tried");
            return;
        }
        for (const std::string choice : {"unset PAGER LESS", "unset LESS; export PAGER=less",
                                         "export PAGER='LESS=FRX less -i'"}) {
            INFO(choice);
            Terminal terminal(
                choice +
                "\ntrap : INT\nattn-explain --heatmap\necho \"code $?\"\nstty -a | tr ' ;' '\\n' | "
                "grep -x -e '-\\?echo' -e '-\\?icanon'");
            CHECK(terminal.wait_for("\n:").find("ESC") == std::string::npos);
            terminal.press("C-c");
            CHECK(terminal.wait_for("\n:").find("code") == std::string::npos);
            terminal.press("G");
            CHECK(terminal.wait_for("(END)").find("ESC") == std::string::npos);
            terminal.press("q");
            terminal.wait_for("code 0\nicanon\necho\n[ended]");
        }
    }
    TEST_CASE(
        "long help, lists and tables go through the pager too, whichever command prints them") {
        for (const std::string command :
             {"--help", "bugs", "notebook 001", "lint --help", "why 'weights[0,1]' --depth 9",
              "--format csv", "--format json"}) {
            INFO(command);
            Terminal terminal(paged + "attn-explain " + command, 80, 12);
            CHECK(terminal.wait_for("[ended]").find("\npaged:") != std::string::npos);
        }
    }
    TEST_CASE("--pace waits for Enter between the steps, and its prompts disappear") {
        Terminal terminal("attn-explain --variant loop -q --from weights --pace", 80, 24);
        std::string screen = terminal.wait_for("-- Enter for the next step");
        CHECK(screen.find("0.2346") == std::string::npos);
        terminal.press("Enter");
        screen = terminal.wait_for("[ended]");
        CHECK(screen.find("0.2346") != std::string::npos);
        CHECK(screen.find("-- Enter") == std::string::npos);
    }
    TEST_CASE("--pace reads keys from the terminal, and their end ends the pauses") {
        Terminal terminal("echo nothing | attn-explain notebook 001 --pace", 80, 200);
        terminal.wait_for("-- Enter for the next step");
        terminal.press("Enter");
        terminal.wait_for("-- Enter for the next step");
        terminal.press("C-d");
        terminal.wait_for("[ended]");
    }
    TEST_CASE("q and Enter end a paced walk") {
        Terminal terminal("attn-explain -q --from weights --pace; echo code $?", 80, 24);
        terminal.wait_for("-- Enter for the next step");
        terminal.press("q Enter");
        const std::string screen = terminal.wait_for("code 0");
        CHECK(screen.find("0.2346") == std::string::npos);
    }
    TEST_CASE("without a terminal --pace changes nothing") {
        for (const std::string form :
             {"", "-q", "--format plain", "--format plain -q", "--heatmap -q", "--code torch"}) {
            INFO(form);
            CHECK(program::run("--pace " + form).out == program::run(form).out);
        }
        program::check_refused("--pace --format json", "leave one out");
    }
}
