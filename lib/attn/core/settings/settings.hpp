#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/plan/config.hpp"
#include "attn/core/plan/words.hpp"

namespace attn {

struct Plan;

/// The values that a text may have, for a setting or another option of a program.
struct Takes {
    enum class Kind { text, integer, number, word, list, cell, file, folder };
    Kind kind = Kind::text;
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    /// The words to choose from (for a list, separated by commas; for a cell, the steps), separated
    /// by spaces, or generated on demand: some are long catalogues.
    std::string_view few{};
    std::vector<std::string> (*catalogue)() = nullptr;
    bool only_these = false;  ///< other words are refused
    bool or_nothing = false;  ///< an empty text has a meaning
    bool flags = false;       ///< flags in one word are accepted, even a single one

    std::vector<std::string> words() const;
};

/// Returns the words of an enumeration.
template <class Choice>
std::vector<std::string> words_of() {
    std::vector<std::string> all;
    for (const auto& [word, value] : words<Choice>) all.emplace_back(word);
    return all;
}

/// Accepts any text, and suggests these words.
inline Takes such_as(std::string_view few, Takes::Kind kind = Takes::Kind::word) {
    return {kind, 0, 0, few};
}
inline Takes such_as(std::vector<std::string> (*words)(), Takes::Kind kind = Takes::Kind::word) {
    return {kind, 0, 0, {}, words};
}
/// Accepts only these words.
inline Takes one_of(std::string_view few) { return {Takes::Kind::word, 0, 0, few, nullptr, true}; }
inline Takes one_of(std::vector<std::string> (*words)(), Takes::Kind kind = Takes::Kind::word) {
    return {kind, 0, 0, {}, words, true};
}
template <class Choice>
Takes one_of() {
    return one_of(words_of<Choice>);
}
/// Accepts several of these words, separated by commas.
inline Takes some_of(std::vector<std::string> (*words)()) {
    return one_of(words, Takes::Kind::list);
}

/// Errors  ConfigError for an invalid text, naming the setting as the user wrote it.
void check(const Takes& takes, std::string_view called, const std::string& text);

/// A setting of a walk: parses text to the configuration and formats it back.
struct Setting {
    std::string name;  ///< `head-dim`, in lines and, after dashes, as a flag
    Takes takes{};
    bool alone = false;           ///< it takes no text: it is on or off
    std::string default_value{};  ///< the default, as it could be typed, or in words
    /// Applies a text that passed `check`. Null for settings of a program: only the record is here.
    ///
    /// Errors  ConfigError naming the setting as the user wrote it, `heads` or `--heads`.
    using Set = void (*)(WalkConfig&, std::string_view called, const std::string& text);
    Set set = nullptr;
    /// Returns the text that sets the current value; empty for the default. Null if one text is not
    /// enough.
    using Text = std::string (*)(const WalkConfig&);
    Text text = nullptr;
    std::string key{};       ///< in records: the name with underscores
    bool is_number = false;  ///< records have its text unquoted
    /// Returns the value in effect as JSON, if it is not the text; empty if it is omitted.
    using Json = std::string (*)(const Plan&);
    Json json = nullptr;
};

/// Returns all settings, those of the input first.
const std::vector<Setting>& settings();
/// Errors  ConfigError for an unknown name.
const Setting& find_setting(std::string_view name);

/// Returns advice on a step that a walk lacks, `add --output-projection`; empty if no single
/// setting adds that step.
std::string remedy_for(std::string_view step);

/// Returns the text for the current value; nullopt if it is the default of the configuration.
std::optional<std::string> specified(const Setting& setting, const WalkConfig& config);
/// Returns the value in effect as JSON, `"none"` if there is none; empty if records omit it.
std::string json_of(const Setting& setting, const Plan& plan);

/// A setting in a line of settings.
struct SpecifiedSetting {
    std::string name, text;
};
/// Splits a line into settings, in order.
std::vector<SpecifiedSetting> settings_in(std::string_view line);

/// Applies a line of settings, `heads 3, mask causal,window:2, bias`: commas followed by a space
/// separate settings, others belong to a text.
///
/// Errors  ConfigError naming the setting.
void configure(WalkConfig& config, std::string_view line);
/// Returns the configuration for a line of settings.
WalkConfig configured(std::string_view line);

/// Returns a help text on the kinds of mask.
std::string mask_help();

// The settings, one function for each part of a walk.
std::vector<Setting> input_settings();
std::vector<Setting> model_settings();
std::vector<Setting> position_settings();
std::vector<Setting> cache_settings();
std::vector<Setting> variant_settings();
std::vector<Setting> number_settings();

}  // namespace attn
