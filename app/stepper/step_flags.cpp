#include "app/stepper/step_commands.hpp"

#include <unistd.h>

#include <fstream>
#include <iostream>

#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"

namespace app {
namespace {

bool has_colors(const Arguments& arguments) {
    return color_depth(arguments[flags::color], true) != ColorDepth::none;
}

/// True if the session uses the full screen. Input and output must be terminals, with colours
/// unless the screen is requested; whether colours are used is decided elsewhere.
bool takes_the_screen(const Arguments& arguments) {
    const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    const bool by_line =
        arguments.has(flags::lines) || arguments.has(flags::script) || arguments.has(flags::output);
    if (arguments.has(flags::full_screen)) {
        if (by_line) {
            throw attn::ConfigError(
                "--full-screen reads keys: leave --lines, --script and --output out");
        }
        if (!terminal || !has_screen(true)) {
            throw attn::ConfigError(
                "--full-screen needs a terminal with a full screen: leave it out");
        }
        return true;
    }
    return terminal && !by_line && has_screen(false);
}

void show(const Session& session, const Reply& reply, const attn::Sink& write) {
    const bool is_step = reply.shows == Reply::Shows::step;
    write(is_step                             ? "\n" + session.step_text()
          : reply.shows == Reply::Shows::cell ? session.cell_line() + "\n"
                                              : reply.text);
}

}  // namespace

const std::vector<Flag>& step_flags() {
    static const std::vector<Flag> all =
        grouped("Stepping",
                {
                    Flag{flags::script, "FILE", "run the commands in a file, one per line", file()}
                        .typed_only(),
                    {flags::lines, "", "step line by line, on a terminal too"},
                    {flags::full_screen, "", "use the whole screen, without colours too"},
                });
    return all;
}

void step_through(Scene scene, const Arguments& arguments) {
    const bool screen = takes_the_screen(arguments);
    const std::string script = arguments[flags::script];
    const std::string path = output_file(arguments);
    Session session(std::move(scene), arguments);
    if (screen) {
        step_on_screen(session, has_colors(arguments));
        return;
    }
    Pager::forbid();
    StandardOutput output;
    std::optional<attn::OutputFile> file;
    if (!path.empty()) file.emplace(path);
    const attn::Sink write = [&](std::string_view text) {
        if (file) return file->write(text);
        output.write(text);
        output.flush();
    };
    if (script.empty() || script == "-") {
        const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && !file;
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

void step_by_line(Session& session, const LineSource& source, const attn::Sink& write) {
    write(session.step_text());
    std::string line(std::size_t{1} << 16U, '\0');  // far longer than any command
    const std::streamsize most = std::ssize(line);
    for (std::size_t number = 1;; ++number) {
        if (source.prompts) write("> ");
        line.resize(static_cast<std::size_t>(most));
        source.lines.getline(line.data(), most);
        const std::streamsize count = source.lines.gcount();
        if (count == 0) break;
        if (count == most - 1 && source.lines.fail()) {
            throw attn::ConfigError(source.name + ":" + std::to_string(number) +
                                    ": the line does not end: give a file of commands");
        }
        line.resize(static_cast<std::size_t>(count - (source.lines.eof() ? 0 : 1)));
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos || line[first] == '#') continue;
        try {
            const Reply reply = perform(session, line);
            if (reply.shows == Reply::Shows::end) break;
            show(session, reply, write);
        } catch (const attn::Error& error) {
            if (!source.prompts) {
                throw attn::ConfigError(source.name + ":" + std::to_string(number) + ": " +
                                        error.what());
            }
            report_error(error.what());
        }
    }
    if (source.lines.bad()) throw attn::InputError(source.name + ": cannot be read");
}

}  // namespace app
