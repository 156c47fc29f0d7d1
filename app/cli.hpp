#pragma once

namespace app {

/// Runs the command that the arguments name and returns the exit code: 0 fine, 1 a finding,
/// 2 trouble. Throws what the library throws.
int run(int argc, char** argv);

}  // namespace app
