#include "app/flags/config_file.hpp"

#include <algorithm>
#include <array>

#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/presets.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/io/atomic_file.hpp"
#include "attn/io/input_file.hpp"
#include "attn/io/settings_file.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

/// Whether of the two one is meant, so that a typed one puts the other of a file aside.
bool are_rivals(const Flag& a, const Flag& b) {
    const auto names = [](const Flag& one, const Flag& other) {
        return std::ranges::find(one.rivals, other.name) != one.rivals.end();
    };
    return (a.traits & b.traits & (says_x | says_memory)) != 0 || names(a, b) || names(b, a);
}

/// Only told of a walk, and derived from the other settings.
constexpr std::array derived{"given", "changed"};

/// The flag of a key: its name, or what --format json calls it.
const Flag* flag_of(const Arguments& arguments, const std::string& key) {
    const std::string name = key == "bugs" ? "bug" : key == "rules" ? "rule" : key;
    const Flag* recorded = nullptr;
    for (const FlagTable table : arguments.tables()) {
        for (const Flag& flag : table()) {
            if (key_of(flag) == name) return &flag;
            if (flag.key == name) recorded = &flag;
        }
    }
    return recorded;
}

[[noreturn]] void refuse(const std::string& label, const attn::FileSetting& setting,
                         const std::string& reason) {
    throw attn::InputError(label + ":" + std::to_string(setting.line) + ": " + reason);
}

bool says_none(const attn::FileSetting& setting) {
    return setting.is_text && setting.values.front() == "none";
}

/// What a setting says by its flag; nothing where it is left at its default, unless that is to win
/// over what a preset or a model says.
std::vector<Arguments::Said> said_by(const Arguments& arguments, const Flag& flag,
                                     const attn::FileSetting& setting, bool says_defaults) {
    const std::vector<std::string>& values = setting.values;
    const bool stands_alone = flag.may_stand_alone && values == std::vector<std::string>{"true"};
    if (stands_alone) return {{&flag, ""}};
    const bool is_usual = values.size() == 1 && values.front() == flag.usual;
    if (values.empty() || (is_usual && !says_defaults)) return {};
    if (!flag.takes_value()) {
        if (values.front() == "true") return {{&flag, ""}};
        const Flag* opposite = arguments.find("--no-" + flag.name.substr(2));
        if (opposite == nullptr) return {};
        return {{opposite, ""}};
    }
    if (says_none(setting)) {
        const std::vector<std::string> known =
            flag.takes.words != nullptr ? flag.takes.words() : std::vector<std::string>();
        if (std::find(known.begin(), known.end(), "none") == known.end()) return {};
    }
    std::vector<Arguments::Said> said;
    if (flag.repeats) {
        for (const std::string& value : values) said.push_back({&flag, value});
        return said;
    }
    std::string joined;
    for (const std::string& value : values) joined += (joined.empty() ? "" : ",") + value;
    if (joined.empty() && flag.may_stand_alone) refuse_empty(flag);
    return {{&flag, joined}};
}

bool has_any(const Arguments& arguments, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return arguments.find(name) != nullptr && arguments.has(name);
    });
}

/// A walk's record says how x or memory was drawn. Words, ids and files it holds under `said`, read
/// before; older ones do not.
void take_source(const Arguments& typed, const attn::FileSetting& setting, const std::string& label,
                 Arguments& base) {
    const bool is_input = setting.key == "input";
    const Trait kind = is_input ? says_x : says_memory;
    if (setting.source == "none" || typed.has(kind) || base.has(kind)) return;
    if (setting.values.empty()) {
        refuse(label, setting,
               "this record does not hold the " + setting.key + " itself: pass " +
                   (is_input ? "--text, --ids or --x" : "--memory-text, --memory-ids or --memory") +
                   " too, or use what --save-config writes");
    }
    if (is_input) base.set("--random", setting.values.front());
}

const std::string given = "given";

/// What a record says of a setting, without the word that stands in it for a file. Which file that
/// was stands under `said`.
attn::FileSetting without_file(const Arguments& typed, const Arguments& base, const Flag& flag,
                               attn::FileSetting setting, const std::string& label) {
    const std::string by = flag.name == "--mask" ? "--mask-file" : flag.name;
    const std::string file = flag.name == "--sink" ? given : "file";
    std::string kept;
    bool has_file = false;
    for (const std::string& word : split(setting.values.front(), ',')) {
        has_file = has_file || word == file;
        if (word != file) kept += (kept.empty() ? "" : ",") + word;
    }
    if (!has_file) return setting;
    if (!has_any(typed, {by}) && !has_any(base, {by})) {
        refuse(label, setting, "this record does not name the file: pass " + by + " too");
    }
    setting.values.clear();
    if (!kept.empty()) setting.values.push_back(kept);
    return setting;
}

const Flag& flag_of_setting(const Arguments& arguments, const attn::FileSetting& setting,
                            const std::string& label) {
    if (const Flag* flag = flag_of(arguments, setting.key)) return *flag;
    std::vector<std::string> keys;
    for (const FlagTable table : arguments.tables()) {
        for (const Flag& each : table()) {
            if (!each.is_positional()) keys.push_back(key_of(each));
        }
    }
    refuse(label, setting,
           "there is no setting '" + setting.key + "'" +
               attn::did_you_mean(setting.key, keys, ": the names are those of the flags"));
}

}  // namespace

