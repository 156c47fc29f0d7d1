#include <algorithm>

#include "attn/render/content_text.hpp"

namespace attn {
namespace {

/// Prose in which no character starts a format: tokens may hold anything.
std::string escaped(std::string_view prose) {
    constexpr std::string_view special = "\\`*_{}[]<>#|~&$";
    std::string text;
    for (const char letter : prose) {
        if (special.find(letter) != special.npos) text += '\\';
        text += letter == '\n' ? ' ' : letter;
    }
    return text;
}

/// A row of backticks longer than any in `content`, and at least `least` of them.
std::string fence(std::string_view content, std::size_t least) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char letter : content) {
        run = letter == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return std::string(std::max(least, longest + 1), '`');
}

std::string code_span(const std::string& code) {
    const std::string ticks = fence(code, 1);
    return ticks.size() == 1 ? ticks + code + ticks : ticks + " " + code + " " + ticks;
}

void write_fenced(const std::string& content, std::string_view language, const Sink& sink) {
    const std::string ticks = fence(content, 3);
    sink("\n" + ticks + std::string(language) + "\n" + content + "\n" + ticks + "\n");
}

}  // namespace

void render_markdown(const Document& document, TextForm form, const PrintOptions& options,
                     Words words, const Sink& sink) {
    sink("# Attention, step by step\n");
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        sink("\n## `" + section.name + "`: " + escaped(section.title) + "\n");
        if (words == Words::all) {
            if (!section.formula.empty()) sink("\n" + code_span(section.formula) + "\n");
            if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
                sink("\n" + escaped(tensor->described()) + (tensor->dimension() > 0 ? ", " : "") +
                     std::string(dtype_name(tensor->dtype())) + "\n");
            }
            if (!section.note.empty()) sink("\n" + escaped(section.note) + "\n");
            if (!section.margin.empty()) sink("\n> " + escaped(section.margin) + "\n");
        }
        if (!section.code.empty()) write_fenced(section.code, "python", sink);
        write_fenced(content_text(section, form, options), "text", sink);
    }
}

}  // namespace attn
