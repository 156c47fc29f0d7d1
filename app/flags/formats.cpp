#include "app/flags/formats.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "app/flags/parse.hpp"
#include "app/terminal/messages.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

using attn::Document;
using attn::OutputFile;
using attn::Sink;
using attn::TextForm;

template <TextForm form>
void render_form(const Document& document, const TextChoices& choices, const Sink& sink) {
    attn::render_text(document, form, choices.options, choices.words, sink);
}

void render_json(const Document& document, const TextChoices&, const Sink& sink) {
    attn::render_json(document, sink);
}

void render_ipynb(const Document& document, const TextChoices& choices, const Sink& sink) {
    attn::render_ipynb(document, choices.program_form, choices.options, sink);
}

/// Renders a program: lines, each printed next to the expected output.
void render_program(const Document& document, const TextChoices& choices, const Sink& sink) {
    const attn::ContentForm form = [&](const attn::Section& section) {
        std::string text = "print(" + attn::printed_expression(section) + ")";
        if (choices.words == attn::Words::none) return text;
        const std::string printed =
            attn::content_text(section, choices.program_form, choices.options);
        text += "\n# ";
        for (std::size_t i = 0; i < printed.size(); ++i) {
            const bool is_blank = printed.compare(i + 1, 1, "\n") == 0;
            text += printed[i];
            if (printed[i] == '\n') text += is_blank ? "#" : "# ";
        }
        return text;
    };
    if (!document.command.empty()) sink("# " + attn::visible(document.command) + "\n\n");
    attn::render_text(document, form, choices.options, choices.words, sink);
}

void render_markdown(const Document& document, const TextChoices& choices, const Sink& sink) {
    attn::render_markdown(document, choices.form, choices.options, choices.words, sink);
}

void render_figures(const Document& document, const TextChoices& choices, const Sink& sink) {
    attn::render_svg(document, choices.figure, sink);
}

void render_page(const Document& document, const TextChoices& choices, const Sink& sink) {
    attn::FigureChoices figure = choices.figure;
    // For comparison with NumPy, print as many digits as NumPy does.
    if (choices.form == attn::TextForm::numpy && !figure.options.precision) {
        figure.options.precision = 8;
    }
    attn::render_html(document, figure, sink);
}

enum class Which { shown, all };

std::vector<attn::TensorRef> tensors_of(const Document& document, Which which) {
    std::vector<attn::TensorRef> tensors;
    for (const attn::Section& section : document.sections) {
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        if (tensor == nullptr || (which == Which::shown && !section.shown)) continue;
        tensors.push_back({section.name, *tensor});
        if (section.bound) tensors.push_back({section.name + "_bound", *section.bound});
    }
    return tensors;
}

/// Returns the words for an axis of a section, whose indices may be those of a part.
attn::AxisWords words_on(const Document& document, const attn::Section& section, std::size_t axis) {
    const auto& tensor = std::get<attn::Tensor>(section.content);
    attn::AxisWords result{section.counted_by(tensor.axes()[axis])};
    const auto* sequences = document.tokens_on(section, tensor.axes()[axis]);
    const auto features = section.features.find(tensor.axes()[axis]);
    if (features != section.features.end()) {
        sequences = &features->second;
        result.by = "head", result.kind = "name";
    }
    if (sequences == nullptr) return result;
    const auto by =
        tensor.has_axis(result.by) ? std::optional(tensor.axis(result.by)) : std::nullopt;
    const std::size_t only =
        result.by == "head" ? 0 : document.picked_sequence(section).value_or(0);
    for (std::size_t list = 0; list < (by ? tensor.shape()[*by] : 1); ++list) {
        const std::size_t whole = by ? section.whole_index(*by, list) : only;
        const auto& words = (*sequences)[std::min(whole, sequences->size() - 1)];
        std::vector<std::string>& row = result.words.emplace_back();
        for (std::size_t i = 0; i < tensor.shape()[axis]; ++i) {
            const std::size_t place = section.whole_index(axis, i);
            row.push_back(place < words.size() ? attn::visible(words[place]) : std::string());
        }
    }
    return result;
}

// Parameters are left out because their axes would add mostly empty columns. For the same reason
// tokens share the column of the queries or keys computed from them. Words come after the values.
void render_csv(const Document& document, const TextChoices&, const Sink& sink) {
    Document table;
    std::map<std::string, std::vector<attn::AxisWords>> words;
    for (const attn::Section& section : document.sections) {
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        if (tensor == nullptr || !section.shown) continue;
        attn::Axes axes = tensor->axes();
        for (std::string& axis : axes) axis = section.counted_by(axis);
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            words[section.name].push_back(words_on(document, section, axis));
        }
        words[section.name + "_bound"] = words[section.name];
        table.sections.push_back(section);
        table.sections.back().content = tensor->renamed(std::move(axes));
    }
    std::vector<attn::TensorRef> tensors = tensors_of(table, Which::shown);
    for (attn::TensorRef& each : tensors) each.words = words[each.name];
    attn::write_long_table(sink, tensors);
}

