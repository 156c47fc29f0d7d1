#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/ledger.hpp"

namespace app {

struct Example {
    std::string line;
    std::string words;
};

/// A command of the program.
struct Command {
    std::string name;  ///< empty for the walk itself
    std::string help;
    std::vector<FlagTable> tables;  ///< its flags and positional arguments, its own first
    int (*run)(const Arguments&);   ///< returns the exit code: 0 success, 1 a finding, 2 an error
    std::vector<Example> examples{};
    std::string group{};  ///< its heading in lists: `Learn`, `Check`, ...; empty for the walk
};

/// All commands, the walk first.
const std::vector<Command>& commands();

/// The names of all commands except the walk.
std::vector<std::string> command_names();

/// The command of that name, or nullptr.
const Command* find_command(std::string_view name);

/// The flags of every command.
const std::vector<Flag>& common_flags();

Command walk_command();
Command tour_command();
Command notebook_command();
Command step_command();
Command why_command();
Command look_command();
Command proofread_command();
Command lint_command();
Command compare_command();
Command diagnose_command();
Command tolerance_command();
Command probe_command();
Command bugs_command();
Command attentions_command();
Command laws_command();
Command examples_command();
Command explain_command();
/// Explains the tensors of a program if the file of `diagnose` is a trace, and returns the exit
/// code; nullopt for other files.
std::optional<int> explained_trace(const Arguments& arguments, const attn::Ledger& file);
Command practice_command();
Command grade_command();
Command quiz_command();
Command bench_command();
Command generate_command();
Command heads_command();
Command lens_command();
Command patch_command();
Command export_command();
Command playground_command();
Command completions_command();
Command man_command();
Command help_command();

}  // namespace app
