#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "attn/io/elements.hpp"

namespace attn {

/// Parses `text`.
/// Errors  InputError, starting with `label`, naming line and column: text that is no JSON, lists
///         or objects more than 64 deep, a key that occurs twice in one object.
nlohmann::json parse_json(std::string_view text, const std::string& label);

/// Reads tensors from JSON: nested lists of numbers (one array without a name), an object from
/// names to such lists, or what this program prints with `--format json` (every step by its name).
///
/// Range   lists of true and false become bool, of integers int64, all others float64; the strings
///         "nan", "inf" and "-inf" are numbers. This program's own steps say their type and axes.
/// Errors  InputError, starting with `label`, naming the array: lists of unequal length, what is no
///         number, and as parse_json.
std::vector<NamedTensor> parse_json_tensors(std::string_view text, const std::string& label);

}  // namespace attn
