#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "app/stepper/session.hpp"

namespace app {

/// The result of a command, to be shown.
struct Reply {
    enum class Shows {
        nothing,
        step,     ///< another step
        cell,     ///< another cell; `text` is for the screen, which shows the cell itself
        message,  ///< `text`: what was done, in a sentence or two
        page,     ///< `text`: something to read
        end,      ///< the session is over
    };
    Shows shows = Shows::nothing;
    std::string text{};
};

/// A command of a session: called by name, in a script or after a colon, or by a key on the screen.
struct StepCommand {
    std::string name;
    std::string arguments;  ///< as the help shows them; empty if there are none
    std::string keys;       ///< on the screen, separated by spaces: `n Space Shift-Right`
    std::string help;       ///< its effect, in a few words
    Reply (*run)(Session&, const std::string& arguments) = nullptr;
    std::string example{};  ///< for commands that need arguments to have an effect
};

/// All commands, in the order of the help.
const std::vector<StepCommand>& step_commands();

/// True if a key, by its name, performs the command.
bool has_key(const StepCommand& command, const std::string& key);

/// Runs one line: a command's name, or a prefix of it, and its arguments.
///
/// Errors  ConfigError for an unknown command; those of the command.
Reply perform(Session& session, const std::string& line);

/// The help: a worked example, then every command with its keys.
std::string step_help();

/// The flags that control a session.
const std::vector<Flag>& step_flags();

/// Steps through a scene: on the full screen of a terminal, or line by line from a script or if
/// standard input or output is not a terminal.
///
/// Errors  ConfigError, InputError: a script that cannot be read or performed.
void step_through(Scene scene, const Arguments& arguments);

/// Steps through a session on the full screen of the terminal until it ends. Restores the terminal,
/// also after a signal or an exception.
///
/// Errors  ConfigError if the terminal cannot show a screen.
void step_on_screen(Session& session, bool shaded);

/// The source of a session's lines.
struct LineSource {
    std::istream& lines;
    std::string name;      ///< of the file, for messages
    bool prompts = false;  ///< a person types: prompt for each line, and continue after a mistake
};

/// Steps through a session line by line: writes the first step, then runs each line and writes the
/// result. Skips empty lines and comments with #. Ends with `quit` or at the end of input.
///
/// Errors  ConfigError for a line that cannot be run, with its number; with a prompt,
///       it is a message instead and the session continues.
void step_by_line(Session& session, const LineSource& source, const attn::Sink& write);

}  // namespace app
