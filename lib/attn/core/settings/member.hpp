#pragma once
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/core/plan/plan.hpp"
#include "attn/core/settings/parse.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/text/json.hpp"

namespace attn {

/// Returns the text for a member's value; empty if it has none.
template <class T>
std::string text_of(const T& value) {
    if constexpr (is_optional<T>) {
        return value ? text_of(*value) : std::string();
    } else if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
        return std::string(word(value));
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        return json_number(value);
    } else {
        return value;
    }
}

/// Formats `0,1,2`.
inline std::string text_of(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

/// Formats a text for a record: unquoted for a number, otherwise in quotes; `"none"` if it is
/// empty.
inline std::string record_of(const std::string& text, bool is_number = false) {
    return is_number && !text.empty() ? text : json_string(text.empty() ? "none" : text);
}

template <class T>
Takes argument_type() {
    if constexpr (is_optional<T>) {
        return argument_type<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return {};
    } else if constexpr (std::is_enum_v<T>) {
        return one_of<T>();
    } else if constexpr (std::is_integral_v<T>) {
        return {Takes::Kind::integer, 1};
    } else if constexpr (std::is_floating_point_v<T>) {
        return {Takes::Kind::number};
    } else {
        return {};
    }
}

template <class T>
inline constexpr bool is_bare = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_bare<std::optional<T>> = std::is_arithmetic_v<T>;

/// Returns a member of the configuration, or a member of a member.
template <auto... path>
auto& member_of(auto& config) {
    return (config.*....*path);
}

/// Returns a setting with these two functions, with its name in records.
Setting own_setting(std::string_view name, Setting::Set set, Setting::Text text,
                    Setting::Json json = nullptr);
/// Returns a setting for one member; if `default_value` is empty, the default is that of the
/// configuration.
Setting member_row(std::string_view name, std::string_view default_value, const Takes& takes,
                   bool alone, bool is_number, Setting::Set set, Setting::Text text);
/// Returns a setting that the program itself handles: only its record.
Setting record_setting(std::string_view name, std::string_view key, Setting::Json json);
/// Returns a setting with other values and another default.
Setting taking(Setting setting, const Takes& takes, std::string_view default_value = {});

/// Returns a setting for one member, or a member of a member: type, values, default and record
/// follow from it. `default_value` is the default of a member that the plan fills in.
template <auto... member>
Setting member_setting(std::string_view name, std::string_view default_value = {}) {
    using T = std::remove_cvref_t<decltype(member_of<member...>(std::declval<WalkConfig&>()))>;
    constexpr bool alone = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>;
    return member_row(
        name, default_value, argument_type<T>(), alone, is_bare<T>,
        [](WalkConfig& config, std::string_view called, const std::string& text) {
            member_of<member...>(config) = parse_as<T>(called, text);
        },
        [](const WalkConfig& config) { return text_of(member_of<member...>(config)); });
}

}  // namespace attn
