#include "app/flags/config_file.hpp"

#include <algorithm>

#include "app/flags/notebook_walk.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/ground/text/json.hpp"

namespace app {
namespace {

std::vector<std::string> specified_rules(const Arguments& arguments) {
    std::vector<std::string> all;
    for (const std::string& specified : arguments[flags::rules]) {
        const std::vector<std::string> rules = rules_in(specified);
        all.insert(all.end(), rules.begin(), rules.end());
    }
    return all;
}

}  // namespace

std::string settings_json(const Arguments& arguments, std::string_view line) {
    std::string json;
    std::vector<const Flag*> saved;
    for (const auto& [flag, text, implied] : arguments.specified()) {
        // The flags of a preset are saved themselves.
        if (implied || key_of(*flag).empty() || flag->never_in_files || flag->is(flags::preset) ||
            std::find(saved.begin(), saved.end(), flag) != saved.end()) {
            continue;
        }
        saved.push_back(flag);
        const bool alone = !flag->takes_value() || (flag->value_is_optional && text.empty());
        const std::string value =
            alone                         ? "true"
            : flag->is(flags::rules)      ? attn::json_list(specified_rules(arguments))
            : flag->is(flags::attentions) ? attn::json_list(attentions_of(arguments))
            : flag->is(flags::example)    ? attn::json_string(example_text(text))
            : flag->repeats               ? attn::json_list(arguments.all(*flag))
                                          : attn::json_string(text);
        json += (json.empty() ? "{" : ",") + std::string(line) + attn::json_string(key_of(*flag)) +
                (line.empty() ? ":" : ": ") + value;
    }
    const std::string end = line.empty() ? "" : "\n";
    return json.empty() ? "{}" + end : json + end + "}" + end;
}

std::vector<std::pair<std::string, std::string>> config_entries(const Arguments& arguments,
                                                                const attn::Plan& plan) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Flag& flag : walk_flags()) {
        const std::string value = flag.setting == nullptr ? "" : attn::json_of(*flag.setting, plan);
        if (!value.empty()) entries.emplace_back(flag.key, value);
        if (!flag.is(flags::weights)) continue;
        entries.emplace_back("given_parameters",
                             attn::json_list(collected(plan.config.parameters.entries(),
                                                       &attn::Ledger::Entry::name)));
    }
    entries.emplace_back("bugs", attn::json_list(bugs_of(arguments, plan)));
    Arguments specified({walk_flags, bug_flags, notebook_walk_flags});
    specified.specify(arguments.narrowed_to(specified.tables()).in_order());
    std::vector<Arguments::SpecifiedFlag> rules;  // the rules that files contain
    for (const std::string& rule : plan.config.rules)
        rules.push_back({specified.find(flags::rules), rule});
    specified.specify(rules);
    const bool is_default = !specified.has(sets_x) && !specified.has(flags::notebook) &&
                            std::holds_alternative<attn::Tokens>(plan.config.input);
    if (is_default) specified.set(flags::text, default_sentence);
    entries.emplace_back("explicit_settings", settings_json(specified, ""));
    return entries;
}

}  // namespace app
