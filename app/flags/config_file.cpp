#include "app/flags/config_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/files/io/settings_file.hpp"
#include "attn/files/io/workbook.hpp"
#include "attn/files/io/zip.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// True if the two flags exclude each other, so that a typed one replaces one of a file.
bool are_rivals(const Flag& a, const Flag& b) {
    const auto names = [](const Flag& one, const Flag& other) {
        return std::ranges::find(one.rivals, other.name, &Name::text) != one.rivals.end();
    };
    return (a.traits & b.traits & (sets_x | sets_memory)) != 0 || names(a, b) || names(b, a);
}

/// Refuses a value with which a settings file would make the program read a file that names others,
/// or something other than a file: reading a pipe may block forever.
void check_input(const Flag& flag, const std::string& value) {
    if (flag.is(flags::rules) && value.starts_with('@')) {
        throw attn::ConfigError(
            "a settings file cannot name a file of rules: write the rules here");
    }
    if (flag.is(flags::attentions) || flag.is(flags::example)) {
        if (value.find('\n') != value.npos || !names_a_file(value)) return;
        throw attn::ConfigError("a settings file cannot name a file for " + flag.name +
                                ": write its text here");
    }
    if (!flag.may_name_file()) return;
    // The file may follow a colon: `mse:FILE`.
    for (std::size_t begin = 0, colon = 0; colon != value.npos; begin = colon + 1) {
        const std::string path = attn::file_of(value.substr(begin));
        if (path == "-") {
            throw attn::ConfigError("a settings file does not read standard input: type " +
                                    flag.name + " " + value + " instead");
        }
        std::error_code ignored;
        if (!std::filesystem::is_directory(path, ignored)) attn::require_regular_file(path);
        colon = value.find(':', begin);
    }
}

/// Recorded only: derived from the other settings.
constexpr std::array derived{"given", "changed"};

/// The flag of a key: its name, or its key in --format json.
const Flag* flag_of(const Arguments& arguments, const std::string& key) {
    const Flag* recorded = nullptr;
    for (const Flag* flag : arguments.rows()) {
        if (key_of(*flag) == key) return flag;
        if (flag->key == key) recorded = flag;
    }
    return recorded;
}

[[noreturn]] void refuse(const std::string& label, const attn::FileSetting& setting,
                         const std::string& reason) {
    throw attn::InputError(label + ":" + std::to_string(setting.line) + ": " + reason);
}

bool is_none(const attn::FileSetting& setting) {
    return setting.is_text && setting.values.front() == "none";
}

/// Returns the text of a setting for its flag; empty if it has its default, unless it must override
/// a preset or a model.
std::vector<Arguments::SpecifiedFlag> texts_of(const Arguments& arguments, const Flag& flag,
                                               const attn::FileSetting& setting,
                                               bool includes_defaults) {
    const std::vector<std::string>& values = setting.values;
    const bool has_no_value = flag.value_is_optional && values == std::vector<std::string>{"true"};
    if (has_no_value) return {{&flag, ""}};
    const bool is_usual = values.size() == 1 && values.front() == flag.default_value;
    if (values.empty() || (is_usual && !includes_defaults)) return {};
    if (!flag.takes_value()) {
        if (values.front() == "true") return {{&flag, ""}};
        const Flag* opposite = arguments.find("--no-" + flag.name.substr(2));
        if (opposite == nullptr) return {};
        return {{opposite, ""}};
    }
    if (is_none(setting)) {
        const std::vector<std::string> known = flag.takes.words();
        if (std::find(known.begin(), known.end(), "none") == known.end()) return {};
    }
    std::vector<Arguments::SpecifiedFlag> specified;
    if (flag.repeats) {
        for (const std::string& value : values) specified.push_back({&flag, value});
        return specified;
    }
    const std::string joined = attn::joined(values, ",");
    if (joined.empty() && flag.value_is_optional) refuse_empty(flag);
    return {{&flag, joined}};
}

/// Returns these texts after check_input().
std::vector<Arguments::SpecifiedFlag> flags_in_setting(const Arguments& arguments, const Flag& flag,
                                                       const attn::FileSetting& setting,
                                                       bool includes_defaults) {
    const std::vector<Arguments::SpecifiedFlag> specified =
        texts_of(arguments, flag, setting, includes_defaults);
    for (const Arguments::SpecifiedFlag& each : specified) check_input(*each.flag, each.text);
    return specified;
}

