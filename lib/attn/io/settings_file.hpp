#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// One entry of a file of settings, as text.
struct FileSetting {
    std::string key;
    std::vector<std::string> values;  ///< one, or those of a list
    std::size_t line = 0;             ///< where its key stands, from 1
    bool is_text = false;             ///< a string: `"none"`, not true
    /// Of an object that says where x or memory came from: that (`text`), or `other` where it does
    /// not say. The value is how it was drawn, if it was.
    std::string source{};
};

struct FileSettings {
    std::vector<FileSetting> all;
    bool is_record = false;  ///< of a walk: every setting in effect, defaults too
};

/// Reads an object of settings, or what this program prints with `--format json`, of which those
/// under `config` are read: first those under `said` in it, which tell more than the others.
///
/// Errors  InputError, starting with `label`: as parse_json, and JSON that is no object.
FileSettings read_settings(std::string_view text, const std::string& label);

}  // namespace attn
