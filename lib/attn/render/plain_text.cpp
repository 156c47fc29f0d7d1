#include "attn/render/plain_text.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "attn/render/torch_numbers.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

/// The longest text of the tensor: unlike PyTorch's width it counts zeros, infinities and nan.
std::size_t longest_text(const Survey& survey, TorchStyle::Form form, int precision) {
    const auto length = [&](double value) {
        return written_length(
            [&](char* out) { return write_torch_value(out, value, form, precision); });
    };
    std::size_t result = survey.longest(length);
    if (survey.zero) result = std::max(result, length(0.0));
    if (survey.negative_zero) result = std::max(result, length(-0.0));
    if (survey.has_non_finite()) result = std::max<std::size_t>(result, 3);
    if (survey.negative_infinity) result = std::max<std::size_t>(result, 4);
    return result;
}

template <class T>
std::unique_ptr<Cells> plain_cells_of(const T* data, const Shown& shown, const Settings& settings) {
    const Survey found = survey(data, shown);
    TorchStyle style = torch_style(found, settings);
    if (style.form == TorchStyle::Form::whole) style.form = TorchStyle::Form::fixed;
    style.width = longest_text(found, style.form, style.precision);
    return torch_cells(data, style, found.maximum());
}

std::unique_ptr<Cells> plain_cells_of(const std::int64_t* data, const Shown& shown,
                                      const Settings&) {
    return integer_cells(data, integer_width(data, shown));
}

std::unique_ptr<Cells> plain_cells_of(const bool* data, const Shown&, const Settings&) {
    return make_cells(data, 1, [](char* out, bool value) {
        *out = value ? '1' : '0';
        return out + 1;
    });
}

void write_rows(TextPieces& text, const Cells& cells, const Shape& shape) {
    const Separators separators{" "};
    const std::size_t size = element_count(shape);
    const std::size_t row_length = shape.empty() ? 1 : shape.back();
    for (std::size_t begin = 0; begin < size; begin += row_length) {
        // A line ends with every full row, and once more for each outer axis that is full too.
        for (std::size_t axis = shape.size(), block = 1; axis-- > 0 && begin > 0;) {
            block *= shape[axis];
            if (begin % block != 0) break;
            text << '\n';
        }
        RowPlace place{separators.cells_per_line, text.size()};
        cells.write(text, begin, begin + row_length, separators, place);
    }
}

}  // namespace

void write_plain_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options) {
    const Settings settings = settings_for(options, torch_defaults);
    if (tensor.size() == 0) return;
    std::visit(
        [&](const auto& array) {
            const Shape shape = tensor.shape();
            write_rows(text, *plain_cells_of(array.data(), Shown(shape), settings), shape);
        },
        tensor.values());
}

std::string plain_text(const Tensor& tensor, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_plain_text(text, tensor, options); });
}

}  // namespace attn
