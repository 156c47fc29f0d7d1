#include <algorithm>

#include "attn/render/document.hpp"

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

void write_fenced(TextPieces& text, const std::string& content, std::string_view language) {
    const std::string ticks = fence(content, 3);
    text << '\n' << ticks << language << '\n' << content << '\n' << ticks << '\n';
}

void write_fenced_tensor(TextPieces& text, const Section& section, TextForm form,
                         const PrintOptions& options) {
    // Numbers have no backticks, only the note behind them might.
    const std::string ticks = fence(section.suffix, 3);
    text << '\n' << ticks << "text\n";
    write_content(text, section, form, options);
    text << '\n' << ticks << '\n';
}

}  // namespace

void render_markdown(const Document& document, TextForm form, const PrintOptions& options,
                     Words words, const Sink& sink) {
    TextPieces text(sink);
    text << "# Attention, step by step\n";
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        const auto* tensor = std::get_if<Tensor>(&section.content);
        text << "\n## `" << section.name << "`: " << escaped(section.title) << '\n';
        if (words == Words::all) {
            if (!section.formula.empty()) text << '\n' << code_span(section.formula) << '\n';
            if (tensor != nullptr) {
                text << '\n' << escaped(tensor->described());
                text << (tensor->dimension() > 0 ? ", " : "") << dtype_name(tensor->dtype());
                text << '\n';
            }
            if (!section.note.empty()) text << '\n' << escaped(section.note) << '\n';
            if (!section.margin.empty()) text << "\n> " << escaped(section.margin) << '\n';
        }
        if (!section.code.empty()) write_fenced(text, section.code, "python");
        if (tensor != nullptr) {
            write_fenced_tensor(text, section, form, options);
        } else {
            write_fenced(text, std::get<std::string>(section.content), "text");
        }
        text.flush();
    }
    text.flush();
}

}  // namespace attn
