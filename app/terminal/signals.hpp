#pragma once

namespace app {

/// From here on an interrupt, a termination or a hang-up removes the temporary files of outputs
/// that are not complete, and then ends the program as it would have.
void remove_temporaries_on_signals();

}  // namespace app
