#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The number of terminal columns that UTF-8 text takes: 2 for wide East Asian characters and
/// emoji, 0 for combining and formatting ones. A byte that is no UTF-8 counts as one column.
std::size_t display_width(std::string_view text);

/// Breaks text at blanks into lines of at most `columns`; a longer word stands alone.
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// `text` cut after so many columns; what is cut is marked by an ellipsis.
std::string cut_to(std::string_view text, std::size_t columns);

/// `text` cut or filled up to a number of columns, with blanks on the left or on the right.
std::string fitted(std::string_view text, std::size_t columns, bool to_the_right);

}  // namespace attn
