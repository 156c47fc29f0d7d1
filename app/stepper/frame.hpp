#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/terminal/color.hpp"
#include "attn/text/strings.hpp"

namespace app {

/// How a piece of a line looks.
struct Look {
    std::optional<attn::Color>
        background{};  ///< text on it is black or white, whichever reads best
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

/// The content of a screen, from the top.
struct Frame {
    std::vector<Line> lines;
    std::optional<std::size_t> typing_column{};  ///< where the terminal's cursor stands, last line
};

/// The line cut, or filled up with blanks, to exactly so many columns.
inline Line fitted_line(const Line& line, std::size_t columns) {
    Line result;
    std::size_t used = 0;
    for (const Span& span : line) {
        const std::size_t width = attn::display_width(span.text);
        if (used + width > columns) {
            result.push_back({attn::fitted(span.text, columns - used, false), span.look});
            return result;
        }
        result.push_back(span);
        used += width;
    }
    result.push_back({std::string(columns - used, ' ')});
    return result;
}

}  // namespace app
