#pragma once
#include <string>
#include <string_view>

namespace attn {

/// A script or a style sheet as a page carries it: without indents, without the comments that have
/// lines of their own, and without the blanks around signs. Those are for whoever reads the
/// sources.
///
/// Range   texts stay as they are, and so do lines with a slash, which may begin a regular
/// expression. A text does not go on over several lines.
std::string squeezed_script(std::string_view text);
std::string squeezed_style(std::string_view text);

}  // namespace attn
