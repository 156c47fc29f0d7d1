#include "app/stepper/frame.hpp"

#include "app/terminal/cell_view.hpp"
#include "attn/text/width.hpp"

namespace app {

std::size_t line_width(const Line& line) {
    std::size_t width = 0;
    for (const Span& span : line) width += attn::display_width(span.text);
    return width;
}

Line fitted_line(const Line& line, std::size_t columns) {
    Line result;
    std::size_t used = 0;
    for (const Span& span : line) {
        const std::size_t width = attn::display_width(span.text);
        if (used + width > columns) {
            result.push_back({fitted(span.text, columns - used, false), span.look});
            return result;
        }
        result.push_back(span);
        used += width;
    }
    result.push_back({std::string(columns - used, ' ')});
    return result;
}

std::string line_text(const Line& line) {
    std::string text;
    for (const Span& span : line) text += span.text;
    return text;
}

}  // namespace app
