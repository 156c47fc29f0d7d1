#include "attn/show/render/torch_text.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "attn/ground/text/number_text.hpp"
#include "attn/show/render/layout.hpp"

namespace attn {
namespace {

constexpr std::string_view prefix = "tensor(";

/// Returns the width of `True`, or of `False` if that is printed.
std::size_t word_width(const Tensor& tensor, const Shown& shown) {
    std::size_t width = 4;
    if (tensor.dtype() != DType::boolean) return width;
    const bool* const data = tensor.as<bool>().data();
    shown.for_each_range([&](std::size_t begin, std::size_t end) {
        if (!std::all_of(data + begin, data + end, std::identity())) width = 5;
    });
    return width;
}

class TorchLayout final : public Layout {
public:
    TorchLayout(TextPieces& text, const Shown& shown, const Cells& cells, std::size_t linewidth)
        : Layout(text, shown, cells, ", ", prefix.size() + shown.dimension(), 0) {
        if (shown.dimension() == 0) return;
        const std::size_t room = linewidth > hang_ - 1 ? linewidth - (hang_ - 1) : 0;
        cells_per_line_ = std::max<std::size_t>(1, room / (cells.width + 2));
    }

private:
    /// Writes the dots as a cell with a space before it, unless it is the only one.
    void write_dots(std::size_t head) override {
        separate(left_ > 0);
        text_ << (head > 0 ? " ..." : "...");
        --left_;
    }
};

/// Returns `size=...` for an empty tensor, and `dtype=...` if it is not the default.
std::vector<std::string> suffixes_of(const Tensor& tensor, DType default_dtype) {
    std::vector<std::string> result;
    const bool empty = tensor.size() == 0;
    if (empty && tensor.dimension() != 1) result.push_back("size=" + shape_text(tensor.shape()));
    const bool obvious = tensor.dtype() == default_dtype || (!empty && !tensor.is_floating());
    if (!obvious) result.push_back("dtype=torch." + std::string(dtype_name(tensor.dtype())));
    return result;
}

}  // namespace

void write_torch_text(TextPieces& text, const Tensor& tensor, const PrintOptions& options,
                      std::string_view suffix, RowWords* words) {
    const Settings settings = settings_for(options, torch_defaults);
    text << prefix;
    // PyTorch counts two columns more than the last line has.
    std::size_t line = 2;
    if (tensor.size() == 0) {
        text << "[]";
        line += prefix.size() + 2;
    } else {
        std::visit(
            [&](const auto& array) {
                const Shown shown(tensor.shape(), settings);
                const Cells cells = cells_of(
                    array.data(), shown, options, word_width(tensor, shown),
                    [&](const auto* data) { return torch_form(survey(data, shown), settings); });
                TorchLayout layout(text, shown, cells, settings.linewidth);
                layout.write_words(words);
                layout.write_axis(0, 0);
                line += layout.last_line();
            },
            tensor.values());
    }

    std::vector<std::string> suffixes = suffixes_of(tensor, options.default_dtype);
    if (!suffix.empty()) suffixes.emplace_back(suffix);
    for (const std::string& note : suffixes) {
        if (line + note.size() + 2 > settings.linewidth) {
            text << ",\n";
            text.repeat(prefix.size(), ' ');
            line = prefix.size() + note.size();
        } else {
            text << ", ";
            line += note.size() + 2;
        }
        text << note;
    }
    text << ')';
    if (words != nullptr) words->write(text);
}

std::string torch_text(const Tensor& tensor, const PrintOptions& options, std::string_view suffix) {
    return gathered_text(
        [&](TextPieces& text) { write_torch_text(text, tensor, options, suffix); });
}

std::string torch_size_text(const Shape& shape) {
    return fmt::format("torch.Size([{}])", fmt::join(shape, ", "));
}

}  // namespace attn
