#include "app/commands/commands.hpp"

namespace app {

const std::vector<Command>& commands() {
    static const std::vector<Command> all{
        {"notebook", "replay a source notebook, or list them", setup_notebook},
    };
    return all;
}

}  // namespace app
