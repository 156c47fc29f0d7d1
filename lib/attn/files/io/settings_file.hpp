#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// One entry of a file of settings, as text.
struct FileSetting {
    std::string key;
    std::vector<std::string> values;  ///< one, or those of a list
    std::size_t line = 0;             ///< where its key is, from 1
    bool is_text = false;             ///< a string: `"none"`, not true
    bool is_object = false;           ///< which tells of x or memory, and is no setting
    bool is_null = false;             ///< says nothing: no values
};

/// A walk as a file describes it.
struct FileSettings {
    std::vector<FileSetting> all{};
    /// Of what this program prints with `--format json`, where `all` is what was said, under `said`
    /// in its `config`: every setting of the walk that was made of it, which is beside it.
    std::vector<FileSetting> beside_said{};
};

/// Reads an object of settings, or of what this program prints.
///
/// Errors  InputError, starting with `label`: as parse_json, and JSON that is no object.
FileSettings read_settings(std::string_view text, const std::string& label);

}  // namespace attn
