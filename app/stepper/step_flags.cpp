#include "app/stepper/step_flags.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "app/stepper/modes.hpp"
#include "app/terminal/color.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

/// A screen needs a terminal on both sides, and, unless it is asked for, colours.
bool takes_the_screen(const OutputFlags& print, const StepFlags& flags) {
    const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    if (flags.full_screen) {
        if (flags.lines || !flags.script.empty()) {
            throw attn::ConfigError("--full-screen is led by keys: leave --lines and --script out");
        }
        if (!terminal || !has_screen(true)) {
            throw attn::ConfigError("--full-screen needs a terminal that has one: leave it out");
        }
        return true;
    }
    return terminal && !flags.lines && flags.script.empty() &&
           color_depth(print.color, true) != ColorDepth::none && has_screen(false);
}

}  // namespace

void setup_step_flags(CLI::App& cli, StepFlags& flags) {
    const std::string group = "Stepping";
    cli.add_option("--script", flags.script, "perform the commands in a file, one a line")
        ->type_name("FILE")
        ->group(group);
    cli.add_flag("--lines", flags.lines, "line by line, on a terminal too")->group(group);
    cli.add_flag("--full-screen", flags.full_screen, "the screen, without colours too")
        ->group(group);
}

void step_through(Scene scene, const OutputFlags& print, const StepFlags& flags) {
    const bool screen = takes_the_screen(print, flags);
    Session session(std::move(scene), print);
    if (screen) {
        step_on_screen(session, color_depth(print.color, true) != ColorDepth::none);
    } else if (flags.script.empty() || flags.script == "-") {
        const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
        step_by_line(session, {std::cin, "standard input", person});
    } else {
        std::ifstream file(flags.script);
        if (!file) {
            throw attn::InputError(flags.script +
                                   ": cannot be opened; check the name and the rights");
        }
        step_by_line(session, {file, flags.script});
    }
}

}  // namespace app
