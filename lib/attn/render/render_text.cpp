#include "attn/render/content_text.hpp"
#include "attn/render/numpy_text.hpp"
#include "attn/render/plain_text.hpp"
#include "attn/render/torch_text.hpp"
#include "attn/text/width.hpp"

namespace attn {
namespace {

/// Writes words as comment lines, so that the output stays valid Python, awk or gnuplot input.
void write_comment(std::string_view words, std::size_t columns, const Sink& sink) {
    for (const std::string& line : wrap(words, columns - 2)) sink("# " + line + "\n");
}

void write_words(const Section& section, std::size_t columns, const Sink& sink) {
    write_comment(section.name + ": " + section.title, columns, sink);
    if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
        write_comment(section.formula, columns, sink);
        write_comment(tensor->described() + ", " + std::string(dtype_name(tensor->dtype())),
                      columns, sink);
    } else {
        write_comment(section.formula, columns, sink);
    }
    write_comment(section.note, columns, sink);
    if (!section.margin.empty()) write_comment("! " + section.margin, columns, sink);
}

void write_sections(const Document& document, const ContentForm& form, const PrintOptions& options,
                    Words words, bool apart, const Sink& sink) {
    const std::size_t columns = std::max<std::size_t>(options.linewidth.value_or(80), 24);
    bool first = true;
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        if (!first && apart) sink("\n");
        first = false;
        if (words == Words::all) write_words(section, columns, sink);
        if (!section.code.empty()) sink(section.code + "\n");
        sink(form(section));
        sink("\n");
    }
}

}  // namespace

std::string content_text(const Section& section, TextForm form, const PrintOptions& options) {
    if (const auto* text = std::get_if<std::string>(&section.content)) return *text;
    const Tensor& tensor = std::get<Tensor>(section.content);
    switch (form) {
        case TextForm::torch:
            return torch_text(tensor, options, section.suffix);
        case TextForm::numpy:
            return numpy_str(tensor, options);
        case TextForm::plain:
            break;
    }
    return plain_text(tensor, options);
}

void render_text(const Document& document, TextForm form, const PrintOptions& options, Words words,
                 const Sink& sink) {
    const bool apart = words == Words::all || form == TextForm::plain;
    write_sections(
        document, [&](const Section& section) { return content_text(section, form, options); },
        options, words, apart, sink);
}

void render_text(const Document& document, const ContentForm& form, const PrintOptions& options,
                 Words words, const Sink& sink) {
    write_sections(document, form, options, words, true, sink);
}

}  // namespace attn
