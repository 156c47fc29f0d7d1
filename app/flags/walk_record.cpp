#include "app/flags/config_file.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/text/json.hpp"

namespace app {
namespace {

std::string given_json(const attn::Plan& plan) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : plan.config.parameters.entries()) names.push_back(name);
    return attn::json_list(names);
}

/// A flag whose value in effect is a word or a number also where a file was named.
bool hides_file(const Flag& flag, const std::string& text) {
    return flag.is(or_file) && names_a_file(text) && !text.starts_with("t5:");
}

/// The settings that no value in effect gives back: words, ids, files and how they were read.
std::string said_json(const Arguments& arguments, const attn::Plan& plan) {
    std::string json;
    const auto add = [&](const Flag& flag, const std::vector<std::string>& texts) {
        json += (json.empty() ? "{" : ",") + attn::json_string(key_of(flag)) + ":" +
                (!flag.takes_value() ? "true"
                 : flag.repeats      ? attn::json_list(texts)
                                     : attn::json_string(texts.back()));
    };
    for (const Flag& flag : walk_flags()) {
        const std::vector<std::string> texts = arguments.all(flag.name);
        const bool is_recorded = flag.json != nullptr && flag.key == key_of(flag);
        // All that these say is in effect, or told of the input.
        if (flag.name == "--preset" || flag.name == "--random" || flag.name == "--rule") continue;
        const bool is_opposite = flag.name.starts_with("--no-");  // of a flag that is recorded
        const bool is_default = flag.name == "--text" && !arguments.has(says_x) &&
                                std::holds_alternative<attn::Tokens>(plan.config.input);
        if (is_default) {
            add(flag, {default_sentence});
        } else if (!texts.empty() && !is_opposite &&
                   (!is_recorded || hides_file(flag, texts.back()))) {
            add(flag, texts);
        }
    }
    return json.empty() ? "{}" : json + "}";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> config_entries(const Arguments& arguments,
                                                                const attn::Plan& plan) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Flag& flag : walk_flags()) {
        if (flag.json != nullptr) entries.emplace_back(flag.key, flag.json(plan));
        if (flag.name == "--weights") entries.emplace_back("given", given_json(plan));
    }
    entries.emplace_back("bugs", attn::json_list(bugs_of(arguments, plan)));
    if (arguments.has("--rule")) {
        entries.emplace_back("rules", attn::json_list(rules_of(arguments)));
    }
    entries.emplace_back("said", said_json(arguments, plan));
    return entries;
}

}  // namespace app
