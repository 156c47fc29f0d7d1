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

/// What a text may be, of a setting or of what else a program asks for.
struct Takes {
    enum class Kind { text, integer, number, word, list, cell, file, folder };
    Kind kind = Kind::text;
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    /// The words to choose from (for a list, several of them with commas between; for a cell, the
    /// steps), with blanks between, or made when they are asked for: some are long catalogues.
    std::string_view few{};
    std::vector<std::string> (*catalogue)() = nullptr;
    bool only_these = false;  ///< whether other words are refused
    bool or_nothing = false;  ///< whether an empty text has a meaning of its own
    bool flags = false;       ///< whether flags in one word are taken, also where it is one alone

    std::vector<std::string> words() const;
};

/// The words of a choice.
template <class Choice>
std::vector<std::string> words_of() {
    std::vector<std::string> all;
    for (const auto& [word, value] : words<Choice>) all.emplace_back(word);
    return all;
}

/// Any text; these words are offered.
inline Takes such_as(std::string_view few, Takes::Kind kind = Takes::Kind::word) {
    return {kind, 0, 0, few};
}
inline Takes such_as(std::vector<std::string> (*words)(), Takes::Kind kind = Takes::Kind::word) {
    return {kind, 0, 0, {}, words};
}
/// One of these words, and no other.
inline Takes one_of(std::string_view few) { return {Takes::Kind::word, 0, 0, few, nullptr, true}; }
inline Takes one_of(std::vector<std::string> (*words)(), Takes::Kind kind = Takes::Kind::word) {
    return {kind, 0, 0, {}, words, true};
}
template <class Choice>
Takes one_of() {
    return one_of(words_of<Choice>);
}
/// Several of these words, with commas between.
inline Takes some_of(std::vector<std::string> (*words)()) {
    return one_of(words, Takes::Kind::list);
}

/// Errors  ConfigError for a text that is none of these, naming the setting as it was called.
void check(const Takes& takes, std::string_view called, const std::string& text);

/// One setting of a walk: text to configuration and back.
struct Setting {
    std::string name;  ///< `head-dim`, in lines and, after dashes, as a flag
    Takes takes{};
    bool alone = false;   ///< it takes no text: it is said or it is not
    std::string usual{};  ///< the default, as it could be said, or in words
    /// Takes over what a text says, which `check` let pass. Null of what a program brings: the
    /// record alone is kept here.
    ///
    /// Errors  ConfigError naming the setting as it was called, `heads` or `--heads`.
    using Set = void (*)(WalkConfig&, std::string_view called, const std::string& text);
    Set set = nullptr;
    /// The text that sets it so; empty where nothing does. Null where one text does not say it all.
    using Text = std::string (*)(const WalkConfig&);
    Text text = nullptr;
    std::string key{};       ///< in records: the name with underscores
    bool is_number = false;  ///< records hold its text as it is
    /// The value in effect as JSON, where it is not the text; empty for one that is left out.
    using Json = std::string (*)(const Plan&);
    Json json = nullptr;
};

/// All settings, those of the input first.
const std::vector<Setting>& settings();
/// Errors  ConfigError for a name that none has.
const Setting& find_setting(std::string_view name);

/// Returns what to do about a step that a walk lacks, `add --output-projection`; empty if no setting
/// on its own makes that step.
std::string remedy_for(std::string_view step);

/// The text that sets it as it is; nothing where the configuration leaves it as it begins.
std::optional<std::string> said(const Setting& setting, const WalkConfig& config);
/// The value in effect as JSON, `"none"` where there is none; empty for one that records leave out.
std::string json_of(const Setting& setting, const Plan& plan);

/// A setting as a line says it.
struct SaidSetting {
    std::string name, text;
};
/// The settings of a line, in its order.
std::vector<SaidSetting> settings_in(std::string_view line);

/// Takes over a line of settings, `heads 3, mask causal,window:2, bias`: commas with a blank after
/// them are between settings, those without one belong to a text.
///
/// Errors  ConfigError naming the setting.
void configure(WalkConfig& config, std::string_view line);
/// The configuration that a line describes.
WalkConfig configured(std::string_view line);

/// What each kind of mask hides, for a help text.
std::string mask_help();

// The rows, one function for each part of a walk.
std::vector<Setting> input_settings();
std::vector<Setting> model_settings();
std::vector<Setting> position_settings();
std::vector<Setting> cache_settings();
std::vector<Setting> variant_settings();
std::vector<Setting> number_settings();

}  // namespace attn
