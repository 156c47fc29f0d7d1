#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

/// Prose in which no character starts a format, a tag or a script, as tokens may hold anything.
std::string markdown_prose(std::string_view prose);

/// `code` between backticks, more of them than it holds in a row.
std::string markdown_code(const std::string& code);

/// A row of backticks longer than any in `content`, and at least `least` of them.
std::string markdown_fence(std::string_view content, std::size_t least);

}  // namespace attn
