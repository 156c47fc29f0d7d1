#include "attn/ground/text/collected.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <memory>
#include <optional>

#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

/// Writes `["query",[0,4,1]]`, or `["embedding",{"cells":[12,13]}]` if the cells are irregular.
void write_source(TextPieces& out, const SourceCells& source) {
    out << '[' << json_string(source.step) << ','
        << (source.strides.empty() ? "{\"cells\":" + json_numbers(source.numbers) + "}"
                                   : json_numbers(source.strides))
        << ']';
}

void write_pattern(TextPieces& out, const DerivationPattern& pattern) {
    out << "{\"rule\":" << json_string(pattern.rule);
    if (!pattern.arithmetic.empty()) out << ",\"text\":" << json_string(pattern.arithmetic);
    if (pattern.is_sum) out << ",\"sum\":true";
    out << ",\"cells\":" << json_numbers(pattern.cells) << ",\"terms\":[";
    for (std::size_t i = 0; i < pattern.terms.size(); ++i) {
        out << (i > 0 ? ",[" : "[") << std::to_string(pattern.terms[i].count);
        if (pattern.terms[i].is_exponential) out << ",\"exp\"";
        for (const SourceCells& factor : pattern.terms[i].factors) {
            out << ',';
            write_source(out, factor);
        }
        out << ']';
    }
    out << "]}";
}

/// Returns the patterns of a section. Mask cells depend only on their indices: those of one rule
/// become one pattern, whose arithmetic the page derives from the rule.
std::vector<DerivationPattern> patterns_of(const Section& section) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    if (tensor == nullptr || tensor->dtype() != DType::boolean) return section.derivations;
    std::vector<DerivationPattern> merged;
    for (const DerivationPattern& one : section.derivations) {
        if (merged.empty() || !one.terms.empty() || merged.back().rule != one.rule) {
            merged.push_back(one);
            continue;
        }
        std::vector<std::size_t>& runs = merged.back().cells;
        const bool follows = runs[runs.size() - 2] + runs.back() == one.cells.front();
        if (follows) runs.back() += one.cells[1];
        runs.insert(runs.end(), one.cells.begin() + (follows ? 2 : 0), one.cells.end());
        merged.back().arithmetic.clear();
    }
    return merged;
}

/// Formats the largest number of a tensor with the digits of its type, so that the page reads it
/// exactly.
std::string limit_text(double limit, const Section& section) {
    const auto* const tensor = std::get_if<Tensor>(&section.content);
    const bool is_short = tensor != nullptr && tensor->dtype() != DType::float64;
    const auto number = static_cast<float>(limit);
    return is_short && std::isfinite(limit) && number == limit ? scalar_text(number)
                                                               : json_number(limit);
}

/// Writes the ends of a colour scale. Two walks side by side share a scale, so that equal numbers
/// look equal.
void write_scale(TextPieces& out, const Document& document, const Section& section,
                 const FigureChoices& choices, const CellView& own) {
    std::optional<CellView> beside;
    const Document* const other = document.other.get();
    for (std::size_t i = 0; other != nullptr && i < other->sections.size(); ++i) {
        const Section& twin = other->sections[i];
        const auto* tensor = std::get_if<Tensor>(&twin.content);
        if (twin.name != section.name || tensor == nullptr) continue;
        beside.emplace(twin, *other, choices.options, Shown(tensor->shape()), choices.end);
    }
    const CellView& wider = beside && beside->limit() > own.limit() ? *beside : own;
    if (wider.kind() == ScaleKind::from_zero) out << ",\"low\":" << json_string(wider.low_end());
    out << ",\"high\":" << json_string(wider.high_end())
        << ",\"limit\":" << limit_text(wider.limit(), section);
}

