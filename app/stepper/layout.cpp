#include "app/stepper/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/ground/text/strings.hpp"
#include "attn/show/render/cell_view.hpp"

namespace app {
namespace {

constexpr std::size_t most_message_lines = 4;

/// The heights of the parts.
struct Parts {
    std::size_t formula, note, why, tensor;
};

Parts divide(std::size_t rows) {
    Parts parts{};
    parts.formula = rows >= 8 ? 1 : 0;
    parts.note = rows >= 36 ? 3 : rows >= 20 ? 2 : 0;
    parts.why = rows >= 40   ? 12
                : rows >= 30 ? 8
                : rows >= 20 ? 6
                : rows >= 12 ? 3
                : rows >= 9  ? 1
                             : 0;
    // The rest of the screen, without the title, the caption, the line above why and the last line.
    const std::size_t used = 3 + parts.formula + parts.note + parts.why + (parts.why > 0 ? 1 : 0);
    parts.tensor = rows > used ? rows - used : 1;
    return parts;
}

/// Breaks lines that are too long, keeping their indentation.
std::vector<std::string> broken(const std::string& text, std::size_t columns) {
    std::vector<std::string> result;
    for (const std::string& line : attn::lines_of(text)) {
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
    return fmt::format("{}", fmt::join(tensor->shape(), "x"));
}

std::size_t place_in(const std::vector<std::size_t>& listed, std::size_t step) {
    return static_cast<std::size_t>(std::ranges::find(listed, step) - listed.begin());
}

/// The steps on the left of a screen. Their shapes are listed if the tensor leaves room for
/// them.
class StepList {
public:
    StepList(const Session& session, std::size_t screen_columns) : session_(session) {
        if (screen_columns < least_columns) return;
        std::size_t name = 0;
        listed_ = session.listed_steps();
        for (const std::size_t i : listed_) {
            const attn::Section& section = session.sections()[i];
            name = std::max(name, section.name.size());
            if (screen_columns >= least_columns_for_shapes) {
                shape_ = std::max(shape_, shape_of_section(section).size() + 1);
            }
        }
        place_ = place_in(listed_, session.step());
        shape_ = std::min(shape_, widest / 2);
        columns_ = std::min({name + shape_ + 3, screen_columns / 3, widest});
    }

    std::size_t columns() const { return columns_; }

    /// Returns the steps around the current one; dots stand for more steps.
    std::vector<Line> lines(std::size_t rows) const {
        std::vector<Line> lines;
        std::size_t first = place_ > rows / 2 ? place_ - rows / 2 : 0;
        first = std::min(first, listed_.size() > rows ? listed_.size() - rows : 0);
        const std::size_t end = std::min(listed_.size(), first + rows);
        for (std::size_t i = first; i < end; ++i) {
            const bool more_above = i == first && first > 0;
            const bool more_below = i + 1 == end && end < listed_.size();
            lines.push_back(line(listed_[i], more_above || more_below));
        }
        lines.resize(rows);
        return lines;
    }

private:
    static constexpr std::size_t least_columns = 72;
    static constexpr std::size_t least_columns_for_shapes = 96;
    static constexpr std::size_t widest = 30;

    Line line(std::size_t step, bool more) const {
        const attn::Section& section = session_.sections()[step];
        const bool here = step == session_.step();
        std::string text = attn::fitted(section.name, columns_ - shape_ - 3, false);
        if (shape_ > 0) text += attn::fitted(" " + shape_of_section(section), shape_, false);
        const std::string mark = here ? ">" : more ? "…" : " ";
        return {{mark + (session_.changed_cells(step) > 0 ? "*" : " "), {.bold = here}},
                {text, {.bold = here, .reverse = here}},
                {" "}};
    }

    const Session& session_;
    std::vector<std::size_t> listed_;
    std::size_t place_ = 0;  ///< of the current step in the list
    std::size_t shape_ = 0;  ///< columns of the shapes
    std::size_t columns_ = 0;
};

std::string title_of(const Session& session) {
    const std::vector<std::size_t> listed = session.listed_steps();
    const attn::Section& section = session.section();
    return fmt::format(" {}  {}/{}  {}", section.name, place_in(listed, session.step()) + 1,
                       listed.size(), section.title.visible());
}

/// Derives the number; in a notebook, returns the remark on the step and its code.
std::vector<std::string> explanation(const Session& session, std::size_t rows,
                                     std::size_t free_rows, std::size_t columns) {
    std::string text;
    if (!session.scene().plan) {
        if (session.tensor() != nullptr && session.tensor()->size() > 0) {
            text = session.cell_line() + "\n";
        }
        if (!session.section().margin.empty()) text += session.section().margin.visible() + "\n";
        text += session.section().code;
    } else if (session.tensor() != nullptr && session.tensor()->size() > 0) {
        const std::size_t top = rows > 3 ? rows - 3 : 1;
        text = session.why(1, top);
        // A single omitted term takes no more lines than the line that stands for it.
        if (text.find("   the other one\n") != text.npos) text = session.why(1, top + 1);
    }
    std::vector<std::string> lines = broken(text, columns);
    rows = std::clamp(lines.size(), rows, rows + free_rows);
    if (lines.size() > rows && rows > 0) {
        lines.resize(rows);
        lines.back() =
            attn::fitted(lines.back(), columns > 9 ? columns - 9 : 0, false) + " w: more";
    }
    lines.resize(rows);
    return lines;
}

/// Returns the typed text, the message, or as many hints as fit.
std::vector<Line> bottom_lines(const ScreenState& state, std::size_t rows, std::size_t columns) {
    if (state.is_typing) return {{{state.prompt + state.typed, {.bold = true}}}};
    if (!state.message.empty()) {
        std::vector<std::string> message = broken(state.message, columns);
        const std::size_t most = std::min(rows, most_message_lines);
        if (message.size() > most) {
            message.resize(most);
            message.back() = attn::cut_to(message.back(), columns - 2) + " …";
        }
        std::vector<Line> lines;
        for (std::string& line : message) lines.push_back({{std::move(line), {.bold = true}}});
        return lines;
    }
    std::string hints;
    for (const char* hint : {"? help", "q quit", "n next", "p previous", "arrows cell",
                             "Enter dive", "Backspace back", "Tab head", "m most", ": command"}) {
        const std::string longer = hints + (hints.empty() ? "" : "  ") + hint;
        if (attn::display_width(longer) > columns) break;
        hints = longer;
    }
    return {{{hints, {.dim = true}}}};
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

/// Draws the step, its cell and the last lines.
Frame draw_step(const Session& session, const ScreenState& state, TensorPane& pane,
                std::size_t rows, std::size_t columns, bool shaded) {
    Frame frame;
    Parts parts = divide(rows);
    const attn::Section& section = session.section();
    const auto add = [&](std::string text, Look look = {}) {
        frame.lines.push_back({{std::move(text), look}});
    };

    // A long note takes the lines that the tensor leaves empty.
    const StepList list(session, columns);
    const std::size_t width = columns - list.columns();
    std::vector<std::string> note = attn::wrap(session.note_here(), columns - 2);
    std::vector<Line> tensor = pane.draw(session, parts.tensor, width, shaded);
    while (parts.note > 0 && note.size() > parts.note && tensor.size() > 1 &&
           tensor.back().empty()) {
        tensor.pop_back();
        --parts.tensor;
        ++parts.note;
    }

    // A derivation takes these lines, too, if the list of steps does not need them.
    std::size_t free_rows = 0;
    while (free_rows + 1 < tensor.size() && tensor[tensor.size() - 1 - free_rows].empty() &&
           tensor.size() - free_rows >= session.listed_steps().size()) {
        ++free_rows;
    }
    std::vector<std::string> why;
    if (parts.why > 0) why = explanation(session, parts.why, free_rows, columns);
    tensor.resize(tensor.size() - (why.size() - parts.why));
    parts.tensor -= why.size() - parts.why;

    // Above: the step.
    add(attn::fitted(title_of(session), columns, false), {.bold = true, .reverse = true});
    if (parts.formula > 0) add(attn::cut_to(" " + section.formula, columns));
    const bool cut = note.size() > parts.note;
    note.resize(parts.note);
    if (cut && parts.note > 0) note.back() = attn::cut_to(note.back() + " …", columns - 2);
    for (const std::string& line : note) add(" " + line, {.dim = true});

    // In the middle: the steps, and the tensor.
    const std::size_t middle = parts.tensor + 1;
    tensor.insert(tensor.begin(),
                  {{attn::cut_to(pane.caption(session), width), {.underline = true}}});
    const std::vector<Line> lines = list.lines(middle);
    for (std::size_t i = 0; i < middle; ++i) {
        Line line = fitted_line(lines[i], list.columns());
        line.insert(line.end(), tensor[i].begin(), tensor[i].end());
        frame.lines.push_back(std::move(line));
    }

    // Below: the derivation of the number.
    if (parts.why > 0) {
        std::string rule;
        for (std::size_t i = 0; i < columns; ++i) rule += "─";
        add(rule, {.dim = true});
        for (std::string& line : why) add(std::move(line));
    }
    std::vector<Line> bottom = bottom_lines(state, rows, columns);
    frame.lines.resize(rows - bottom.size());
    for (Line& line : bottom) frame.lines.push_back(std::move(line));
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
    Frame frame = state.page.empty() ? draw_step(session, state, pane, rows, columns, shaded)
                                     : draw_page(state, rows, columns);
    // Tokens, names and typed text may contain control characters.
    for (Line& line : frame.lines) {
        for (Span& span : line) span.text = attn::visible_labels(span.text);
    }
    if (state.is_typing) {
        frame.typing_column =
            std::min(attn::display_width(state.prompt + state.typed), columns - 1);
    }
    return frame;
}

}  // namespace app
