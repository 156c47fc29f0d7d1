#pragma once
#include "app/stepper/session.hpp"

namespace app {

/// Steps through a session on the full screen of the terminal until it ends. The terminal is left
/// as it was, also by a signal or an exception.
///
/// Errors  ConfigError when the terminal has no screen.
void step_on_screen(Session& session, bool shaded);

}  // namespace app
