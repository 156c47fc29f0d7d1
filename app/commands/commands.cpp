#include "app/commands/commands.hpp"

namespace app {

const std::vector<Command>& commands() {
    static const std::vector<Command> all = [] {
        std::vector<Command> list{walk_command(),     notebook_command(),    step_command(),
                                  why_command(),      lint_command(),        compare_command(),
                                  diagnose_command(), probe_command(),       bugs_command(),
                                  bench_command(),    completions_command(), man_command(),
                                  help_command()};
        for (Command& command : list) command.tables.push_back(common_flags);
        return list;
    }();
    return all;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands()) {
        if (command.name == name) return &command;
    }
    return nullptr;
}

const std::vector<Flag>& common_flags() {
    static const std::vector<Flag> all{
        {"--no-pager", "", "Help and output", "print long output without a pager", nothing()},
        {"-h", "", "Help and output", "print how to use the command, with examples", nothing()},
        {"--help", "", "Help and output", "print all flags of the command", nothing()},
        {"--version", "", "Help and output", "print the version of the program", nothing()},
    };
    return all;
}

}  // namespace app
