#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/flags/names.hpp"
#include "app/flags/parse.hpp"
#include "attn/core/settings/settings.hpp"

namespace app {

using attn::one_of, attn::some_of, attn::such_as, attn::Takes, attn::words_of;

class Arguments;

inline constexpr std::string_view switched_off = "false";  ///< `--bias=false`

/// Something that a flag needs to have an effect: another flag, or a property of the walk.
struct Need {
    bool (*among_flags)(const Arguments&) = nullptr;
    bool (*in_walk)(const attn::Plan&) = nullptr;
    std::string_view what{};  ///< `a mask: add --mask causal`

    constexpr Need() = default;
    constexpr Need(bool (*flags)(const Arguments&), std::string_view missing)
        : among_flags(flags), what(missing) {}
    constexpr Need(bool (*walk)(const attn::Plan&), std::string_view missing)
        : in_walk(walk), what(missing) {}
};

/// Properties of a flag for code that does not read it by name.
enum Trait : unsigned {
    sets_x = 1,          ///< sets the source of x; only one of these can be given
    sets_memory = 2,     ///< likewise for memory
    of_model = 4,        ///< decided by the model of --model-file, so flags must not set it
    of_draws = 8,        ///< without effect if nothing is drawn
    of_arithmetic = 16,  ///< how numbers are computed or named, not their values
    of_replay = 32,      ///< changes the numbers of a notebook, but not its lines
    or_file = 64,        ///< accepts a file as well as its words or its number
    of_output = 128,     ///< where and how output is shown; changes no number
    of_source = 256,     ///< belongs to the source of x
    of_pages = 512,      ///< set by walks of notebooks and in files of settings, never typed
};

/// One flag or positional argument. Parsing, messages, help, completions, man pages and, for the
/// settings of a walk, the configuration and its record in JSON are generated from this row.
struct Flag {
    std::string name;   ///< `--heads`; of a positional argument `CELL`
    std::string value;  ///< placeholder of its value: `N`; empty for a flag without one
    std::string help;   ///< understandable without the help of other flags
    Takes takes{};
    std::string default_value{};    ///< the default, as typed or in words
    std::string letter{};           ///< `-o`
    std::string group = "Options";  ///< its heading in help
    unsigned traits = 0;            ///< of Trait
    /// Alternatives: if one is typed, those from a file are ignored.
    std::vector<Name> rivals{};
    bool repeats = false;
    bool required = false;
    /// Its value, if any, follows an equals sign: `--heatmap=row`. Whole numbers may also be the
    /// next word.
    bool value_is_optional = false;
    /// True if the flag writes, watches, runs a program or decides a verdict: settings files, which
    /// may come from others, must not set it.
    bool never_in_files = false;
    Need need{};
    bool writes = false;  ///< its value is a file or folder to write
    /// Allowed suffixes of that file, `*` for any other; empty for those of --format and --json.
    std::vector<std::string_view> endings{};

    std::string key{};                       ///< its key in records of walks
    const attn::Setting* setting = nullptr;  ///< the setting of a walk that it sets
    /// Sets the configuration if the program must read a file first; otherwise its setting does.
    void (*set)(attn::WalkConfig&, const Flag&, const std::string& text) = nullptr;

    // A row is written as its first three members and the calls below.
    Flag&& taking(Takes what) && { return takes = what, std::move(*this); }
    Flag&& with_default(const std::string& text) && {
        return default_value = text, std::move(*this);
    }
    Flag&& with_short_name(const std::string& short_name) && {
        return letter = short_name, std::move(*this);
    }
    Flag&& being(unsigned what) && { return traits = what, std::move(*this); }
    Flag&& instead_of(std::vector<Name> others) && {
        return rivals = std::move(others), std::move(*this);
    }
    Flag&& repeatable() && { return repeats = true, std::move(*this); }
    Flag&& demanded() && { return required = true, std::move(*this); }
    Flag&& typed_only() && { return never_in_files = true, std::move(*this); }
    Flag&& needing(const Need& what) && { return need = what, std::move(*this); }
    Flag&& writing(std::vector<std::string_view> to = {}) && {
        return writes = never_in_files = true, endings = std::move(to), std::move(*this);
    }
    Flag&& set_by(void (*setter)(attn::WalkConfig&, const Flag&, const std::string&)) && {
        return set = setter, std::move(*this);
    }
    Flag&& recorded(const std::string& as) && { return key = as, std::move(*this); }
    Flag&& with_optional_value() && { return value_is_optional = true, std::move(*this); }
    Flag&& in_group(const std::string& heading) && { return group = heading, std::move(*this); }

