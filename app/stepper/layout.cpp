#include "app/stepper/layout.hpp"

#include <algorithm>
#include <sstream>

#include "app/terminal/cell_view.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/width.hpp"

namespace app {
namespace {

/// The heights and widths of the parts.
struct Parts {
    std::size_t formula, note, why, list, tensor;
};

Parts divide(std::size_t rows, std::size_t columns) {
    Parts parts{};
    parts.formula = rows >= 8 ? 1 : 0;
    parts.note = rows >= 36 ? 3 : rows >= 20 ? 2 : 0;
    parts.why = rows >= 40   ? 12
                : rows >= 30 ? 8
                : rows >= 20 ? 6
                : rows >= 12 ? 3
                : rows >= 9  ? 1
                             : 0;
    parts.list = columns >= 72 ? std::min<std::size_t>(columns / 3, 30) : 0;
    // The rest: without the title, the caption, the line above why and the last line.
    const std::size_t used = 3 + parts.formula + parts.note + parts.why + (parts.why > 0 ? 1 : 0);
    parts.tensor = rows > used ? rows - used : 1;
    return parts;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// A line that is too long goes on below, indented as it was.
std::vector<std::string> broken(const std::string& text, std::size_t columns) {
    std::vector<std::string> result;
    for (const std::string& line : lines_of(text)) {
        if (attn::display_width(line) <= columns) {
            result.push_back(line);
            continue;
        }
        const std::size_t indent =
            std::min(line.find_first_not_of(' ') + 2, columns > 8 ? columns / 2 : 0);
        bool first = true;
        for (const std::string& part : attn::wrap(line, columns - indent)) {
            result.push_back(std::string(first && indent >= 2 ? indent - 2 : indent, ' ') + part);
            first = false;
        }
    }
    return result;
}

std::string shape_of_section(const attn::Section& section) {
    const auto* tensor = std::get_if<attn::Tensor>(&section.content);
    if (tensor == nullptr) return {};
    std::string text;
    for (const std::size_t length : tensor->shape()) {
        text += (text.empty() ? "" : "x") + std::to_string(length);
    }
    return text;
}

/// The steps around the one looked at.
std::vector<Line> step_list(const Session& session, std::size_t rows, std::size_t columns) {
    std::vector<std::size_t> listed;
    std::size_t place = 0;
    for (std::size_t i = 0; i < session.sections().size(); ++i) {
        if (!session.is_listed(i)) continue;
        if (i == session.step()) place = listed.size();
        listed.push_back(i);
    }
    const std::size_t half = rows / 2;
    std::size_t first = place > half ? place - half : 0;
    first = std::min(first, listed.size() > rows ? listed.size() - rows : 0);
    std::vector<Line> lines;
    for (std::size_t i = first; i < listed.size() && lines.size() < rows; ++i) {
        const attn::Section& section = session.sections()[listed[i]];
        const bool here = listed[i] == session.step();
        const std::string shape = shape_of_section(section);
        const std::size_t room = columns - 3;
        const std::size_t left = room > shape.size() + 1 ? room - shape.size() - 1 : 1;
        Line line{
            {std::string(here ? ">" : " ") + (session.changed_cells(listed[i]) > 0 ? "*" : " "),
             {.bold = here}},
            {attn::fitted(section.name, left, false) + " " + shape,
             {.bold = here, .reverse = here}},
            {" "}};
        lines.push_back(std::move(line));
    }
    lines.resize(rows);
    return lines;
}

std::string title_of(const Session& session) {
    std::size_t number = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < session.sections().size(); ++i) {
        if (!session.is_listed(i)) continue;
        ++count;
        if (i == session.step()) number = count;
    }
    const attn::Section& section = session.section();
    return " " + section.name + "  " + std::to_string(number) + "/" + std::to_string(count) + "  " +
           section.title;
}

/// Where the number comes from, or, on a notebook's page, what the page says of the step.
std::vector<std::string> explanation(const Session& session, std::size_t rows,
                                     std::size_t columns) {
    std::string text;
    if (!session.scene().plan) {
        if (session.tensor() != nullptr && session.tensor()->size() > 0) {
            text = session.cell_line() + "\n";
        }
        if (!session.section().margin.empty()) text += session.section().margin + "\n";
        text += session.section().code;
    } else if (session.tensor() != nullptr && session.tensor()->size() > 0) {
        text = session.why(1, rows > 3 ? rows - 3 : 1);
    }
    std::vector<std::string> lines = broken(text, columns);
    if (lines.size() > rows && rows > 0) {
        lines.resize(rows);
        lines.back() =
            attn::fitted(lines.back(), columns > 9 ? columns - 9 : 0, false) + " w: more";
    }
    lines.resize(rows);
    return lines;
}

Line last_line(const ScreenState& state, std::size_t columns) {
    if (state.is_typing) return {{state.prompt + state.typed, {.bold = true}}};
    if (!state.message.empty()) return {{attn::cut_to(state.message, columns), {.bold = true}}};
    // As many hints as there is room for.
    std::string hints;
    for (const char* hint : {"? help", "n next", "p previous", "arrows cell", "Enter dive",
                             "Backspace back", "Tab head", "m most", ": command", "q quit"}) {
        const std::string longer = hints + (hints.empty() ? "" : "  ") + hint;
        if (attn::display_width(longer) > columns) break;
        hints = longer;
    }
    return {{hints, {.dim = true}}};
}

Frame draw_page(const ScreenState& state, std::size_t rows, std::size_t columns) {
    Frame frame;
    const std::vector<std::string> lines = broken(state.page, columns);
    const std::size_t visible = rows - 1;
    for (std::size_t i = 0; i < visible; ++i) {
        const std::size_t line = state.page_line + i;
        frame.lines.push_back({{line < lines.size() ? lines[line] : std::string()}});
    }
    const std::size_t last = std::min(lines.size(), state.page_line + visible);
    const std::string place = lines.size() <= visible
                                  ? std::string("q or Enter returns")
                                  : "line " + std::to_string(last) + " of " +
                                        std::to_string(lines.size()) +
                                        "  arrows, PgUp, PgDn scroll  q returns";
    frame.lines.push_back({{place, {.reverse = true}}});
    return frame;
}

}  // namespace

std::size_t page_lines(const ScreenState& state, std::size_t columns) {
    return broken(state.page, columns).size();
}

Frame draw_screen(const Session& session, const ScreenState& state, TensorPane& pane,
                  std::size_t rows, std::size_t columns, bool shaded) {
    rows = std::max<std::size_t>(rows, 2);
    columns = std::max<std::size_t>(columns, 4);
    Frame frame;
    if (!state.page.empty()) {
        frame = draw_page(state, rows, columns);
    } else {
        const Parts parts = divide(rows, columns);
        const attn::Section& section = session.section();
        const auto add = [&](std::string text, Look look = {}) {
            frame.lines.push_back({{std::move(text), look}});
        };

        // Above: what this step is.
        add(attn::fitted(title_of(session), columns, false), {.bold = true, .reverse = true});
        if (parts.formula > 0) add(attn::cut_to(" " + section.formula, columns));
        std::vector<std::string> note = attn::wrap(section.note, columns - 2);
        const bool cut = note.size() > parts.note;
        note.resize(parts.note);
        if (cut && parts.note > 0) note.back() = attn::cut_to(note.back() + " …", columns - 2);
        for (const std::string& line : note) add(" " + line, {.dim = true});

        // In the middle: the steps, and the tensor.
        const std::size_t middle = parts.tensor + 1;
        const std::size_t width = columns - parts.list;
        std::vector<Line> list(middle);
        if (parts.list > 0) list = step_list(session, middle, parts.list);
        std::vector<Line> tensor{
            {{attn::cut_to(page_caption(session), width), {.underline = true}}}};
        for (Line& line : pane.draw(session, parts.tensor, width, shaded)) {
            tensor.push_back(std::move(line));
        }
        for (std::size_t i = 0; i < middle; ++i) {
            Line line;
            if (parts.list > 0) line = fitted_line(list[i], parts.list);
            line.insert(line.end(), tensor[i].begin(), tensor[i].end());
            frame.lines.push_back(std::move(line));
        }

        // Below: where the number comes from.
        if (parts.why > 0) {
            std::string rule;
            for (std::size_t i = 0; i < columns; ++i) rule += "─";
            add(rule, {.dim = true});
            for (std::string& line : explanation(session, parts.why, columns)) add(std::move(line));
        }
        frame.lines.resize(rows - 1);
        frame.lines.push_back(last_line(state, columns));
    }
    if (state.is_typing) {
        frame.lines.back() = last_line(state, columns);
        frame.typing_column =
            std::min(attn::display_width(state.prompt + state.typed), columns - 1);
    }
    return frame;
}

}  // namespace app
