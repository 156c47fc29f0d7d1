#include <algorithm>
#include <array>
#include <cmath>

#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/color_scale.hpp"
#include "attn/show/render/layout.hpp"
#include "attn/show/render/number_form.hpp"
#include "attn/show/render/numpy_text.hpp"
#include "attn/show/render/plain_text.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/torch_text.hpp"

namespace attn {
namespace {

/// Writes words as comment lines, so that the output stays valid Python, awk or gnuplot input.
class Comments {
public:
    Comments(std::size_t columns, const Ink& ink, TextPieces& text)
        : columns_(columns), ink_(ink), text_(text) {}

    void write(const Prose& words, std::string_view kind = {}) {
        for (const std::string& line : wrap(words.visible(), columns_ - 2)) {
            text_ << ink_.of(kind, "# " + line) << '\n';
        }
    }

    void write_words(const Section& section) {
        const std::array<std::string_view, 5> headings{ink_.heading, ink_.query, ink_.key,
                                                       ink_.value, ink_.weight};
        write(section.name + ": " + section.title,
              headings[static_cast<std::size_t>(role_of(section.name))]);
        write(section.formula, ink_.formula);
        if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
            write(tensor->described() + ", " + std::string(dtype_name(tensor->dtype())));
        }
        write(section.note);
        for (const Prose& remark : section.margin.lines()) write("! " + remark, ink_.mistake);
    }

private:
    std::size_t columns_;
    const Ink& ink_;
    TextPieces& text_;
};

/// Returns `rounding error: at most 4.8e-07, median 2.1e-07`.
std::string bound_text(const Tensor& bound) {
    // Round a bound up.
    const auto brief_above = [](double number) {
        if (!std::isfinite(number) || number <= 0) return brief(number);
        const double last = std::pow(10, std::floor(std::log10(number)) - 3);
        return brief(std::ceil(number / last * (1 - 1e-12)) * last);
    };
    std::vector<double> cells = bound.numbers();
    if (cells.empty()) return {};
    const auto half = cells.begin() + static_cast<std::ptrdiff_t>(cells.size() / 2);
    std::ranges::nth_element(cells, half);
    const double median = *half;
    const double largest = std::ranges::max(cells);
    if (largest == 0) return "rounding error: none, every number is exact";
    return "rounding error: at most " + brief_above(largest) + ", median " + brief_above(median);
}

/// `write_form` writes the content between the words. Each section is sent as soon as it ends.
template <class WriteForm>
void write_sections(const Document& document, const PrintOptions& options, Words words,
                    bool is_separated, const Sink& sink, WriteForm&& write_form) {
    const std::size_t columns = std::max<std::size_t>(options.linewidth.value_or(80), 24);
    TextPieces text(sink);
    Comments comments(columns, options.ink, text);
    bool first = true;
    if (words == Words::all && !document.opening.empty()) {
        for (const Prose& sentence : document.opening) comments.write(sentence);
        text << '\n';
    }
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        if (!first && is_separated) text << '\n';
        first = false;
        if (words == Words::all) comments.write_words(section);
        if (!section.code.empty()) text << section.code << '\n';
        write_form(text, section);
        text << '\n';
        if (section.bound) comments.write(bound_text(*section.bound));
        text.flush();
    }
    if (!document.verdict.empty()) {
        text << '\n';
        comments.write(document.verdict, document.is_wrong ? options.ink.mistake : "");
        text.flush();
    }
    if (document.next.empty()) return;
    text << '\n' << "# next: " << visible(document.next) << '\n';
    text.flush();
}

