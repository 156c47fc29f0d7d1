#include "app/commands/commands.hpp"

namespace app {

const std::vector<Command>& commands() {
    static const std::vector<Command> all{
        {"notebook", "replay a source notebook, or list them", setup_notebook},
        {"step", "step through the walk, by keys or from a script", setup_step},
        {"why", "derive one number back to the inputs", setup_why},
        {"lint", "name the pitfalls in a configuration and its data", setup_lint},
        {"compare", "compare two runs, or files, step by step", setup_compare},
        {"diagnose", "find the mistake in your own tensors", setup_diagnose},
        {"probe", "write inputs on which nearly every mistake shows", setup_probe},
        {"bugs", "list the catalogued mistakes, or tell one whole", setup_bugs},
    };
    return all;
}

}  // namespace app
