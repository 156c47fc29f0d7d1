#pragma once
#include <iosfwd>
#include <string>

#include "app/stepper/session.hpp"

namespace app {

/// The flags that say how a session is led.
const std::vector<Flag>& step_flags();

/// Steps through a scene: on the full screen of a terminal, or line by line from a script or where
/// standard input or output is no terminal.
///
/// Errors  ConfigError, InputError: a script that cannot be read or performed.
void step_through(Scene scene, const Arguments& arguments);

/// Steps through a session on the full screen of the terminal until it ends. The terminal is left
/// as it was, also by a signal or an exception.
///
/// Errors  ConfigError when the terminal has no screen.
void step_on_screen(Session& session, bool shaded);

/// Where the lines of a session come from.
struct LineSource {
    std::istream& lines;
    std::string name;      ///< of the file, for messages
    bool prompts = false;  ///< a person types: ask for each line, and go on after a mistake
};

/// Steps through a session line by line: writes the first step, then performs each line and writes
/// what it leaves. Empty lines and those that begin with # do nothing. Ends with `quit` or with the
/// lines.
///
/// Errors  ConfigError for a line that cannot be performed, with its number; after a prompt it is a
///         message and the session goes on.
void step_by_line(Session& session, const LineSource& source, const attn::Sink& write);

}  // namespace app
