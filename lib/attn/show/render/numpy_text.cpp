#include "attn/show/render/numpy_text.hpp"

#include <string_view>

#include "attn/ground/text/number_text.hpp"
#include "attn/show/render/layout.hpp"

namespace attn {
namespace {

class NumpyLayout final : public Layout {
public:
    /// With edgeitems 0 NumPy still prints the last index.
    NumpyLayout(TextPieces& text, const Shown& shown, const Cells& cells, std::size_t linewidth)
        : Layout(text, shown, cells, " ", shown.dimension(), 1) {
        // Reserve a column for each closing bracket, and one for the space between cells.
        const std::size_t dimension = shown.dimension();
        room_ = linewidth > dimension ? linewidth - dimension : 0;
        cells_per_line_ = 1 + cells_after(hang_ + cells.width);
    }

private:
    /// Returns the number of cells that still fit on a line with that many columns.
    std::size_t cells_after(std::size_t columns) const {
        return columns < room_ ? (room_ - columns) / (gap_.size() + cells_.width) : 0;
    }

    /// Three dots are shorter than most cells, so they may fit on a line on which no cell fits.
    void write_dots(std::size_t) override {
        constexpr std::string_view dots = "...";
        separate(last_line() + gap_.size() + dots.size() <= room_);
        text_ << dots;
        left_ = cells_after(last_line());
    }

    std::size_t room_;  ///< columns for the cells of a line
};

}  // namespace

void write_numpy_str(TextPieces& text, const Tensor& tensor, const PrintOptions& options,
                     RowWords* words) {
    const Settings settings = settings_for(options, numpy_defaults);
    if (tensor.dimension() == 0) {
        text << scalar_text(tensor, 0);
        return;
    }
    if (tensor.size() == 0) {
        text << "[]";
        return;
    }
    const auto write = [&](const auto& array) {
        const Shown shown(tensor.shape(), settings);
        // NumPy slices the last 0 items as `[-0:]`, which is everything: everything determines the
        // style.
        const Shown measured = settings.edgeitems == 0 ? Shown(tensor.shape()) : shown;
        // NumPy has no bfloat16, whose numbers it would show as float32.
        const DType type = tensor.dtype() == DType::bfloat16 ? DType::float32 : tensor.dtype();
        const auto form_of = [&](const auto* data) {
            return numpy_form(data, measured, settings, type);
        };
        const Cells cells = cells_of(array.data(), measured, options, 5, form_of);
        NumpyLayout layout(text, shown, cells, settings.linewidth);
        layout.write_words(words);
        layout.write_axis(0, 0);
    };
    std::visit(write, tensor.values());
    if (words != nullptr) words->write(text);
}

std::string numpy_str(const Tensor& tensor, const PrintOptions& options) {
    return gathered_text([&](TextPieces& text) { write_numpy_str(text, tensor, options); });
}

}  // namespace attn
