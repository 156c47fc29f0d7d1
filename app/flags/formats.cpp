#include "app/flags/formats.hpp"

#include <algorithm>
#include <array>

#include "attn/codegen/code.hpp"
#include "attn/codegen/ipynb.hpp"
#include "attn/io/long_table.hpp"
#include "attn/io/npz.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

using attn::Document;
using attn::OutputFile;
using attn::Sink;
using attn::TextForm;

/// Calls `render` with the document, where the lines of sections that are not printed stand above
/// the next one that is. A document without lines is not copied: it may be large.
template <class Render>
void with_gathered_code(const Document& document, Render&& render) {
    const bool has_code =
        std::any_of(document.sections.begin(), document.sections.end(),
                    [](const attn::Section& section) { return !section.code.empty(); });
    if (!has_code) {
        render(document);
        return;
    }
    Document gathered = document;
    attn::gather_code(gathered);
    render(gathered);
}

template <TextForm form>
void render_form(const Document& document, const TextChoices& choices, const Sink& sink) {
    with_gathered_code(document, [&](const Document& gathered) {
        attn::render_text(gathered, form, choices.options, choices.words, sink);
    });
}

void render_json(const Document& document, const TextChoices&, const Sink& sink) {
    attn::render_json(document, sink);
}

void render_ipynb(const Document& document, const TextChoices& choices, const Sink& sink) {
    attn::render_ipynb(document, choices.program_form, choices.options, sink);
}

void render_markdown(const Document& document, const TextChoices& choices, const Sink& sink) {
    with_gathered_code(document, [&](const Document& gathered) {
        attn::render_markdown(gathered, choices.form, choices.options, choices.words, sink);
    });
}

enum class Which { shown, all };

std::vector<attn::TensorRef> tensors_of(const Document& document, Which which) {
    std::vector<attn::TensorRef> tensors;
    for (const attn::Section& section : document.sections) {
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        if (tensor == nullptr || (which == Which::shown && !section.shown)) continue;
        tensors.push_back({section.name, *tensor});
    }
    return tensors;
}

// A table with the parameters' axes too would be a table mostly of empty columns.
void render_csv(const Document& document, const TextChoices&, const Sink& sink) {
    attn::write_long_table(sink, tensors_of(document, Which::shown));
}

void write_npz(const Document& document, OutputFile& file) {
    attn::write_npz(file, tensors_of(document, Which::all));
}

void write_safetensors(const Document& document, OutputFile& file) {
    attn::write_safetensors(file, tensors_of(document, Which::all));
}

constexpr std::array<Format, 9> formats{{
    {"torch", render_form<TextForm::torch>, nullptr},
    {"numpy", render_form<TextForm::numpy>, nullptr},
    {"plain", render_form<TextForm::plain>, nullptr},
    {"markdown", render_markdown, nullptr},
    {"json", render_json, nullptr},
    {"ipynb", render_ipynb, nullptr},
    {"csv", render_csv, nullptr},
    {"npz", nullptr, write_npz},
    {"safetensors", nullptr, write_safetensors},
}};

}  // namespace

std::vector<std::string> format_list() {
    std::vector<std::string> names;
    for (const Format& format : formats) names.emplace_back(format.name);
    return names;
}

std::string format_names() {
    std::string names;
    for (const Format& format : formats) {
        if (!names.empty()) names += &format == &formats.back() ? " or " : ", ";
        names += format.name;
    }
    return names;
}

const Format& find_format(std::string_view name) {
    for (const Format& format : formats) {
        if (format.name == name) return format;
    }
    throw attn::ConfigError("--format does not know '" + std::string(name) + "': use " +
                            format_names());
}

}  // namespace app