void write_view(TextPieces& out, const Document& document, const Section& section,
                const FigureChoices& choices) {
    // Omit the most common values (walk.js).
    static constexpr std::array<const char*, 3> forms{",\"form\":\"whole\"", "",
                                                      ",\"form\":\"scientific\""};
    const auto* tensor = std::get_if<Tensor>(&section.content);
    out << json_string(section.name) << ":{\"reads\":" << json_list(section.reads);
    if (!section.shown) out << ",\"folded\":true";
    if (!section.derived_by.empty()) {
        out << ",\"derived_by\":" << json_string(section.derived_by);
    }
    if (!section.opened_at.empty()) {
        out << ",\"opened_at\":" << json_numbers(section.opened_at);
    }
    if (const auto& [absolute, relative] = section.tolerance; absolute + relative > 0) {
        // A page reads 1e999 as infinity.
        out << ",\"near\":[" << (std::isfinite(absolute) ? json_number(absolute) : "1e999") << ','
            << json_number(relative) << ']';
    }
    if (tensor != nullptr) {
        const CellView view(section, document, choices.options, Shown(tensor->shape()),
                            choices.end);
        out << forms[static_cast<std::size_t>(view.form().kind)];
        if (view.form().precision != 4) {
            out << ",\"precision\":" << std::to_string(view.form().precision);
        }
        if (view.kind() == ScaleKind::from_zero) out << ",\"scale\":\"s\"";
        if (view.has_colors()) write_scale(out, document, section, choices, view);
        const Axes sides =
            collected(tensor->axes(), [&](const auto& axis) { return section.counted_by(axis); });
        if (sides != tensor->axes()) out << ",\"sides\":" << json_list(sides);
    }
    if (!section.notes.empty()) {
        out << ",\"notes\":" << json_list(collected(section.notes, &Prose::raw));
    }
    if (!section.derivations.empty()) {
        const std::vector<DerivationPattern> patterns = patterns_of(section);
        out << ",\"derivations\":[";
        for (std::size_t i = 0; i < patterns.size(); ++i) {
            if (i > 0) out << ",\n";
            write_pattern(out, patterns[i]);
        }
        out << ']';
    }
    out << '}';
}

/// Writes the data of the page other than the walk.
void write_views(TextPieces& out, const Document& document, const FigureChoices& choices) {
    out << "{\"command\":" << json_string(document.command)
        << ",\"name\":" << json_string(document.name)
        << ",\"row_scale\":" << (choices.end == ScaleEnd::row ? "true" : "false")
        << ",\"levels\":" << std::to_string(scale_levels)
        << ",\"tokens\":" << json_tokens(document, visible) << ",\n\"sections\":{";
    for (std::size_t i = 0; i < document.sections.size(); ++i) {
        if (i > 0) out << ",\n";
        write_view(out, document, document.sections[i], choices);
    }
    out << "}}";
}

/// Writes JSON into a script element, without any `<` that could end the element.
template <std::invocable<const Sink&> Write>
void write_script(TextPieces& out, std::string_view id, Write&& write,
                  const std::string& command = "") {
    out << "<script type=\"application/json\" id=\"" << id << '"';
    if (!command.empty()) out << " data-command=\"" << xml_text(command) << '"';
    out << '>';
    const Sink safe = [&out](std::string_view piece) {
        for (std::size_t at = 0; at < piece.size();) {
            const std::size_t next = std::min(piece.find('<', at), piece.size());
            out << piece.substr(at, next - at) << (next < piece.size() ? "\\u003c" : "");
            at = next + 1;
        }
    };
    write(safe);
    out << "</script>\n";
}

void write_script(TextPieces& out, std::string_view id, std::string_view json,
                  const std::string& command = "") {
    write_script(
        out, id, [&](const Sink& sink) { sink(json); }, command);
}

void write_walk(TextPieces& out, const Document& document, const FigureChoices& choices,
                const std::string& prefix) {
    write_script(out, prefix + "walk", [&](const Sink& sink) { render_json(document, sink); });
    write_script(out, prefix + "views", [&](const Sink& sink) {
        TextPieces pieces(sink);
        write_views(pieces, document, choices);
        pieces.flush();
    });
}

/// Returns the media query of the dark style sheet.
std::string_view dark_media(Theme theme) {
    if (theme == Theme::automatic) return "screen and (prefers-color-scheme: dark)";
    return theme == Theme::dark ? "screen" : "not all";
}

