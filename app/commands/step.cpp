#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/stepper/step_flags.hpp"

namespace app {
namespace {

struct StepCommandLine {
    WalkFlags walk;
    OutputFlags print;
    StepFlags step;
};

}  // namespace

void setup_step(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<StepCommandLine>();
    setup_step_flags(cli, command->step);
    setup_print_flags(cli, command->print);
    setup_walk_flags(cli, command->walk);
    cli.callback([command, &exit_code] {
        check_output_flags(command->print);
        step_through(walk_scene(command->walk), command->print, command->step);
        exit_code = 0;
    });
}

}  // namespace app
