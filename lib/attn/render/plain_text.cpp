#include "attn/render/plain_text.hpp"

#include <algorithm>
#include <cstdint>

#include "attn/render/number_form.hpp"
#include "attn/text/number_text.hpp"

namespace attn {
namespace {

Cells plain_cells(const bool* data) {
    return {1, [data](char* out, std::size_t i) {
                *out = data[i] ? '1' : '0';
                return out + 1;
            }};
}

void write_rows(TextPieces& text, const Cells& cells, const Shape& shape) {
    const std::size_t size = element_count(shape);
    const std::size_t row_length = shape.empty() ? 1 : shape.back();
    const std::size_t room = 1 + std::max(cells.width, std::tuple_size_v<NumberBuffer>);
    for (std::size_t begin = 0; begin < size; begin += row_length) {
        // A line ends with every full row, and once more for each outer axis that is full too.
        for (std::size_t axis = shape.size(), block = 1; axis-- > 0 && begin > 0;) {
            block *= shape[axis];
            if (begin % block != 0) break;
            text << '\n';
        }
        for (std::size_t i = begin; i < begin + row_length; ++i) {
            char* out = text.room(room);
            if (i > begin) *out++ = ' ';
            text.keep(cells.write(out, i));
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
            write_rows(text, cells_of(array.data(), shown, 0, form_of), shape);
        },
        tensor.values());
}

std::string plain_text(const Tensor& tensor, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_plain_text(text, tensor, options); });
}

}  // namespace attn