/// For browsers without JavaScript: the weights as tables of a readable size.
std::string plain_weights(const Document& document, const FigureChoices& choices) {
    constexpr std::size_t most_cells = 1024;
    std::string text =
        "<noscript><p>Without JavaScript, use attn-explain $format markdown.</p>"_message;
    // A live page needs its script.
    if (!choices.live.empty()) return text + "</noscript>\n";
    for (const Section& section : document.sections) {
        const auto* tensor = std::get_if<Tensor>(&section.content);
        if (section.name != "weights" || tensor == nullptr || tensor->dimension() < 2) continue;
        if (tensor->size() == 0 || tensor->size() > most_cells) continue;
        const CellView view(section, document, choices.options, Shown(tensor->shape()),
                            choices.end);
        const std::size_t row_axis = tensor->dimension() - 2;
        const std::size_t columns = tensor->shape().back();
        for (const Panel& panel : panels_of(*tensor, view)) {
            text += "<table><caption>weights " + xml_text(panel.caption) + "</caption>";
            for (std::size_t row = 0; row < tensor->shape()[row_axis]; ++row) {
                text += "<tr><th>" + xml_text(view.label(row_axis, row, panel.batch));
                for (std::size_t column = 0; column < columns; ++column) {
                    const double weight = tensor->at(panel.offset + row * columns + column);
                    text += "<td>" + xml_text(view.number(weight));
                }
            }
            text += "</table>\n";
        }
    }
    return text + "</noscript>\n";
}

/// The parts of a page other than its walks.
struct Frame {
    std::string command;
    std::string plain_text;  ///< for browsers without JavaScript
    bool is_live = false;    ///< it has fields, and the core
    std::vector<std::string_view> styles{}, scripts{};

    /// Adds a style and a script that some pages need.
    void add(bool is_needed, std::string_view style, std::string_view script) {
        if (!is_needed) return;
        styles.push_back(style);
        scripts.push_back(script);
    }
};

/// True if a tensor has more matrices than two: they are small squares at first.
bool needs_thumbs(const Document& document) {
    return std::ranges::any_of(document.sections, [](const Section& section) {
        const auto* const tensor = std::get_if<Tensor>(&section.content);
        if (tensor == nullptr || tensor->dimension() < 3 || tensor->size() == 0) return false;
        const Shape shape = tensor->shape();
        return tensor->size() > 2 * shape.back() * shape[shape.size() - 2];
    });
}

/// True if the context does not read weights, or there is a state for each token: the first screen
/// finds out what it shows.
bool needs_roles(const Document& document) {
    const auto context = std::ranges::find(document.sections, "context", &Section::name);
    if (context == document.sections.end() || std::ranges::count(context->reads, "weights") == 0)
        return true;
    return std::ranges::any_of(document.sections, [](const Section& section) {
        const auto* const tensor = std::get_if<Tensor>(&section.content);
        if (tensor == nullptr || tensor->dimension() < 3) return false;
        return std::find(tensor->axes().begin(), tensor->axes().end() - 2, "token") !=
               tensor->axes().end() - 2;
    });
}

void write_styles(TextPieces& out, const Frame& frame, Theme theme) {
    out << "<style>\n" << squeezed_style(role_style(Page::light));
    for (const std::string_view style : frame.styles) out << squeezed_style(style);
    out << squeezed_style(scale_style(Page::light, "background", "", "color"))
        << "</style>\n<style id=\"dark\" media=\"" << dark_media(theme) << "\">\n"
        << squeezed_style(page_dark_css) << squeezed_style(role_style(Page::dark))
        << squeezed_style(scale_style(Page::dark, "background", "", "color")) << "</style>\n";
}

