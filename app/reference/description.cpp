#include "app/reference/description.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "app/cli.hpp"
#include "app/commands/commands.hpp"

namespace reference {
namespace {

// Types of which any value may do.
constexpr std::array free_types{"INT",   "N",     "X",     "TEXT",    "IDS", "ID",   "N,N",
                                "DRAWS", "ORDER", "NAMES", "SETTING", "T,T", "N,T,D"};

Values values_by_type(const std::string& command, const std::string& name,
                      const std::string& type) {
    const Values known = values_of(command, name);
    if (known.kind != Values::Kind::any) return known;
    if (type.starts_with("FILE")) return {Values::Kind::file};
    if (type == "DIR") return {Values::Kind::folder};
    if (std::find(free_types.begin(), free_types.end(), type) == free_types.end()) {
        throw std::logic_error("attn-explain " + command + " " + name + " takes " + type +
                               ": say in app/reference/values.cpp which words that are");
    }
    return {};
}

Flag describe(const std::string& command, const CLI::Option& option) {
    Flag flag;
    for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
    flag.help = option.get_description();
    flag.group = option.get_group();
    flag.required = option.get_required();
    flag.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll &&
                   option.get_items_expected_max() != 0;
    const bool takes_value = option.get_items_expected_max() != 0;
    const std::string name = flag.names.empty() ? option.get_name(true) : flag.names.back();
    if (takes_value) flag.value = flag.names.empty() ? name : option.get_type_name();
    if (takes_value) flag.values = values_by_type(command, name, option.get_type_name());
    return flag;
}

}  // namespace

std::vector<CommandDescription> describe_program() {
    std::vector<CommandDescription> result;
    const auto add = [&](const std::string& name, const std::string& help, auto&& setup) {
        CLI::App cli{help};
        int exit_code = 0;
        setup(cli, exit_code);
        app::add_common_flags(cli);
        if (name.empty()) app::add_version_flag(cli);
        CommandDescription command{name, help, {}, {}};
        for (const CLI::Option* option : cli.get_options()) {
            const Flag flag = describe(name, *option);
            (flag.names.empty() ? command.positionals : command.flags).push_back(flag);
        }
        result.push_back(std::move(command));
    };
    add("", std::string(app::program_description), app::setup_walk);
    for (const app::Command& command : app::commands()) {
        add(command.name, command.description, command.setup);
    }
    return result;
}

std::string escaped(const std::string& text, const std::string& characters) {
    std::string result;
    for (const char c : text) {
        if (characters.find(c) != std::string::npos) result += '\\';
        result += c;
    }
    return result;
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
}

}  // namespace reference
