#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace app {

/// One command: its name, one line on what it does, and how it adds its flags. `setup` also says
/// what runs after parsing; that puts the exit code where it is told.
struct Command {
    std::string name;
    std::string description;
    std::function<void(CLI::App&, int& exit_code)> setup;
};

/// All commands but the walk itself, which has no name.
const std::vector<Command>& commands();

/// `attn-explain [FLAGS]`: computes attention and prints every intermediate tensor.
void setup_walk(CLI::App& cli, int& exit_code);

/// `attn-explain notebook [NAME]`: replays a source notebook, or lists them.
void setup_notebook(CLI::App& cli, int& exit_code);

/// `attn-explain step [FLAGS]`: the walk, one step at a time, by keys or from a script.
void setup_step(CLI::App& cli, int& exit_code);

/// `attn-explain why CELL [FLAGS]`: derives one number back to the inputs.
void setup_why(CLI::App& cli, int& exit_code);

/// `attn-explain lint [FLAGS]`: names the pitfalls in a configuration and its data.
void setup_lint(CLI::App& cli, int& exit_code);

/// `attn-explain compare A B [FLAGS]`: two runs, or files, step by step.
void setup_compare(CLI::App& cli, int& exit_code);

/// `attn-explain diagnose FILE [FLAGS]`: finds the mistake in somebody's own tensors.
void setup_diagnose(CLI::App& cli, int& exit_code);

/// `attn-explain probe -o FILE`: inputs and weights on which nearly every mistake shows.
void setup_probe(CLI::App& cli, int& exit_code);

/// `attn-explain bugs [ID]`: lists the catalogued mistakes, or tells one whole.
void setup_bugs(CLI::App& cli, int& exit_code);

}  // namespace app