/// Writes the page around the output of `write`; an embedded page is an element with a shadow tree
/// (see root.js), so that its style and names do not clash with those of the page around it.
template <class Write>
void write_page(const Sink& sink, const Frame& frame, const FigureChoices& choices, Write&& write) {
    TextPieces out(sink);
    if (choices.embedded) {
        out << "<div data-attn-explain><template>\n";
        write_styles(out, frame, choices.theme);
    } else {
        out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "script-src 'unsafe-inline'"
            << (frame.is_live ? " 'wasm-unsafe-eval'" : "")
            << "; style-src 'unsafe-inline'; img-src data:"
            << (frame.is_live ? "; worker-src data:" : "")
            << "\">\n"
               "<link rel=\"icon\" href=\"data:,\">\n<title>"
            << xml_text(frame.command) << "</title>\n";
        write_styles(out, frame, choices.theme);
        out << "</head>\n<body>\n" << frame.plain_text;
    }
    write(out);
    out << (choices.embedded ? "</template></div>\n" : "") << "<script>\n(() => {\n";
    for (const std::string_view script : frame.scripts) out << squeezed_script(script);
    out << (frame.is_live ? "new Live(new App());" : "new App();") << "})();\n</script>\n"
        << (choices.embedded ? "" : "</body>\n</html>\n");
    out.flush();
}

}  // namespace

std::string as_letters(std::string_view bytes) {
    constexpr unsigned base = 91, bits_of_two = 13;
    std::string text;
    text.reserve(bytes.size() * 16 / bits_of_two + 2);
    const auto put = [&text](unsigned digit) {
        char letter = static_cast<char>('!' + digit);
        for (const char none : {'"', '&', '<'})
            letter = static_cast<char>(letter + (letter >= none));
        text += letter;
    };
    unsigned bit_count = 0, bits = 0;
    for (const char byte : bytes) {
        bit_count |= static_cast<unsigned>(static_cast<unsigned char>(byte)) << bits;
        bits += 8;
        if (bits < bits_of_two) continue;
        const unsigned two = bit_count % (1U << bits_of_two);
        put(two % base);
        put(two / base);
        bit_count >>= bits_of_two;
        bits -= bits_of_two;
    }
    if (bits > 0) put(bit_count % base);
    if (bits > 6) put(bit_count / base);
    return text;
}

void render_html(const Document& document, const FigureChoices& choices, const Sink& sink) {
    const bool is_live = !choices.live.empty();
    if (choices.grid) check_grid(document, *choices.grid);
    Frame frame{document.command, plain_weights(document, choices), is_live};
    frame.add(true, page_css, page_js);
    frame.add(document.other != nullptr, "", page_compare_js);
    frame.add(choices.options.certain_digits, page_bounds_css, page_bounds_js);
    frame.add(needs_roles(document), page_roles_css, page_roles_js);
    frame.add(!choices.next.empty(), "", page_next_js);
    frame.add(is_live || choices.grid || needs_thumbs(document), page_thumbs_css, page_thumbs_js);
    frame.add(!document.listing.empty(), page_listing_css, page_listing_js);
    frame.add(is_live, page_live_css, page_live_js);
    write_page(sink, frame, choices, [&](TextPieces& out) {
        write_walk(out, document, choices, "");
        if (!document.listing.empty()) write_script(out, "listing-lines", document.listing);
        if (choices.grid) {
            const auto& [rows, columns, picture] = *choices.grid;
            const std::string grid = "{\"rows\":" + std::to_string(rows) +
                                     ",\"columns\":" + std::to_string(columns) +
                                     ",\"picture\":" + json_string(picture) + "}";
            write_script(out, "grid", grid);
        }
        if (!choices.next.empty()) write_script(out, "next", choices.next);
        for (const auto& [id, json] : choices.live) write_script(out, id, json);
        if (document.other == nullptr) return;
        Document other = *document.other;
        other.other = std::shared_ptr<const Document>(std::shared_ptr<void>(), &document);
        write_walk(out, other, choices, "other-");
    });
}

void render_model_html(const ModelPage& model, const FigureChoices& choices, const Sink& sink) {
    Frame frame{model.command, plain_weights({}, choices)};
    frame.styles = {page_css, page_heads_css};
    frame.scripts = {page_heads_js, page_js};
    write_page(sink, frame, choices, [&](TextPieces& out) {
        write_script(out, "heads", model.heads, model.command);
        for (std::size_t n = 0; n < model.layers.size(); ++n) {
            write_walk(out, model.layers[n], choices, "layer-" + std::to_string(n) + "-");
        }
    });
}

}  // namespace attn
