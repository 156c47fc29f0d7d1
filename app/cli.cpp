#include "app/cli.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

#include "app/commands/commands.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/text/closest.hpp"
#include "attn/version.hpp"

namespace app {
namespace {

/// The first line of what CLI11 says, with the flag or command that was probably meant.
std::string usage_message(const CLI::ParseError& error, const CLI::App& cli) {
    std::string message = error.what();
    message = message.substr(0, message.find('\n'));
    std::vector<std::string> known;
    for (const CLI::Option* option : cli.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const Command& command : commands()) known.push_back(command.name);
    const std::string last_word = message.substr(message.rfind(' ') + 1);
    const bool unexpected = message.find("not expected") != std::string::npos;
    if (const std::string meant = attn::closest(last_word, known); unexpected && !meant.empty()) {
        return message + "; did you mean " + meant + "?";
    }
    return message + " (attn-explain --help lists the flags)";
}

/// The arguments as CLI11 takes them, last one first. Several flags in one word, as compare takes
/// them ("--scale none"), begin with a blank from here on, so that they do not look like one flag.
std::vector<std::string> arguments_of(int argc, char** argv) {
    std::vector<std::string> arguments;
    for (int i = argc - 1; i > 0; --i) {
        std::string argument = argv[i];
        const std::size_t end = argument.find_first_of(" =");
        const bool several =
            argument.starts_with("--") && end != std::string::npos && argument[end] == ' ';
        arguments.push_back(several ? " " + argument : std::move(argument));
    }
    return arguments;
}

}  // namespace

void add_version_flag(CLI::App& cli) {
    cli.set_version_flag("--version", "attn-explain " + std::string(attn::version()));
}

void add_common_flags(CLI::App& command) {
    command.add_flag_callback("--no-pager", Pager::forbid, "print long output without a pager")
        ->group("Output")
        ->trigger_on_parse();
}

int run(int argc, char** argv) {
    CLI::App cli{std::string(program_description), "attn-explain"};
    add_version_flag(cli);
    cli.get_formatter()->column_width(34);

    // Only the command that was asked for builds its flags: building them all would be felt.
    int exit_code = 0;
    const std::string_view asked = argc > 1 ? argv[1] : "";
    bool found = false;
    for (const Command& command : commands()) {
        if (command.name.empty()) continue;
        CLI::App* sub = cli.add_subcommand(command.name, command.description);
        if (asked != command.name) continue;
        command.setup(*sub, exit_code);
        found = true;
    }
    if (!found) setup_walk(cli, exit_code);

    CLI::App& asked_command = found ? *cli.get_subcommand(std::string(asked)) : cli;
    add_common_flags(asked_command);
    try {
        std::vector<std::string> arguments = arguments_of(argc, argv);
        cli.parse(std::move(arguments));
    } catch (const CLI::Success& success) {
        StandardOutput output;
        if (success.get_name() == "CallForVersion") {
            output.write(std::string(success.what()) + "\n");
        } else {
            output.write(asked_command.help());
        }
        output.flush();
        return 0;
    } catch (const CLI::ParseError& error) {
        report_error(usage_message(error, asked_command));
        return 2;
    }
    release_notes();
    return exit_code;
}

}  // namespace app
