#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/terminal/color.hpp"

namespace app {

/// How a piece of a line looks.
struct Look {
    std::optional<Color> background{};  ///< the text takes black or white, whichever is read best
    bool bold = false;
    bool reverse = false;
    bool underline = false;
    bool dim = false;
};

struct Span {
    std::string text;
    Look look{};
};

/// One line of a screen: its pieces from the left.
using Line = std::vector<Span>;

/// What a screen shows, from the top.
struct Frame {
    std::vector<Line> lines;
    std::optional<std::size_t> typing_column{};  ///< where the terminal's cursor stands, last line
};

/// The columns that a line takes.
std::size_t line_width(const Line& line);

/// The line cut, or filled up with blanks, to exactly so many columns.
Line fitted_line(const Line& line, std::size_t columns);

/// The text of a line without its looks.
std::string line_text(const Line& line);

}  // namespace app
