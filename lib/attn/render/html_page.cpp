#include "attn/render/html_page.hpp"
#include "attn/render/render.hpp"
#include "attn/text/told.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "attn/render/page/page_files.hpp"
#include "attn/render/svg.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

template <class Numbers>
void write_numbers(TextPieces& out, const Numbers& numbers) {
    out << '[';
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        out << (i > 0 ? "," : "") << std::to_string(numbers[i]);
    }
    out << ']';
}

/// `["query",[0,4,1]]`, or `["embedding",{"cells":[12,13]}]` where the cells lie irregularly.
void write_source(TextPieces& out, const SourceCells& source) {
    out << '[' << json_string(source.step) << ',';
    if (!source.strides.empty()) {
        write_numbers(out, source.strides);
    } else {
        out << "{\"cells\":";
        write_numbers(out, source.numbers);
        out << '}';
    }
    out << ']';
}

void write_pattern(TextPieces& out, const DerivationPattern& pattern) {
    out << "{\"rule\":" << json_string(pattern.rule);
    if (!pattern.arithmetic.empty()) out << ",\"text\":" << json_string(pattern.arithmetic);
    if (pattern.is_sum) out << ",\"sum\":true";
    out << ",\"cells\":";
    write_numbers(out, pattern.cells);
    out << ",\"terms\":[";
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

/// The tokens along an axis, one list for each sequence, as they are shown.
void write_tokens(TextPieces& out, const std::vector<std::vector<std::string>>& sequences) {
    out << '[';
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        std::vector<std::string> shown;
        for (const std::string& token : sequences[i]) shown.push_back(visible(token));
        out << (i > 0 ? "," : "") << json_list(shown);
    }
    out << ']';
}

/// The ends of a colour scale. Two walks side by side share theirs: equal numbers look equal.
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
    out << ",\"low\":" << json_string(wider.low_end())
        << ",\"high\":" << json_string(wider.high_end())
        << ",\"limit\":" << json_number(wider.limit());
}

void write_view(TextPieces& out, const Document& document, const Section& section,
                const FigureChoices& choices) {
    static constexpr std::array<const char*, 3> forms{"whole", "fixed", "scientific"};
    const auto* tensor = std::get_if<Tensor>(&section.content);
    out << json_string(section.name) << ":{\"reads\":" << json_list(section.reads);
    if (!section.shown) out << ",\"folded\":true";
    if (!section.derived_by.empty()) {
        out << ",\"derived_by\":" << json_string(section.derived_by);
    }
    if (!section.opened_at.empty()) {
        out << ",\"opened_at\":";
        write_numbers(out, section.opened_at);
    }
    if (tensor != nullptr) {
        const CellView view(section, document, choices.options, Shown(tensor->shape()),
                            choices.end);
        out << ",\"form\":\"" << forms[static_cast<std::size_t>(view.form().kind)]
            << "\",\"precision\":" << std::to_string(view.form().precision);
        out << ",\"scale\":\"" << (view.kind() == ScaleKind::from_zero ? "s" : "d") << '"';
        if (view.has_colors()) write_scale(out, document, section, choices, view);
        std::vector<std::string> sides;
        for (const std::string& axis : tensor->axes()) sides.push_back(section.counted_by(axis));
        out << ",\"sides\":" << json_list(sides);
    }
    if (!section.notes.empty()) out << ",\"notes\":" << json_list(section.notes);
    if (!section.derivations.empty()) {
        out << ",\"derivations\":[";
        for (std::size_t i = 0; i < section.derivations.size(); ++i) {
            if (i > 0) out << ",\n";
            write_pattern(out, section.derivations[i]);
        }
        out << ']';
    }
    out << '}';
}

/// Data of the page beside the walk.
void write_views(TextPieces& out, const Document& document, const FigureChoices& choices) {
    out << "{\"command\":" << json_string(document.command)
        << ",\"name\":" << json_string(document.name)
        << ",\"row_scale\":" << (choices.end == ScaleEnd::row ? "true" : "false")
        << ",\"levels\":" << std::to_string(scale_levels) << ",\"tokens\":{\"query\":";
    write_tokens(out, document.query_tokens);
    out << ",\"key\":";
    write_tokens(out, document.key_tokens);
    out << "},\n\"sections\":{";
    for (std::size_t i = 0; i < document.sections.size(); ++i) {
        if (i > 0) out << ",\n";
        write_view(out, document, document.sections[i], choices);
    }
    out << "}}";
}

