#include "app/commands/commands.hpp"

namespace app {

const std::vector<Command>& commands() {
    static const std::vector<Command> all = [] {
        std::vector<Command> list{walk_command()};
        const auto add = [&](const char* group, std::vector<Command> of_group) {
            for (Command& command : of_group) {
                command.group = group;
                list.push_back(std::move(command));
            }
        };
        add("Learn",
            {tour_command(), step_command(), why_command(), laws_command(), attentions_command(),
             examples_command(), quiz_command(), practice_command(), notebook_command()});
        add("Check", {explain_command(), look_command(), diagnose_command(), proofread_command(),
                      bugs_command(), lint_command(), compare_command(), tolerance_command(),
                      probe_command(), grade_command()});
        add("Models", {generate_command(), heads_command(), lens_command(), patch_command(),
                       export_command()});
        add("Other", {bench_command(), playground_command(), completions_command(), man_command(),
                      help_command()});
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
    static const std::vector<Flag> all = grouped(
        "Help and output",
        {
            Flag{"--no-pager", "", "print long output without a pager"}.typed_only(),
            {"-h", "", "print the most useful flags, or how to use the command"},
            {"--help", "", "print all flags of the command"},
            {"--version", "", "print the version (and with --verified the checks of its numbers)"},
        });
    return all;
}

}  // namespace app