    /// True if the flag alone sets part of the configuration from its text.
    bool sets() const {
        const bool by_setting = setting != nullptr && setting->set != nullptr;
        return (set != nullptr || by_setting) && !is(of_source);
    }
    /// True if `--name=false` switches it off.
    bool may_be_off() const { return sets() && !takes_value(); }
    void take(attn::WalkConfig& config, const std::string& text) const {
        set != nullptr ? set(config, *this, text) : setting->set(config, name, text);
    }
    bool is(Trait trait) const { return (traits & trait) != 0; }
    bool is(const Name& which) const { return name == which.text; }
    bool may_name_file() const { return takes.kind == Takes::Kind::file || is(or_file); }
    bool is_positional() const { return !name.starts_with('-'); }
    bool takes_value() const { return !value.empty(); }
    /// True if the word after it is its value.
    bool takes_next_word() const { return takes_value() && !value_is_optional; }
    /// The value as help shows it after the name: ` N`, `[=SCALE]`.
    std::string value_text() const {
        const bool counts = takes.kind == Takes::Kind::integer;
        return !takes_value()      ? ""
               : value_is_optional ? (counts ? " [" : "[=") + value + "]"
                                   : " " + value;
    }
    /// The names as they are typed: `-o`, `--output`.
    std::vector<std::string> names() const;
    /// The help with the words to choose from and the default.
    std::string whole_help() const;
};

/// The rows of several flags. They live as long as the program.
using FlagTable = const std::vector<Flag>& (*)();

/// Returns the rows that a function makes, as a table: `table<lens_flags>`.
template <std::vector<Flag> (*rows)()>
const std::vector<Flag>& table() {
    static const std::vector<Flag> all = rows();
    return all;
}

/// Returns this program's flag for a name from other programs: `--kv-heads 2` for `--gqa 2`,
/// `--preset llama3` for `llama3`, with the typed value if it fits. Empty for unknown names.
std::string flag_for_word(const Arguments& arguments, const std::string& word,
                          const std::string& next = {});

/// Returns the flag that a word of the command line means, for a message; empty if there is none.
std::string suggestion_for(const Arguments& arguments, const std::string& word,
                           const std::string& next);

/// A word that looks like a flag but is not one of the command.
struct UnknownFlag : attn::ConfigError {
    UnknownFlag(const std::string& specified, const std::string& meant);
    std::string name;
    bool has_guess;
};

/// A word that the command does not expect.
struct UnexpectedWord : attn::ConfigError {
    explicit UnexpectedWord(const std::string& specified);
    std::string word;
};

/// The name of a flag in files of settings: `head_dim` of --head-dim.
std::string key_of(const Flag& flag);

/// A command line: flags and positional arguments with their texts, checked against their rows.
/// Reading a flag without a row here throws std::logic_error.
class Arguments {
public:
    explicit Arguments(std::vector<FlagTable> tables) : tables_(std::move(tables)) {}

    /// Reads words as they are typed, flags alone or a whole command line. Later values replace
    /// earlier ones.
    ///
    /// Errors  ConfigError for the first word that does not fit, naming the flag, its values and a
    ///         guess.
    void parse(const std::vector<std::string>& words, bool flags_alone = false);

    struct SpecifiedFlag {
        const Flag* flag;
        std::string text;
        bool implied = false;
    };
    /// Adds flags of these tables that are already parsed, each with its text.
    /// Errors  ConfigError for the first invalid text.
    void specify(const std::vector<SpecifiedFlag>& flags);

    /// True if it was given; false for flags that the command does not have.
    bool has(const Name& name) const;
    bool has(const Flag& flag) const;
    bool has_any(const std::vector<Name>& names) const;
    /// True if such a flag was given.
    bool has(Trait trait) const;
    /// Returns the given value, else the default; for an optional, nullopt unless it was given; for
    /// a list, all values of a flag that can be repeated.
    template <class T>
    T operator[](const Key<T>& key) const {
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            return all(row(key));
        } else {
            if (is_optional<T> && !has(key)) return {};
            return parse_as<T>(key.text, text(row(key)));
        }
    }
    std::string text(const Flag& flag) const;
    std::vector<std::string> all(const Flag& flag) const;

    void set(const Flag& flag, const std::string& text);
    void set(const Name& name, const std::string& text) { set(row(name), text); }
    void forget(const Flag& flag);
    void forget_any(const std::vector<Name>& names);

