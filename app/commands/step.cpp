#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/stepper/step_commands.hpp"

namespace app {
namespace {

int run_step(const Arguments& arguments) {
    check_print_flags(arguments);
    Scene scene = walk_scene(arguments);
    note_useless_flags(arguments, &*scene.plan);
    step_through(std::move(scene), arguments);
    return 0;
}

}  // namespace

Command step_command() {
    return {"step",
            "step through the walk with the keyboard or from a script",
            {step_flags, file_flags, print_flags, bug_flags, config_flags, notebook_walk_flags,
             walk_flags},
            run_step,
            {{"attn-explain step --heads 4", "Steps through four heads; ? lists the keys."},
             {"printf 'goto weights\\nmost\\nwhy\\n' | attn-explain step",
              "The same by name, one command per line."}}};
}

}  // namespace app
