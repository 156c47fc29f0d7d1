#include "app/commands/commands.hpp"

namespace app {

const std::vector<Command>& commands() {
    static const std::vector<Command> all{};
    return all;
}

}  // namespace app
