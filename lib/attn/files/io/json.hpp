#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "attn/files/io/elements.hpp"

namespace attn {

/// Parses `text`. Python's NaN, Infinity and -Infinity are read as "nan", "inf" and "-inf".
/// Errors  InputError, starting with `label` and naming line and column: invalid JSON, lists or
///         objects nested more than 64 deep, a duplicate key in an object.
nlohmann::json parse_json(std::string_view text, const std::string& label);

/// Returns the sizes in a list of natural numbers; nullopt for any other value.
std::optional<Shape> sizes_in(const nlohmann::json& value);

/// Returns the names of the steps in this program's output with `--format json`.
/// Errors  InputError, starting with `label`: as parse_json, and JSON of other programs.
std::vector<std::string> walk_step_names(std::string_view text, const std::string& label);

/// Returns the arrays of a JSON object from names to nested lists of numbers, or of this program's
/// output with `--format json` (every step by its name). A list of objects is a table:
/// `heads.entropy` is the column of that key.
///
/// Range   lists of true and false become bool, of integers int64, all others float64; null and the
///         strings "nan", "inf" and "-inf" are numbers. In this program's output the types and axes
///         are given.
/// Errors  InputError, starting with `label` and naming the array: lists of unequal length, values
///         that are not numbers, and as parse_json. NotATensor for text and objects.
std::vector<StoredArray> json_arrays(std::string_view text, const std::string& label);

}  // namespace attn
