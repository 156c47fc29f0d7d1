#include "app/flags/config_file.hpp"

#include <algorithm>
#include <array>

#include "app/flags/parse.hpp"
#include "attn/io/atomic_file.hpp"
#include "attn/io/input_file.hpp"
#include "attn/io/settings_file.hpp"
#include "attn/text/closest.hpp"
#include "attn/text/json.hpp"

namespace app {
namespace {

/// Of each of these groups one flag is meant: a typed one puts all others of a file aside.
const std::vector<std::vector<std::string>>& alternatives() {
    static const std::vector<std::vector<std::string>> all{
        {"--text", "--text-file", "--ids", "--random", "--x"},
        {"--memory-text", "--memory-ids", "--memory-len", "--memory"},
        {"--merge", "--no-merge"},
        {"--json", "--format"},
        {"--only", "--from"},
        {"--only", "--until"},
    };
    return all;
}

/// What is no setting: where output goes, and what asks for something else than a walk.
constexpr std::array not_saved{"--config", "--save-config", "--output", "--save-dir", "--no-pager"};

/// Only told of a walk, and derived from the other settings.
constexpr std::array derived{"given"};

std::string key_of(const Flag& flag) {
    std::string key = flag.name.substr(2);
    std::replace(key.begin(), key.end(), '-', '_');
    return key;
}

/// The flag of a key: its name, or what --format json calls it.
const Flag* flag_of(const Arguments& arguments, const std::string& key) {
    const std::string name = key == "bugs" ? "bug" : key;
    for (const FlagTable table : arguments.tables()) {
        for (const Flag& flag : table()) {
            if (!flag.is_positional() && flag.name.starts_with("--") &&
                (key_of(flag) == name || flag.key == name)) {
                return &flag;
            }
        }
    }
    return nullptr;
}

[[noreturn]] void refuse(const std::string& label, const attn::FileSetting& setting,
                         const std::string& reason) {
    throw attn::InputError(label + ":" + std::to_string(setting.line) + ": " + reason);
}

/// The words that say a setting on the command line; none where it is left at its default.
std::vector<std::string> words_of_setting(const Arguments& arguments, const Flag& flag,
                                          const attn::FileSetting& setting) {
    const std::vector<std::string>& values = setting.values;
    if (values.empty() || (values.size() == 1 && values.front() == flag.usual)) return {};
    if (!flag.takes_value()) {
        if (values.front() == "true") return {flag.name};
        const std::string opposite = "--no-" + flag.name.substr(2);
        return arguments.find(opposite) != nullptr ? std::vector{opposite}
                                                   : std::vector<std::string>{};
    }
    const bool says_none = setting.is_text && values.front() == "none";
    if (says_none) {
        const std::vector<std::string> known =
            flag.takes.words != nullptr ? flag.takes.words() : std::vector<std::string>();
        if (std::find(known.begin(), known.end(), "none") == known.end()) return {};
    }
    std::vector<std::string> words;
    if (flag.repeats) {
        for (const std::string& value : values) words.push_back(flag.name + "=" + value);
        return words;
    }
    std::string joined;
    for (const std::string& value : values) joined += (joined.empty() ? "" : ",") + value;
    return {flag.name + "=" + joined};
}

bool has_any(const Arguments& arguments, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return arguments.find(name) != nullptr && arguments.has(name);
    });
}

/// A walk's record says how x or memory was drawn. It does not hold words, ids or files.
void take_source(const Arguments& typed, const attn::FileSetting& setting, const std::string& label,
                 Arguments& base) {
    const bool is_input = setting.key == "input";
    if (has_any(typed, alternatives()[is_input ? 0 : 1])) return;
    if (setting.values.empty()) {
        refuse(label, setting,
               "this record does not hold the " + setting.key + " itself: pass " +
                   (is_input ? "--text, --ids or --x" : "--memory-text, --memory-ids or --memory") +
                   " too, or use what --save-config writes");
    }
    if (is_input) base.set("--random", setting.values.front());
}

}  // namespace

const std::vector<Flag>& config_flags() {
    static const std::vector<Flag> all = grouped(
        "Input (one source; default: a sentence)",
        {{"--config", "FILE",
          "settings from a file, as --save-config writes them or JSON output holds them; flags "
          "win over it",
          file()},
         {"--save-config", "FILE", "write the settings to a file, for --config", file()}});
    return all;
}

void put_settings_under(Arguments& typed, Arguments base, bool implied) {
    const auto put_aside = [&](const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (base.find(name) != nullptr) base.forget(name);
        }
    };
    for (const std::vector<std::string>& group : alternatives()) {
        if (has_any(typed, group)) put_aside(group);
    }
    // What is said of one source does not hold of another.
    const std::vector<std::string>& sources = alternatives().front();
    if (has_any(typed, sources)) put_aside({"--vocab-size", "--pad-id"});
    if (has_any(typed, {"--text", "--text-file", "--ids", "--x"})) put_aside({"--seq-len"});
    if (has_any(typed, {"--x"})) put_aside({"--batch", "--embed-dim"});
    typed.put_under(base, implied);
}

Arguments with_config(Arguments typed) {
    if (typed.find("--config") == nullptr || !typed.has("--config")) return typed;
    attn::InputFile file(typed.text("--config"));
    const std::string label = file.label();
    Arguments base(typed.tables());
    bool no_memory = false;
    for (const attn::FileSetting& setting : attn::read_settings(file.all(), label)) {
        if (std::find(derived.begin(), derived.end(), setting.key) != derived.end()) continue;
        no_memory = no_memory || (setting.key == "memory" && setting.is_text &&
                                  setting.values.front() == "none");
        if (setting.is_source) {
            take_source(typed, setting, label, base);
            continue;
        }
        const Flag* flag = flag_of(typed, setting.key);
        if (flag == nullptr) {
            std::vector<std::string> keys;
            for (const FlagTable table : typed.tables()) {
                for (const Flag& each : table()) {
                    if (!each.is_positional()) keys.push_back(key_of(each));
                }
            }
            const std::string meant = attn::closest(setting.key, keys);
            refuse(label, setting,
                   "there is no setting '" + setting.key + "'" +
                       (meant.empty() ? ": the names are those of the flags"
                                      : "; did you mean " + meant + "?"));
        }
        try {
            Arguments one(typed.tables());
            one.parse(words_of_setting(typed, *flag, setting));
            base.put_under(one);
        } catch (const attn::ConfigError& error) {
            refuse(label, setting, error.what());
        }
    }
    // The record of a walk without memory tells its length all the same: that of x.
    if (no_memory && base.find("--memory-len") != nullptr) base.forget("--memory-len");
    put_settings_under(typed, std::move(base));
    return typed;
}

void save_config(const Arguments& arguments) {
    if (arguments.find("--save-config") == nullptr || !arguments.has("--save-config")) return;
    std::string json;
    std::vector<const Flag*> saved;
    for (const auto& [flag, text, implied] : arguments.said()) {
        if (implied || flag->is_positional() ||
            std::find(saved.begin(), saved.end(), flag) != saved.end() ||
            std::find(not_saved.begin(), not_saved.end(), flag->name) != not_saved.end()) {
            continue;
        }
        saved.push_back(flag);
        const std::string value = !flag->takes_value() ? "true"
                                  : flag->repeats      ? attn::json_list(arguments.all(flag->name))
                                                       : attn::json_string(text);
        json +=
            (json.empty() ? "{\n  " : ",\n  ") + (attn::json_string(key_of(*flag)) + ": " + value);
    }
    attn::write_file(arguments.text("--save-config"), json.empty() ? "{}\n" : json + "\n}\n");
}

}  // namespace app