/// Writes JSON into a script element: no `<` in it can end the element.
template <class Write>
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

void write_walk(TextPieces& out, const Document& document, const FigureChoices& choices,
                const std::string& prefix) {
    write_script(out, prefix + "walk", [&](const Sink& sink) { render_json(document, sink); });
    write_script(out, prefix + "views", [&](const Sink& sink) {
        TextPieces pieces(sink);
        write_views(pieces, document, choices);
        pieces.flush();
    });
}

/// Appends a line of a script or style without the blanks around signs; one with texts or regular
/// expressions in it as it is.
void append_tight(std::string& result, std::string_view line) {
    constexpr std::string_view signs = "=<>?:&|(){}[],;*";
    const bool is_code = line.find_first_of("\"'`/") == std::string_view::npos;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool beside_sign =
            line[i] == ' ' && i > 0 && i + 1 < line.size() &&
            (signs.find(line[i - 1]) != signs.npos || signs.find(line[i + 1]) != signs.npos);
        if (!is_code || !beside_sign) result += line[i];
    }
}

/// A script or style without indents, and without the comments that have lines of their own: they
/// are for whoever reads the sources.
std::string squeezed(std::string_view text, bool is_script) {
    std::string result;
    bool in_comment = false;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        in_comment |= line.starts_with("/*");
        if (!line.empty() && !in_comment && !line.starts_with("//")) {
            if (is_script) {
                append_tight(result, line);
            } else {
                result += line;
            }
            // A line that ends so goes on; one with a remark behind it does not end there.
            const bool ends = std::string_view("{(,[;").find(line.back()) == std::string_view::npos;
            if (ends || line.find("//") != std::string_view::npos) result += '\n';
        }
        if (line.ends_with("*/")) in_comment = false;
    }
    return result;
}

/// When the dark style sheet applies.
std::string_view dark_media(Theme theme) {
    if (theme == Theme::automatic) return "screen and (prefers-color-scheme: dark)";
    return theme == Theme::dark ? "screen" : "not all";
}

/// What a page has beside its walks.
struct Frame {
    std::string command;
    bool of_heads;  ///< of a model's heads, which have more style and script
};

void write_styles(TextPieces& out, const Frame& frame, Theme theme) {
    out << "<style>\n"
        << squeezed(page_css, false) << squeezed(frame.of_heads ? page_heads_css : "", false)
        << scale_style(Page::light, "background-color", "", "color")
        << "</style>\n<style id=\"dark\" media=\"" << dark_media(theme) << "\">\n"
        << squeezed(page_dark_css, false)
        << scale_style(Page::dark, "background-color", "", "color") << "</style>\n";
}

/// The page around what `write` writes into it; embedded, an element that makes itself a tree of
/// its own (see root.js), so that neither its style nor its names meet those of the page around it.
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
               "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
               "<link rel=\"icon\" href=\"data:,\">\n<title>"
            << xml_text(frame.command) << "</title>\n";
        write_styles(out, frame, choices.theme);
        out << "</head>\n<body>\n"
            << "<noscript><p>This page needs JavaScript, which stands in it; "
               "attn-explain $format markdown makes one that does not.</p></noscript>\n"_told;
    }
    write(out);
    out << (choices.embedded ? "</template></div>\n" : "") << "<script>\n(() => {\n"
        << squeezed(frame.of_heads ? page_heads_js : "", true) << squeezed(page_js, true)
        << "})();\n</script>\n"
        << (choices.embedded ? "" : "</body>\n</html>\n");
    out.flush();
}

}  // namespace

void render_html(const Document& document, const FigureChoices& choices, const Sink& sink) {
    write_page(sink, {document.command, false}, choices, [&](TextPieces& out) {
        write_walk(out, document, choices, "");
        if (document.other == nullptr) return;
        Document other = *document.other;
        other.other = std::shared_ptr<const Document>(std::shared_ptr<void>(), &document);
        write_walk(out, other, choices, "other-");
    });
}

void render_model_html(const ModelPage& model, const FigureChoices& choices, const Sink& sink) {
    write_page(sink, {model.command, true}, choices, [&](TextPieces& out) {
        write_script(
            out, "heads", [&](const Sink& script) { script(model.heads); }, model.command);
        for (std::size_t n = 0; n < model.layers.size(); ++n) {
            write_walk(out, model.layers[n], choices, "layer-" + std::to_string(n) + "-");
        }
    });
}

}  // namespace attn