Arguments settings_in(std::string_view json, const std::string& label, const Arguments& typed) {
    const attn::FileSettings settings = attn::read_settings(json, label);
    const auto value_of = [&](const char* key) {
        const auto found =
            std::find_if(settings.all.begin(), settings.all.end(),
                         [&](const attn::FileSetting& setting) { return setting.key == key; });
        const bool says_one = found != settings.all.end() && found->values.size() == 1;
        return says_one ? found->values.front() : std::string("none");
    };
    const bool has_model = settings.is_record && value_of("model_file") != "none";
    const bool says_defaults = value_of("model_file") != "none" || value_of("preset") != "none" ||
                               value_of("notebook") != "none" ||
                               has_any(typed, {"--preset", "--model-file", "--notebook"});
    const bool has_own_init = settings.is_record && value_of("projection") == "mha";
    bool has_memory = false;
    Arguments base(typed.tables());
    for (const attn::FileSetting& setting : settings.all) {
        if (std::find(derived.begin(), derived.end(), setting.key) != derived.end()) continue;
        if (!setting.source.empty()) {
            has_memory = has_memory || setting.key == "memory";
            take_source(typed, setting, label, base);
            continue;
        }
        // What a walk prints says nothing to a command that prints other things.
        const Arguments walk({output_flags, print_flags, bug_flags, notebook_walk_flags});
        const bool is_walks = flag_of(walk, setting.key) != nullptr;
        if (is_walks && flag_of(typed, setting.key) == nullptr) continue;
        const Flag& flag = flag_of_setting(typed, setting, label);
        if (flag.never_in_files) {
            refuse(label, setting,
                   "no file of settings may say '" + setting.key + "': type " + flag.name +
                       " if you want it, and leave it out here");
        }
        // What a record tells of a model, or of the draws of nn.MultiheadAttention, follows.
        const bool is_models = flag.is(of_model) || setting.values == std::vector{given};
        if ((has_model && is_models) || (has_own_init && flag.name == "--init")) continue;
        const bool may_stand_for_file = settings.is_record && setting.is_text;
        try {
            Arguments one(typed.tables());
            one.say(said_by(
                typed, flag,
                may_stand_for_file ? without_file(typed, base, flag, setting, label) : setting,
                says_defaults));
            for (const Arguments::Said& said : one.said()) {
                one.came_from(*said.flag, {label, setting.line, settings.is_record});
            }
            base.put_under(one);
        } catch (const attn::ConfigError& error) {
            refuse(label, setting, error.what());
        }
    }
    // A record tells the length of any memory, and without one that of x.
    const bool has_length = settings.is_record && has_any(base, {"--memory-len"});
    if (has_length &&
        (!has_memory || has_any(base, {"--memory-text", "--memory-ids", "--memory"}))) {
        base.forget("--memory-len");
    }
    return base;
}

const std::vector<Flag>& config_flags() {
    static const std::vector<Flag> all = grouped(
        "Input (one source; default: a sentence)",
        {Flag{"--config", "FILE",
              "settings from a file, as --save-config writes them or JSON output holds them; flags "
              "win over it",
              file()}
             .typed_only(),
         Flag{"--save-config", "FILE",
              "write the settings to a file, for --config (- is standard output)", file()}
             .writing({".json", ".txt", "*"})});
    return all;
}

void put_settings_under(Arguments& typed, Arguments base, bool implied) {
    const auto put_aside = [&](const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (base.find(name) != nullptr) base.forget(name);
        }
    };
    for (const Arguments::Said& said : typed.said()) {
        for (const Arguments::Said& other : std::vector(base.said())) {
            if (are_rivals(*said.flag, *other.flag)) base.forget(other.flag->name);
        }
    }
    // What is said of one source does not hold of another.
    if (typed.has(says_x)) put_aside({"--vocab-size", "--pad-id"});
    if (has_any(typed, {"--text", "--text-file", "--ids", "--x"})) put_aside({"--seq-len"});
    if (has_any(typed, {"--x"})) put_aside({"--batch", "--embed-dim"});
    typed.put_under(base, implied);
}

Arguments with_config(Arguments typed) {
    typed.forget_origins();
    if (typed.find("--config") != nullptr && typed.has("--config")) {
        attn::InputFile file(typed.text("--config"));
        put_settings_under(typed, settings_in(file.all(), file.label(), typed));
    }
    return with_preset(std::move(typed));
}

std::string settings_json(const Arguments& arguments) {
    std::string json;
    std::vector<const Flag*> saved;
    for (const auto& [flag, text, implied] : arguments.said()) {
        // What a preset stands for is saved itself.
        if (implied || key_of(*flag).empty() || flag->never_in_files || flag->name == "--preset" ||
            std::find(saved.begin(), saved.end(), flag) != saved.end()) {
            continue;
        }
        saved.push_back(flag);
        const bool alone = !flag->takes_value() || (flag->may_stand_alone && text.empty());
        const std::string value = alone           ? "true"
                                  : flag->repeats ? attn::json_list(arguments.all(flag->name))
                                                  : attn::json_string(text);
        json +=
            (json.empty() ? "{\n  " : ",\n  ") + (attn::json_string(key_of(*flag)) + ": " + value);
    }
    return json.empty() ? "{}\n" : json + "\n}\n";
}

void save_config(const Arguments& arguments) {
    if (arguments.find("--save-config") == nullptr || !arguments.has("--save-config")) return;
    const std::string path = arguments.text("--save-config");
    if (path != "-") return attn::write_file(path, settings_json(arguments));
    StandardOutput output;
    output.write(settings_json(arguments));
    output.flush();
}

}  // namespace app
