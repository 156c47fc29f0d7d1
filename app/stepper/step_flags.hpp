#pragma once
#include <string>

#include "app/flags/output_flags.hpp"
#include "app/stepper/session.hpp"

namespace app {

/// How a session is led.
struct StepFlags {
    std::string script;
    bool lines = false, full_screen = false;
};

/// Adds these flags to a command.
void setup_step_flags(CLI::App& cli, StepFlags& flags);

/// Steps through a scene: on the full screen of a terminal, or line by line from a script or where
/// standard input or output is no terminal.
///
/// Errors  ConfigError, InputError: a script that cannot be read or performed.
void step_through(Scene scene, const OutputFlags& print, const StepFlags& flags);

}  // namespace app
