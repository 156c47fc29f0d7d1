#include "app/commands/commands.hpp"

namespace app {

const std::vector<Command>& commands() {
    static const std::vector<Command> all = [] {
        std::vector<Command> list{
            walk_command(),       tour_command(),       notebook_command(),    step_command(),
            why_command(),        look_command(),       lint_command(),        compare_command(),
            tolerance_command(),  diagnose_command(),   probe_command(),       bugs_command(),
            attentions_command(), examples_command(),   quiz_command(),        bench_command(),
            generate_command(),   heads_command(),      lens_command(),        patch_command(),
            export_command(),     playground_command(), completions_command(), man_command(),
            help_command()};
        for (Command& command : list) command.tables.push_back(common_flags);
        return list;
    }();
    return all;
}

std::vector<std::string> command_names() {
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        if (!command.name.empty()) names.push_back(command.name);
    }
    return names;
}

const Command* find_command(std::string_view name) {
    for (const Command& command : commands()) {
        if (command.name == name) return &command;
    }
    return nullptr;
}

const std::vector<Flag>& common_flags() {
    static const std::vector<Flag> all =
        grouped("Help and output",
                {
                    Flag{"--no-pager", "", "print long output without a pager"}.typed_only(),
                    {"-h", "", "print the first flags to know, or how to use the command"},
                    {"--help", "", "print all flags of the command"},
                    {"--version", "", "print the version (and with --verified what holds it)"},
                });
    return all;
}

}  // namespace app