    /// The origin of a value that was not typed.
    struct Origin {
        std::string file;      ///< or `--preset llama3`
        std::size_t line = 0;  ///< from 1; 0 if there are none
    };
    void came_from(const Flag& flag, Origin origin) { origins_[&flag] = std::move(origin); }
    void came_from(const Origin& origin) {
        for (const SpecifiedFlag& each : specified_) came_from(*each.flag, origin);
    }
    const Origin* origin(const Flag& flag) const;
    /// True if the user gave it, and no other flag implied it.
    bool is_typed(const Flag& flag) const;
    /// Forgets values that were not typed.
    void forget_origins();
    /// Returns where the settings named in a message were read, ` (heads: c.json:2)`, or an empty
    /// text.
    std::string origins_in(std::string_view message) const;

    /// Returns the given flags of other tables, for another command.
    Arguments narrowed_to(std::vector<FlagTable> tables) const;
    /// Returns the given flags that are not implied, in the order of help and without defaults: the
    /// same list for the same walk, however it was typed.
    std::vector<SpecifiedFlag> in_order() const;
    /// Takes values from `base` for flags that have none here; `implied` if another flag implies
    /// them.
    void set_defaults_from(const Arguments& base, bool implied = false);
    void drop_implied();

    const std::vector<SpecifiedFlag>& specified() const { return specified_; }
    const std::vector<FlagTable>& tables() const { return tables_; }
    /// All rows of the tables.
    std::vector<const Flag*> rows() const;
    /// The row of that name or letter, or nullptr.
    const Flag* find(std::string_view name) const;
    const Flag* find(const Name& name) const { return find(name.text); }
    /// Returns the row for `--name`, `--name=VALUE`, or the last letter of `-qo`; nullptr
    /// otherwise, even for a file named like a positional argument.
    const Flag* named_by(const std::string& word) const;

private:
    const Flag& row(const Name& name) const;
    void keep(const std::vector<SpecifiedFlag>& flags);

    std::vector<FlagTable> tables_;
    std::vector<SpecifiedFlag> specified_;  ///< in the order in which it was typed
    std::map<const Flag*, Origin> origins_;
    std::vector<const Flag*> off_{};  ///< settings that were switched off: `--bias=false`
};

/// Returns the need of another flag: `with<flags::grid>("--grid")`.
template <const auto& flag>
constexpr Need with(std::string_view what) {
    return {[](const Arguments& arguments) { return arguments.has(flag); }, what};
}
/// Returns the need that another flag is left out.
template <const auto& flag>
constexpr Need without(std::string_view what) {
    return {[](const Arguments& arguments) { return !arguments.has(flag); }, what};
}

/// The flags of a walk; without a plan, needs that depend on it are not checked.
struct FlagUse {
    const Arguments& arguments;
    const attn::Plan* plan;
};

/// Reports on standard error the flags that have no effect in any of the walks, and their needs.
/// All walks belong to one command.
void note_useless_flags(const std::vector<FlagUse>& uses);
inline void note_useless_flags(const Arguments& arguments, const attn::Plan* plan) {
    note_useless_flags({{arguments, plan}});
}

/// Reports all flags except `used`, for commands that only print a list.
void note_unused_flags(const Arguments& arguments, const std::vector<Name>& used,
                       const std::string& what);

/// Errors  ConfigError, always: the flag has an empty text.
[[noreturn]] void refuse_empty(const Flag& flag);
/// Errors  ConfigError, always: the flag takes no value.
[[noreturn]] void refuse_value(const Flag& flag, const std::string& text);

/// The group that help shows last: flags that reproduce every digit of a notebook.
constexpr const char* last_group = "Numbers of a notebook, bit for bit";

/// The rows of one group, except for those that have one.
std::vector<Flag> grouped(const std::string& group, std::vector<Flag> rows);

/// A command line as read by CLI11, not yet checked.
struct TypedWords {
    std::vector<Arguments::SpecifiedFlag>
        specified;        ///< as typed; without a flag for unexpected words
    std::size_t trouble;  ///< index of the first word that is not a flag or lacks its value
};

/// Reads words by CLI11 and the rows of these arguments: `--name VALUE`, `--name=VALUE`, `-o FILE`,
/// `-oFILE`, `-qo FILE`, positional arguments, `--` before them.
TypedWords read_words(const Arguments& rows, const std::vector<std::string>& words,
                      bool flags_alone);

// Possible values of a flag: the steps of the walk, in its order; the ids of the catalogue of
// mistakes; the shipped models.
std::vector<std::string> step_names();
std::vector<std::string> mistake_ids();
std::vector<std::string> shipped_models();

/// Shorthands for the values of a row.
inline Takes integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    return {Takes::Kind::integer, least, most};
}
inline Takes number() { return {Takes::Kind::number}; }
inline Takes file() { return {Takes::Kind::file}; }
inline Takes folder() { return {Takes::Kind::folder}; }

}  // namespace app
