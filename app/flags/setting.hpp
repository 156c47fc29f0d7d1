#pragma once
#include <algorithm>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/ground/text/json.hpp"

namespace app {

/// The text that gives a member its value; empty of one that has none.
template <class T>
std::string text_of(const T& value) {
    if constexpr (is_optional<T>) {
        return value ? text_of(*value) : std::string();
    } else if constexpr (std::is_same_v<T, bool>) {
        return {};
    } else if constexpr (std::is_enum_v<T>) {
        return std::string(attn::word(value));
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else if constexpr (std::is_floating_point_v<T>) {
        return attn::json_number(value);
    } else {
        return value;
    }
}

template <class T>
std::string json_of(const T& value) {
    const std::string text = text_of(value);
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (is_optional<T>) {
        return value ? json_of(*value) : attn::json_string("none");
    } else {
        return std::is_arithmetic_v<T> ? text : attn::json_string(text.empty() ? "none" : text);
    }
}

template <class T>
Takes taken() {
    if constexpr (is_optional<T>) {
        return taken<typename T::value_type>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return {};
    } else if constexpr (std::is_enum_v<T>) {
        return one_of<T>();
    } else if constexpr (std::is_integral_v<T>) {
        return integer(1);
    } else if constexpr (std::is_floating_point_v<T>) {
        return number();
    } else {
        return {};
    }
}

/// `[0,1,2]`
inline std::string json_of(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return "[" + text + "]";
}

/// The text of a flag; nothing where it is left out.
using MaybeText = std::optional<std::string>;

/// Words with commas between; nothing without any.
inline MaybeText said_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
    return words.empty() ? MaybeText() : text;
}

/// A member of the configuration, or a member of a member.
template <auto... path>
auto& member_of(auto& config) {
    return (config.*....*path);
}

/// The row of a setting that is one member, or a member of a member: type, values, default and
/// JSON follow from it. `usual` is the default of a member that the plan fills in.
template <auto... member>
Flag setting(const std::string& name, const std::string& value, const std::string& help,
             const std::string& usual = {}) {
    using T =
        std::remove_cvref_t<decltype(member_of<member...>(std::declval<attn::WalkConfig&>()))>;
    Flag flag{name, value, help};
    flag.takes = taken<T>();
    const attn::WalkConfig initial;
    flag.usual = usual.empty() ? text_of(member_of<member...>(initial)) : usual;
    flag.set = [](attn::WalkConfig& config, const Flag& row, const std::string& text) {
        member_of<member...>(config) = parse_as<T>(row.name, text);
    };
    flag.key = name.substr(2);
    std::replace(flag.key.begin(), flag.key.end(), '-', '_');
    flag.json = [](const attn::Plan& plan) { return json_of(member_of<member...>(plan.config)); };
    flag.said = [](const attn::WalkConfig& config) -> MaybeText {
        const attn::WalkConfig unset;
        const T& now = member_of<member...>(config);
        if (now == member_of<member...>(unset)) return std::nullopt;
        return text_of(now);
    };
    return flag;
}

/// The settings of a walk that have a file of their own.
std::vector<Flag> input_rows();
std::vector<Flag> position_rows();
std::vector<Flag> trained_rows();
std::vector<Flag> cache_rows();
std::vector<Flag> number_rows();
std::vector<Flag> variant_rows();
std::vector<Flag> attention_rows();

/// Whether two walks start from other numbers. Of large walks it is taken for granted.
bool start_apart(const attn::Plan& a, const attn::Plan& b);

/// Whether a walk starts from other numbers than with the default of a setting; that itself is not
/// asked.
template <auto member>
bool changes_draws(const attn::Plan& plan) {
    attn::Plan usual = plan;
    usual.config.*member = attn::WalkConfig().*member;
    return usual.config.*member == plan.config.*member || start_apart(plan, usual);
}

}  // namespace app
