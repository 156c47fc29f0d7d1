#pragma once
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/plan.hpp"

namespace app {

/// The row of a setting of walks, which knows its values and its default.
inline Flag setting(const std::string& name, const std::string& value, const std::string& help) {
    Flag flag{name, value, help};
    flag.setting = &attn::find_setting(name.substr(2));
    flag.takes = flag.setting->takes;
    flag.usual = flag.setting->usual;
    flag.key = flag.setting->key;
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

/// True if two walks start from other numbers. Of large walks it is taken for granted.
bool start_apart(const attn::Plan& a, const attn::Plan& b);

/// True if a walk starts from other numbers than with the default of a setting; the setting itself
/// is not read.
template <auto member>
bool changes_draws(const attn::Plan& plan) {
    attn::Plan usual = plan;
    usual.config.*member = attn::WalkConfig().*member;
    return usual.config.*member == plan.config.*member || start_apart(plan, usual);
}

}  // namespace app
