#pragma once
#include <string>
#include <vector>

namespace app {

/// Runs the command that the arguments name and returns the exit code: 0 fine, 1 a finding,
/// 2 trouble. Passes on exceptions of the library.
int run(int argc, char** argv);
/// Runs the command of these words, which follow the name of the program.
int run(const std::vector<std::string>& words);

/// Restores the environment that was changed to keep OpenBLAS from starting threads before main():
/// programs started from here, such as the pager, get the original one.
void restore_environment();

}  // namespace app
