#include "attn/core/settings/settings.hpp"

#include <algorithm>

#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns the default configuration.
const WalkConfig& unset() {
    static const WalkConfig config;
    return config;
}

}  // namespace

std::vector<std::string> Takes::words() const {
    if (catalogue != nullptr) return catalogue();
    return few.empty() ? std::vector<std::string>() : split(few, ' ');
}

void check(const Takes& takes, std::string_view called, const std::string& text) {
    using Kind = Takes::Kind;
    if (takes.kind == Kind::integer) parse_integer(called, text, takes.least, takes.most);
    if (takes.kind == Kind::number) parse_number(called, text);
    if (!takes.only_these) return;
    const std::vector<std::string> known = takes.words();
    for (const std::string& word :
         takes.kind == Kind::list ? split(text, ',') : std::vector{text}) {
        if (std::ranges::find(known, word) == known.end()) refuse_word(called, word, known);
    }
}

Setting own_setting(std::string_view name, Setting::Set set, Setting::Text text,
                    Setting::Json json) {
    std::string key(name);
    std::ranges::replace(key, '-', '_');
    Setting setting = record_setting(name, key, json);
    setting.set = set;
    setting.text = text;
    return setting;
}

Setting member_row(std::string_view name, std::string_view default_value, const Takes& takes,
                   bool alone, bool is_number, Setting::Set set, Setting::Text text) {
    Setting setting = taking(own_setting(name, set, text), takes, default_value);
    if (default_value.empty() && !alone) setting.default_value = text(unset());
    setting.alone = alone;
    setting.is_number = is_number;
    return setting;
}

Setting record_setting(std::string_view name, std::string_view key, Setting::Json json) {
    Setting setting{std::string(name)};
    setting.key = key;
    setting.json = json;
    return setting;
}

Setting taking(Setting setting, const Takes& takes, std::string_view default_value) {
    setting.takes = takes;
    if (!default_value.empty()) setting.default_value = default_value;
    return setting;
}

const std::vector<Setting>& settings() {
    static const std::vector<Setting> all = [] {
        std::vector<Setting> rows;
        for (auto& part : {input_settings(), model_settings(), position_settings(),
                           cache_settings(), variant_settings(), number_settings()}) {
            rows.insert(rows.end(), part.begin(), part.end());
        }
        return rows;
    }();
    return all;
}

namespace {

std::vector<std::string> names_of_settings() {
    std::vector<std::string> names;
    for (const Setting& setting : settings()) names.push_back(setting.name);
    return names;
}

}  // namespace

const Setting& find_setting(std::string_view name) {
    const auto found = std::ranges::find(settings(), name, &Setting::name);
    if (found != settings().end()) return *found;
    throw ConfigError("there is no setting " + quoted_text(name) +
                      did_you_mean(name, names_of_settings(), ""));
}

std::string remedy_for(std::string_view step) {
    if (step == "scaled_scores") return "$scale none divides nothing, so see scores"_message;
    const std::string setting = known_name_for(step, names_of_settings());
    return setting.empty() ? "" : "add " + "$"_message + setting;
}

std::optional<std::string> specified(const Setting& setting, const WalkConfig& config) {
    if (setting.text == nullptr) return std::nullopt;
    std::string now = setting.text(config);
    if (now.empty() || now == setting.text(unset())) return std::nullopt;
    return setting.alone ? std::string() : now;
}

std::string json_of(const Setting& setting, const Plan& plan) {
    if (setting.key.empty()) return {};
    if (setting.json != nullptr) return setting.json(plan);
    return record_of(setting.text(plan.config), setting.is_number);
}

std::vector<SpecifiedSetting> settings_in(std::string_view line) {
    std::vector<SpecifiedSetting> all;
    while (!trimmed(line).empty()) {
        const std::size_t end = std::min(line.find(", "), line.size());
        const std::string part(trimmed(line.substr(0, end)));
        const std::string name = before(part, ' ');
        all.push_back({name, std::string(trimmed(part.substr(name.size())))});
        line.remove_prefix(std::min(end + 2, line.size()));
    }
    return all;
}

void configure(WalkConfig& config, std::string_view line) {
    for (const auto& [name, text] : settings_in(line)) {
        const Setting& setting = find_setting(name);
        if (setting.set == nullptr || setting.takes.kind == Takes::Kind::file) {
            throw ConfigError(name +
                              " cannot be set in a line: the caller of the library must read it");
        }
        if (setting.alone != text.empty() && !setting.takes.or_nothing) {
            throw ConfigError(
                name + (setting.alone ? " takes no value: leave out " + text : " lacks its value"));
        }
        if (!text.empty()) check(setting.takes, name, text);
        setting.set(config, name, text);
    }
}

WalkConfig configured(std::string_view line) {
    WalkConfig config;
    configure(config, line);
    return config;
}

}  // namespace attn
