#pragma once
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/plan.hpp"

namespace app {

/// Returns the row of a setting of walks, with the setting's values and default.
inline Flag setting(const std::string& name, const std::string& value, const std::string& help) {
    Flag flag{name, value, help};
    flag.setting = &attn::find_setting(name.substr(2));
    flag.takes = flag.setting->takes;
    flag.default_value = flag.setting->default_value;
    flag.key = flag.setting->key;
    return flag;
}

/// The settings of a walk that have a source file of their own.
std::vector<Flag> input_rows();
std::vector<Flag> position_rows();
std::vector<Flag> trained_rows();
std::vector<Flag> cache_rows();
std::vector<Flag> number_rows();
std::vector<Flag> variant_rows();
std::vector<Flag> attention_rows();

/// True if two walks start from different numbers. Large walks are assumed to.
bool start_differently(const attn::Plan& a, const attn::Plan& b);

/// True if the setting has its default, or changes the numbers that a walk starts from. The setting
/// is not read for anything else.
template <auto member>
bool changes_draws(const attn::Plan& plan) {
    attn::Plan default_value = plan;
    default_value.config.*member = attn::WalkConfig().*member;
    return default_value.config.*member == plan.config.*member ||
           start_differently(plan, default_value);
}

}  // namespace app
