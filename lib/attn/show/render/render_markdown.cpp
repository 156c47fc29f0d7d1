#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"

namespace attn {
namespace {

void write_fenced(TextPieces& text, const std::string& content, std::string_view language) {
    const std::string ticks = markdown_fence(content, 3);
    text << '\n' << ticks << language << '\n' << content << '\n' << ticks << '\n';
}

void write_fenced_tensor(TextPieces& text, const Section& section, TextForm form,
                         const PrintOptions& options) {
    // Numbers have no backticks, but the note after them may have some.
    const std::string ticks = markdown_fence(section.suffix, 3);
    text << '\n' << ticks << "text\n";
    write_content(text, section, form, options);
    text << '\n' << ticks << '\n';
}

}  // namespace

void render_markdown(const Document& document, TextForm form, const PrintOptions& options,
                     Words words, const Sink& sink) {
    TextPieces text(sink);
    text << "# Attention, step by step\n";
    if (words == Words::all && !document.command.empty()) {
        write_fenced(text, visible(document.command), "sh");
    }
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        const auto* tensor = std::get_if<Tensor>(&section.content);
        text << "\n## `" << section.name << "`: " << section.title.markdown() << '\n';
        if (words == Words::all) {
            if (!section.formula.empty())
                text << '\n' << markdown_code(visible(section.formula)) << '\n';
            if (tensor != nullptr) {
                text << '\n' << markdown_prose(tensor->described());
                text << (tensor->dimension() > 0 ? ", " : "") << dtype_name(tensor->dtype());
                text << '\n';
            }
            if (!section.note.empty()) text << '\n' << section.note.markdown() << '\n';
            if (!section.margin.empty()) text << "\n> " << section.margin.markdown() << '\n';
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
