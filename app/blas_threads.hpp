#pragma once

namespace app {

/// Takes back what kept OpenBLAS from starting threads before main(): programs started from here,
/// such as the pager, get the environment as it was.
void restore_environment();

}  // namespace app