const Flag& flag_of_setting(const Arguments& arguments, const attn::FileSetting& setting,
                            const std::string& label) {
    if (const Flag* flag = flag_of(arguments, setting.key)) return *flag;
    std::vector<std::string> keys;
    for (const Flag* each : arguments.rows()) {
        if (!each->is_positional()) keys.push_back(key_of(*each));
    }
    refuse(label, setting,
           "there is no setting '" + setting.key + "'" +
               attn::did_you_mean(setting.key, keys, ": the names are those of the flags"));
}

/// Applies manual edits of the settings in this program's output to the recorded flags.
void take_changes(Arguments& base, const std::vector<attn::FileSetting>& lines,
                  const std::string& label) {
    if (lines.empty() || base.has(flags::notebook)) return;
    std::string result;
    try {
        for (const auto& [key, value] : config_entries(base, attn::resolve(config_of(base)))) {
            if (key != "explicit_settings")
                result += (result.empty() ? "{" : ",") + attn::json_string(key) + ":" + value;
        }
    } catch (const attn::Error&) {
        return;  // a file is missing, or typed flags correct it: use the recorded flags alone
    }
    for (const attn::FileSetting& was : attn::read_settings(result + "}", label).all) {
        const auto is = std::ranges::find(lines, was.key, &attn::FileSetting::key);
        if (is == lines.end() || is->is_object || is->is_null || is->values == was.values) continue;
        const Flag* flag = flag_of(base, was.key);
        if (flag == nullptr) continue;
        base.forget(*flag);
        base.specify(flags_in_setting(base, *flag, *is, true));
        base.came_from(*flag, {label, is->line});
    }
}

/// Returns the text of a settings file. A pipe is read only once.
std::string settings_text(const std::string& path) {
    static std::map<std::string, std::string> pipes;
    const auto known = pipes.find(path);
    if (known != pipes.end()) return known->second;
    std::string text(attn::InputFile(path, std::size_t{64} << 20U).all());
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) pipes.emplace(path, text);
    return text;
}

/// Prefix of our comments, since other programs may write comments of their own.
constexpr std::string_view mark = "attn-explain settings\n";

}  // namespace

Arguments settings_in(std::string_view json, const std::string& label, const Arguments& typed,
                      bool is_record) {
    const attn::FileSettings settings = attn::read_settings(json, label);
    const auto is_set = [&](const attn::FileSetting& setting) {
        const std::array families{"model_file", "preset", "notebook"};
        return std::ranges::find(families, setting.key) != families.end() && !is_none(setting);
    };
    const bool includes_defaults =
        std::ranges::any_of(settings.all, is_set) ||
        typed.has_any({flags::preset, flags::model_file, flags::notebook});
    Arguments base(typed.tables());
    for (const attn::FileSetting& setting : settings.all) {
        if (std::find(derived.begin(), derived.end(), setting.key) != derived.end()) continue;
        const bool is_input = setting.key == "input";
        if (setting.is_object && (is_input || setting.key == "memory")) {
            if (typed.has(is_input ? sets_x : sets_memory)) continue;
            refuse(label, setting,
                   "this record does not contain the " + setting.key + " itself: pass " +
                       (is_input ? "--text, --ids or --x"
                                 : "--memory-text, --memory-ids or --memory") +
                       " too, or use the file of --save-config");
        }
        // Output flags of a walk have no meaning for a command that prints other things.
        const Arguments walk({output_flags, print_flags, bug_flags, notebook_walk_flags});
        const bool is_walks = flag_of(walk, setting.key) != nullptr;
        const Flag* const own = flag_of(typed, setting.key);
        if (is_walks && (own == nullptr || (is_record && own->never_in_files))) continue;
        const Flag& flag = flag_of_setting(typed, setting, label);
        if (setting.is_object) {
            refuse(label, setting,
                   "'" + setting.key + "' is an object: write the value of " + flag.name +
                       ", a text, a number or a list");
        }
        if (flag.never_in_files) {
            refuse(label, setting,
                   "a settings file cannot set '" + setting.key + "': type " + flag.name +
                       " if you want it, and leave it out here");
        }
        if (setting.is_null) {
            report_note(label + ":" + std::to_string(setting.line) + ": '" + setting.key +
                        "' is null and ignored");
            continue;
        }
        try {
            Arguments one(typed.tables());
            one.specify(flags_in_setting(typed, flag, setting, includes_defaults));
            one.came_from({label, setting.line});
            base.set_defaults_from(one);
        } catch (const attn::Error& error) {
            refuse(label, setting, error.what());
        }
    }
    take_changes(base, settings.derived_settings, label);
    return base;
}

