// The text of a document: pages by gumbo, notebooks by nlohmann-json, all others as they are.
#include <gumbo.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "app/commands/proofread.hpp"
#include "app/flags/formats.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

bool is_one_of(GumboTag tag, std::initializer_list<GumboTag> tags) {
    return std::ranges::find(tags, tag) != tags.end();
}

/// True if more elements of one kind are open than a page nests. Elements that need no end tag are
/// not counted.
///
/// Why  gumbo takes the square of the depth in time, and its functions call themselves.
bool nests_too_deeply(const std::string& page) {
    constexpr std::int64_t most = 5'000;
    std::map<GumboTag, std::int64_t> open;
    for (std::size_t at = 0; (at = page.find('<', at)) != page.npos;) {
        const bool is_end = page.compare(++at, 1, "/") == 0;
        if (is_end) ++at;
        const std::size_t end = std::min(page.find_first_of(" \t\r\n/>", at), page.size());
        const GumboTag tag = gumbo_tagn_enum(
            page.data() + at, static_cast<unsigned>(std::min(end - at, page.size())));
        const bool is_left_open = is_one_of(
            tag, {GUMBO_TAG_P, GUMBO_TAG_LI, GUMBO_TAG_TR, GUMBO_TAG_TD, GUMBO_TAG_TH, GUMBO_TAG_DT,
                  GUMBO_TAG_DD, GUMBO_TAG_BR, GUMBO_TAG_HR, GUMBO_TAG_IMG, GUMBO_TAG_INPUT,
                  GUMBO_TAG_LINK, GUMBO_TAG_META, GUMBO_TAG_COL, GUMBO_TAG_OPTION, GUMBO_TAG_WBR});
        const std::size_t close = page.find('>', at);
        const bool is_drawn = open[GUMBO_TAG_SVG] > 0 || open[GUMBO_TAG_MATH] > 0;
        const bool is_empty = is_drawn && close != page.npos && page[close - 1] == '/';
        std::int64_t& count = open[tag];
        if (is_empty) continue;
        count = is_left_open ? 0 : is_end ? std::max<std::int64_t>(count - 1, 0) : count + 1;
        if (count > most) return true;
    }
    return false;
}

