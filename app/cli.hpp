#pragma once
#include <string_view>

namespace CLI {
class App;
}

namespace app {

/// One line on what the program is.
inline constexpr std::string_view program_description =
    "attention, step by step, right to the last digit";

/// Adds --version.
void add_version_flag(CLI::App& cli);

/// Adds what every command takes.
void add_common_flags(CLI::App& command);

/// Runs the command that the arguments name and returns the exit code: 0 fine, 1 a finding,
/// 2 trouble. Throws what the library throws.
int run(int argc, char** argv);

}  // namespace app