const std::vector<Flag>& config_flags() {
    static const std::vector<Flag> all =
        grouped("Input (one source; default: a sentence)",
                {Flag{flags::config, "FILE",
                      "settings from a file written by --save-config, or from JSON output; flags "
                      "override them",
                      file()}
                     .typed_only(),
                 Flag{flags::save_config, "FILE",
                      "write the settings to a file, for --config (- is standard output)", file()}
                     .writing({".json", ".txt", "*"})});
    return all;
}

void set_default_settings(Arguments& typed, Arguments base, bool implied) {
    const bool keeps_ids = typed.has(flags::ids) && base.has(flags::ids);
    for (const Arguments::SpecifiedFlag& specified : typed.specified()) {
        for (const Arguments::SpecifiedFlag& other : std::vector(base.specified())) {
            if (are_rivals(*specified.flag, *other.flag)) base.forget(*other.flag);
        }
    }
    // Settings of one source of x do not apply to another.
    if (typed.has(sets_x)) base.forget_any({flags::vocab_size, flags::tokens});
    if (typed.has(sets_x) && !keeps_ids) base.forget_any({flags::pad_id});
    if (typed.has_any({flags::text, flags::text_file, flags::ids, flags::x}))
        base.forget_any({flags::seq_len});
    if (typed.has(flags::x)) base.forget_any({flags::batch, flags::embed_dim});
    typed.set_defaults_from(base, implied);
}

Arguments with_config(Arguments typed) {
    typed.forget_origins();
    if (typed.has(flags::config)) {
        const std::string path = typed[flags::config];
        set_default_settings(typed,
                             settings_in(settings_text(path), attn::file_label(path), typed));
    }
    return with_attentions(with_example(with_preset(std::move(typed))));
}

void save_config(const Arguments& arguments) {
    if (!arguments.has(flags::save_config)) return;
    const std::string path = arguments[flags::save_config];
    if (path != "-") return attn::write_file(path, settings_json(arguments));
    StandardOutput::print(settings_json(arguments));
}

std::string probe_settings(const Arguments& arguments) {
    const Arguments walk = arguments.narrowed_to({walk_flags});
    if (walk.specified().empty()) return "";
    const std::string comment = std::string(mark) + settings_json(walk);
    return comment.size() <= attn::longest_zip_comment ? comment : "";
}

Arguments with_probe_settings(Arguments typed) {
    const bool has_file = typed.find(flags::file) != nullptr;
    const std::string file = has_file ? std::string(typed[flags::file]) : "";
    const bool is_workbook = file.ends_with(".xlsx");
    const std::string path = is_workbook ? file : std::string(typed[flags::given]);
    if (!path.ends_with(".npz") && !is_workbook) return typed;
    const std::string comment = is_workbook ? attn::workbook_settings(attn::InputFile(path))
                                            : attn::zip_comment(attn::InputFile(path));
    if (!is_workbook && !comment.starts_with(mark)) return typed;
    Arguments file_flags =
        settings_in(is_workbook ? comment : comment.substr(mark.size()), path, typed, true);
    // A workbook has its own tensors, whatever became of the files that they were read from.
    if (is_workbook && file_flags.has(flags::weights)) {
        file_flags.forget_any({flags::weights, flags::map, flags::model, flags::layer});
    }
    if (is_workbook) file_flags.forget_any({flags::x, flags::memory});
    std::string words;
    for (const Flag& flag : walk_flags()) {
        if (typed.has(flag)) continue;
        for (const std::string& text : file_flags.all(flag)) {
            words += " " + flag.name + (text.empty() ? "" : " " + shell_quoted(text));
        }
    }
    if (!words.empty()) report_note(path + " was made with" + words);
    set_default_settings(typed, file_flags);
    return typed;
}

}  // namespace app
