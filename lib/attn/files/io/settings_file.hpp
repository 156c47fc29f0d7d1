#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// One entry of a file of settings, as text.
struct FileSetting {
    std::string key;
    std::vector<std::string> values;  ///< one, or those of a list
    std::size_t line = 0;             ///< line of its key, from 1
    bool is_text = false;             ///< a string: `"none"`, not true
    bool is_object = false;           ///< it describes x or memory, and is not a setting
    bool is_null = false;             ///< null: no values
};

/// The description of a walk in a file.
struct FileSettings {
    std::vector<FileSetting> all{};
    /// Only in this program's output with `--format json`: the other settings of the walk. `all`
    /// then has the given ones, from `explicit_settings` in its `config` (named said before version
    /// 2).
    std::vector<FileSetting> derived_settings{};
};

/// Reads an object of settings, or this program's output.
///
/// Errors  InputError, starting with `label`: as parse_json, and JSON that is not an object.
FileSettings read_settings(std::string_view text, const std::string& label);

}  // namespace attn