/// Returns the word of a row of a tensor: a token, or the name of a feature; empty without words.
std::string word_of_row(const Document& document, const Section& section, const Tensor& tensor,
                        std::size_t row) {
    std::size_t sequence = document.picked_sequence(section).value_or(0), head = 0, place = 0;
    const std::size_t rows = tensor.dimension() - 2;
    for (std::size_t axis = rows + 1; axis-- > 0;) {
        const std::string& name = tensor.axes()[axis];
        const std::size_t index = section.whole_index(axis, row % tensor.shape()[axis]);
        row /= tensor.shape()[axis];
        if (axis == rows) place = index;
        if (name == "batch") sequence = index;
        if (name == "head") head = index;
    }
    const auto* words = document.words_on(section, tensor.axes()[rows], sequence, head);
    return words == nullptr || place >= words->size() ? "" : visible((*words)[place]);
}

/// Writes the content of a section; `words` may be null.
void write_rows_of(TextPieces& text, const Section& section, TextForm form,
                   const PrintOptions& chosen, RowWords* words) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    PrintOptions options = chosen;
    if (options.certain_digits && section.bound) options.bound = &*section.bound;
    if (tensor == nullptr) {
        text << std::get<std::string>(section.content);
    } else if (form == TextForm::torch) {
        write_torch_text(text, *tensor, options, section.suffix, words);
    } else if (form == TextForm::numpy) {
        write_numpy_str(text, *tensor, options, words);
    } else {
        write_plain_text(text, *tensor, options);
    }
}

}  // namespace

void write_content(TextPieces& text, const Section& section, TextForm form,
                   const PrintOptions& options) {
    write_rows_of(text, section, form, options, nullptr);
}

std::string content_text(const Section& section, TextForm form, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_content(text, section, form, options); });
}

void render_text(const Document& document, TextForm form, const PrintOptions& options, Words words,
                 const Sink& sink) {
    const bool is_separated = words == Words::all || form == TextForm::plain;
    write_sections(document, options, words, is_separated, sink,
                   [&](TextPieces& text, const Section& section) {
                       const auto* tensor = std::get_if<Tensor>(&section.content);
                       if (document.word_columns == 0 || !tensor || tensor->dimension() < 2) {
                           return write_content(text, section, form, options);
                       }
                       const auto word_of = [&](std::size_t row) {
                           return word_of_row(document, section, *tensor, row);
                       };
                       RowWords beside(word_of, document.word_columns, options.ink);
                       write_rows_of(text, section, form, options, &beside);
                   });
}

void render_text(const Document& document, const ContentForm& form, const PrintOptions& options,
                 Words words, const Sink& sink) {
    write_sections(document, options, words, true, sink,
                   [&](TextPieces& text, const Section& section) { text << form(section); });
}

namespace {

Cells plain_cells(const bool* data) {
    return {1, [data](std::size_t i) { return data[i] ? "1" : "0"; }};
}

void write_rows(TextPieces& text, const Cells& cells, const Shape& shape) {
    const std::size_t size = element_count(shape);
    const std::size_t row_length = shape.empty() ? 1 : shape.back();
    for (std::size_t begin = 0; begin < size; begin += row_length) {
        // A line ends after every full row, and once more for each outer axis that is also full.
        for (std::size_t axis = shape.size(), block = 1; axis-- > 0 && begin > 0;) {
            block *= shape[axis];
            if (begin % block != 0) break;
            text << '\n';
        }
        for (std::size_t i = begin; i < begin + row_length; ++i) {
            if (i > begin) text << ' ';
            text << cells.text(i);
        }
    }
}

}  // namespace

void write_plain_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, torch_defaults);
    if (tensor.size() == 0) return;
    const Shape shape = tensor.shape();
    const Shown shown(shape);
    if (tensor.dtype() == DType::boolean) {
        return write_rows(text, plain_cells(tensor.as<bool>().data()), shape);
    }
    const auto form_of = [&](const auto* data) {
        return plain_form(survey(data, shown), settings);
    };
    std::visit(
        [&](const auto& array) {
            write_rows(text, cells_of(array.data(), shown, options, 0, form_of), shape);
        },
        tensor.values());
}

std::string plain_text(const Tensor& tensor, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_plain_text(text, tensor, options); });
}

}  // namespace attn
