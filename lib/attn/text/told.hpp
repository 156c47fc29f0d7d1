#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// What texts write before the name of a setting. Nothing: whoever calls the library knows `heads`.
/// A program whose flags they are says so once, before anything else: `--`.
inline std::string_view setting_prefix;

/// A text that names settings, each behind a dollar: `"pass $head-dim 4"_told`. Words of users join
/// it afterwards, and keep dollars of their own.
inline std::string operator""_told(const char* text, std::size_t size) {
    std::string told;
    for (const char letter : std::string_view(text, size)) {
        if (letter == '$') {
            told += setting_prefix;
        } else {
            told += letter;
        }
    }
    return told;
}

}  // namespace attn
