#pragma once
#include "app/flags/flag.hpp"
#include "app/stepper/session.hpp"

namespace app {

/// The flags that say how a session is led.
const std::vector<Flag>& step_flags();

/// Steps through a scene: on the full screen of a terminal, or line by line from a script or where
/// standard input or output is no terminal.
///
/// Errors  ConfigError, InputError: a script that cannot be read or performed.
void step_through(Scene scene, const Arguments& arguments);

}  // namespace app