/// Writes the text of a page: a line per block, the rows of a table between bars, `W_q` for a
/// subscript. Formulas in LaTeX, for MathJax or KaTeX, are text as they are, and so are formulas in
/// MathML.
class PageText {
public:
    std::string of(const std::string& page) {
        GumboOutput* const parsed =
            gumbo_parse_with_options(&kGumboDefaultOptions, page.data(), page.size());
        visit(*parsed->root);
        gumbo_destroy_output(&kGumboDefaultOptions, parsed);
        return std::move(text_);
    }

private:
    static std::string name_of(const GumboElement& element) {
        GumboStringPiece name = element.original_tag;
        gumbo_tag_from_original_text(&name);
        return attn::lower(std::string(name.data, name.length));
    }
    static bool is_called(const void* child, const char* name) {
        const auto& node = *static_cast<const GumboNode*>(child);
        return node.type == GUMBO_NODE_ELEMENT && name_of(node.v.element) == name;
    }
    static std::span<void* const> children_of(const GumboElement& element) {
        return {element.children.data, element.children.length};
    }
    /// Writes an element of MathML: a table as a list of lists, `W_Q` for a subscript.
    void visit_formula(const GumboElement& element, const std::string& name) {
        const auto children = children_of(element);
        // Its source in LaTeX, if it has one, is what the author wrote.
        for (const void* const child : children) {
            if (name != "semantics" || !is_called(child, "annotation")) continue;
            return visit_all(static_cast<const GumboNode*>(child)->v.element);
        }
        const bool is_list = name == "mtable" || name == "mtr";
        const bool has_table = std::ranges::any_of(
            children, [](const void* child) { return is_called(child, "mtable"); });
        std::size_t count = 0;
        if (is_list) text_ += '[';
        for (const void* const child : children) {
            if (static_cast<const GumboNode*>(child)->type != GUMBO_NODE_ELEMENT && is_list)
                continue;
            const std::size_t begin = text_.size();
            if (is_list && count > 0) text_ += ", ";
            if (name == "msub" && count == 1) text_ += '_';
            if (name == "msup" && count == 1) text_ += '^';
            visit(*static_cast<const GumboNode*>(child));
            const bool is_fence = has_table && is_called(child, "mo") &&
                                  text_.find_first_of("[]()|", begin) != std::string::npos;
            if (is_fence) text_.resize(begin);
            if (static_cast<const GumboNode*>(child)->type == GUMBO_NODE_ELEMENT) ++count;
        }
        if (is_list) text_ += ']';
    }
    void visit_all(const GumboElement& element) {
        for (const void* const child : children_of(element)) {
            visit(*static_cast<const GumboNode*>(child));
        }
    }
    void visit(const GumboNode& node) {
        if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE ||
            node.type == GUMBO_NODE_CDATA) {
            add(node.v.text.text);
            return;
        }
        if (node.type != GUMBO_NODE_ELEMENT && node.type != GUMBO_NODE_TEMPLATE) return;
        const GumboElement& element = node.v.element;
        const GumboTag tag = element.tag;
        const std::string name = name_of(element);
        static constexpr std::string_view formulas[] = {"semantics", "mtable", "mtr",
                                                        "mrow",      "msub",   "msup"};
        if (tag == GUMBO_TAG_MATH || std::ranges::find(formulas, name) != std::end(formulas)) {
            return visit_formula(element, name);
        }
        const GumboAttribute* const type = gumbo_get_attribute(&element.attributes, "type");
        const bool is_formula =
            type != nullptr && std::string_view(type->value).starts_with("math/tex");
        if (is_one_of(tag, {GUMBO_TAG_STYLE, GUMBO_TAG_NOSCRIPT, GUMBO_TAG_SVG, GUMBO_TAG_TITLE})) {
            return;
        }
        if (tag == GUMBO_TAG_SCRIPT && !is_formula) return;
        // KaTeX repeats each formula for screen readers.
        const GumboAttribute* const kind = gumbo_get_attribute(&element.attributes, "class");
        if (kind != nullptr && std::string_view(kind->value) == "katex-html") return;
        const bool is_kept = std::exchange(is_kept_, is_kept_ || tag == GUMBO_TAG_PRE);
        const bool is_row = tag == GUMBO_TAG_TR;
        const bool is_block =
            is_row || is_formula || tag == GUMBO_TAG_BR ||
            is_one_of(tag, {GUMBO_TAG_P, GUMBO_TAG_DIV, GUMBO_TAG_PRE, GUMBO_TAG_TABLE,
                            GUMBO_TAG_CAPTION, GUMBO_TAG_LI, GUMBO_TAG_UL, GUMBO_TAG_H1,
                            GUMBO_TAG_H2, GUMBO_TAG_H3, GUMBO_TAG_H4, GUMBO_TAG_H5, GUMBO_TAG_H6,
                            GUMBO_TAG_FIGCAPTION, GUMBO_TAG_FIGURE, GUMBO_TAG_SECTION});
        const bool is_field = is_one_of(tag, {GUMBO_TAG_TD, GUMBO_TAG_TH});
        if (is_block) end_line();
        if (is_row) text_ += "|";
        if (tag == GUMBO_TAG_SUB || tag == GUMBO_TAG_SUP) text_ += tag == GUMBO_TAG_SUB ? "_" : "^";
        visit_all(element);
        if (is_field) text_ += " |";
        if (is_block) end_line();
        is_kept_ = is_kept;
    }
    void end_line() {
        if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    }
    void add(const std::string& text) {
        for (const char c : text) {
            const bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
            const bool is_second = text_.empty() || text_.back() == '\n' || text_.back() == ' ';
            if (is_kept_ || !is_blank) {
                text_ += c;
            } else if (!is_second) {
                text_ += ' ';
            }
        }
    }

    std::string text_;
    bool is_kept_ = false;  ///< inside `pre`
};

/// Returns a text that a notebook keeps as one string or as lines.
std::string lines_of(const nlohmann::json& value) {
    if (value.is_string()) return value.get<std::string>();
    std::string text;
    if (!value.is_array()) return text;
    for (const auto& line : value) text += line.is_string() ? line.get<std::string>() : "";
    return text;
}

/// Returns the cells of a notebook, and their output.
std::string notebook_text(const std::string& bytes, const std::string& label) {
    const auto book = nlohmann::json::parse(bytes, nullptr, false);
    if (!book.is_object() || !book.contains("cells")) {
        throw attn::InputError(label + ": not a notebook: it has no cells");
    }
    std::string text;
    for (const auto& cell : book["cells"]) {
        if (!cell.is_object()) continue;
        text += lines_of(cell.value("source", nlohmann::json())) + "\n";
        for (const auto& output : cell.value("outputs", nlohmann::json::array())) {
            if (!output.is_object()) continue;
            const auto data = output.value("data", nlohmann::json());
            text += lines_of(output.value("text", nlohmann::json())) +
                    (data.is_object() ? lines_of(data.value("text/plain", nlohmann::json())) : "") +
                    "\n";
        }
    }
    return text;
}

}  // namespace

std::string document_text(const std::string& path) {
    attn::InputFile file(path);
    const std::string bytes(file.all()), ending = ending_of(path);
    const std::size_t nul = bytes.find('\0');
    if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF") || nul < 2) {
        throw attn::InputError(file.label() + ": is in UTF-16: save it as UTF-8");
    }
    if (nul != bytes.npos) {
        throw attn::InputError(file.label() + ": is not text, by the byte at offset " +
                               std::to_string(nul) + ": give .html, .ipynb, .md, .tex or .txt");
    }
    if (ending == ".ipynb") return notebook_text(bytes, file.label());
    if (ending != ".html" && ending != ".htm") return bytes;
    if (nests_too_deeply(bytes)) {
        throw attn::InputError(file.label() +
                               ": more than 5,000 elements are nested: give its text");
    }
    return PageText().of(bytes);
}

}  // namespace app
