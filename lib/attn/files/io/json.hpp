#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "attn/files/io/elements.hpp"

namespace attn {

/// Parses `text`. Python's NaN, Infinity and -Infinity are read as "nan", "inf" and "-inf".
/// Errors  InputError, starting with `label`, naming line and column: text that is no JSON, lists
///         or objects more than 64 deep, a key that occurs twice in one object.
nlohmann::json parse_json(std::string_view text, const std::string& label);

/// The sizes in a list of natural numbers; nothing for any other value.
std::optional<Shape> sizes_in(const nlohmann::json& value);

/// The names of the steps in what this program prints with `--format json`.
/// Errors  InputError, starting with `label`: as parse_json, and JSON of anybody else.
std::vector<std::string> walk_step_names(std::string_view text, const std::string& label);

/// The arrays of a JSON object from names to nested lists of numbers, or of what this program
/// prints with `--format json` (every step by its name). A list of objects is a table:
/// `heads.entropy` is the column of that key.
///
/// Range   lists of true and false become bool, of integers int64, all others float64; null and
///         the strings "nan", "inf" and "-inf" are numbers. This program's own steps say their
///         type and axes.
/// Errors  InputError, starting with `label`, naming the array: lists of unequal length, what is no
///         number, and as parse_json. NotATensor for text and objects.
std::vector<StoredArray> json_arrays(std::string_view text, const std::string& label);

}  // namespace attn
