#pragma once
#include <string>
#include <vector>

namespace app {

/// Runs the command that the arguments name and returns the exit code: 0 fine, 1 a finding,
/// 2 trouble. Throws what the library throws.
int run(int argc, char** argv);
/// The same of words as they are typed after the name of the program.
int run(const std::vector<std::string>& words);

/// Takes back what kept OpenBLAS from starting threads before main(): programs started from here,
/// such as the pager, get the environment as it was.
void restore_environment();

}  // namespace app
