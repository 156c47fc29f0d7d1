#include "app/stepper/step_flags.hpp"

#include <unistd.h>

#include <fstream>
#include <iostream>

#include "app/stepper/modes.hpp"
#include "app/terminal/color.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

bool has_colors(const Arguments& arguments) {
    return color_depth(arguments.text("--color"), true) != ColorDepth::none;
}

/// A screen needs a terminal on both sides, and one that is known to have colours unless it is
/// asked for; whether they are used is another question.
bool takes_the_screen(const Arguments& arguments) {
    const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    const bool by_line =
        arguments.has("--lines") || arguments.has("--script") || arguments.has("--output");
    if (arguments.has("--full-screen")) {
        if (by_line) {
            throw attn::ConfigError(
                "--full-screen reads keys: leave --lines, --script and --output out");
        }
        if (!terminal || !has_screen(true)) {
            throw attn::ConfigError("--full-screen needs a terminal that has one: leave it out");
        }
        return true;
    }
    return terminal && !by_line && has_screen(false);
}

}  // namespace

const std::vector<Flag>& step_flags() {
    static const std::vector<Flag> all =
        grouped("Stepping",
                {
                    Flag{"--script", "FILE", "perform the commands in a file, one a line", file()}
                        .typed_only(),
                    {"--lines", "", "step line by line, on a terminal too"},
                    {"--full-screen", "", "use the whole screen, without colours too"},
                });
    return all;
}

void step_through(Scene scene, const Arguments& arguments) {
    const bool screen = takes_the_screen(arguments);
    const std::string script = arguments.text("--script");
    const std::string path = arguments.text("--output");
    const bool to_file = !path.empty() && path != "-";
    Session session(std::move(scene), arguments);
    if (screen) {
        step_on_screen(session, has_colors(arguments));
        return;
    }
    Pager::forbid();
    StandardOutput output;
    std::optional<attn::OutputFile> file;
    if (to_file) {
        remove_temporaries_on_signals();
        file.emplace(path);
    }
    const attn::Sink write = [&](std::string_view text) {
        if (file) return file->write(text);
        output.write(text);
        output.flush();
    };
    if (script.empty() || script == "-") {
        const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && !to_file;
        step_by_line(session, {std::cin, "standard input", person}, write);
    } else {
        std::ifstream lines(script);
        if (!lines) {
            throw attn::InputError(script +
                                   ": cannot be opened: check the path and its permissions");
        }
        step_by_line(session, {lines, script}, write);
    }
    if (file) file->commit();
}

}  // namespace app
