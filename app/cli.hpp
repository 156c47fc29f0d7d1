#pragma once
#include <string>
#include <vector>

namespace app {

/// Runs the command that the arguments name and returns the exit code: 0 success, 1 a finding, 2 an
/// error. Does not catch exceptions of the library.
int run(int argc, char** argv);
/// Runs the command of these words, without the name of the program.
int run(const std::vector<std::string>& words);

/// Restores the environment that was changed to keep OpenBLAS from starting threads before main(),
/// so that child processes, such as the pager, get the original one.
void restore_environment();

}  // namespace app