void write_npz(const Document& document, OutputFile& file) {
    attn::write_npz(file, tensors_of(document, Which::all));
}

void write_safetensors(const Document& document, OutputFile& file) {
    attn::write_safetensors(file, tensors_of(document, Which::all));
}

void write_npy(const Document& document, OutputFile& file) {
    const std::vector<attn::TensorRef> tensors = tensors_of(document, Which::shown);
    if (tensors.size() != 1) {
        throw attn::ConfigError("npy stores one tensor and these are " +
                                std::to_string(tensors.size()) +
                                ": name one with --only, or use npz");
    }
    attn::write_npy(file, tensors.front().tensor);
}

void write_workbook(const Document& document, OutputFile& file) {
    const std::string values = attn::render_workbook(document, file);
    if (!values.empty()) report_note(values);
}

constexpr TextForm torch = TextForm::torch;
constexpr TextForm numpy = TextForm::numpy;
constexpr TextForm plain = TextForm::plain;

Format printed(std::string_view name, const TextForm& form,
               void (*render)(const Document&, const TextChoices&, const Sink&)) {
    Format format{name, {}, render};
    format.printed = &form;
    format.prints_numbers = format.has_words = true;
    format.has_code = form != plain;
    return format;
}

}  // namespace

const std::vector<Format>& formats() {
    static const std::vector<Format> all{
        printed("torch", torch, render_form<torch>),
        printed("numpy", numpy, render_form<numpy>),
        printed("plain", plain, render_form<plain>),
        {.name = "markdown",
         .suffixes = {".md", ".markdown"},
         .render = render_markdown,
         .prints_numbers = true,
         .has_words = true,
         .has_code = true},
        {.name = "json",
         .suffixes = {".json"},
         .render = render_json,
         .has_code = true,
         .keeps_lines = true,
         .has_everything = true,
         .has_rules = true},
        {.name = "ipynb",
         .suffixes = {".ipynb"},
         .render = render_ipynb,
         .prints_numbers = true,
         .has_code = true,
         .runs = true},
        {.name = "python",
         .suffixes = {".py"},
         .render = render_program,
         .prints_numbers = true,
         .has_words = true,
         .has_code = true,
         .runs = true,
         .is_program = true},
        {.name = "html",
         .suffixes = {".html", ".htm"},
         .render = render_page,
         .prints_numbers = true,
         .has_code = true,
         .has_everything = true,
         .has_rules = true,
         .has_colors = true,
         .answers = true},
        {.name = "svg",
         .suffixes = {".svg"},
         .render = render_figures,
         .prints_numbers = true,
         .has_words = true,
         .has_colors = true,
         .has_figures = true},
        {.name = "xlsx",
         .suffixes = {".xlsx"},
         .write = write_workbook,
         .has_everything = true,
         .has_rules = true},
        {.name = "csv", .suffixes = {".csv"}, .render = render_csv},
        {.name = "npy", .suffixes = {".npy"}, .write = write_npy},
        {.name = "npz", .suffixes = {".npz"}, .write = write_npz, .has_everything = true},
        {.name = "safetensors",
         .suffixes = {".safetensors"},
         .write = write_safetensors,
         .has_everything = true},
    };
    return all;
}

std::vector<std::string> format_names() { return collected<std::string>(formats(), &Format::name); }

const Format& find_format(std::string_view name) {
    for (const Format& format : formats()) {
        if (format.name == name) return format;
    }
    refuse_word("--format", std::string(name), format_names());
}

std::optional<Document> with_gathered_code(const Format& format, const Document& document) {
    const auto has_lines = [](const attn::Section& section) { return !section.code.empty(); };
    if (format.keeps_lines || std::ranges::none_of(document.sections, has_lines)) return {};
    Document gathered = document;
    attn::gather_code(gathered);
    return gathered;
}

std::string ending_of(std::string_view path) {
    const std::string_view name = path.substr(path.find_last_of('/') + 1);
    const std::size_t dot = name.find_last_of('.');
    if (dot == name.npos || dot == 0) return {};
    std::string ending(name.substr(dot));
    const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
    if (ending.size() < 2 || !is_letter(static_cast<unsigned char>(ending[1]))) return {};
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return ending;
}

const Format* format_of_file(std::string_view path) {
    const std::string ending = ending_of(path);
    for (const Format& format : formats()) {
        if (std::ranges::find(format.suffixes, ending) != format.suffixes.end()) return &format;
    }
    return nullptr;
}

}  // namespace app
