#include <algorithm>
#include <array>

#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

// Splits tensors that combine query, key and value, or key and value.

namespace attn {
namespace {

/// A tensor that combines several, one after the other along an axis.
struct Fused {
    std::size_t axis = 0;
    std::size_t count = 0;  ///< 0 if the tensor is a single one
    const char* kind = "";  ///< suffix of the names of its parts
};

/// Widths that distinguish a fused tensor from a single one; 0 if no tensor of the file has them.
struct Widths {
    std::size_t x = 0, output = 0;
    bool has_fused_weight = false;  ///< the walk itself computes all three in one product
};

Widths widths_of(const Ledger& file) {
    Widths widths;
    for (const auto& [name, tensor] : file.entries()) {
        if (tensor.dimension() < 2) continue;
        const std::size_t last = tensor.shape().back();
        const std::string step = likeliest_step(name);
        if (step == "x") widths.x = last;
        if (step == "output" || step == "merged") widths.output = last;
        if (parameter_called(name) == "w_qkv" && tensor.dimension() == 2) {
            widths.has_fused_weight = true;
        }
    }
    return widths;
}

std::size_t axis_of_length(const Shape& shape, std::size_t length) {
    return static_cast<std::size_t>(std::ranges::find(shape, length) - shape.begin());
}

/// Describes a fused parameter: stacked along an axis of that length, or side by side.
Fused fused_parameter(const std::string& parameter, const Shape& shape, const Widths& widths) {
    const bool is_pair = parameter.ends_with("_kv"), is_bias = parameter.starts_with("b_");
    if (!is_pair && !parameter.ends_with("_qkv")) return {};
    Fused fused{.count = is_pair ? 2U : 3U, .kind = is_bias ? ".bias" : ".weight"};
    if (shape.size() > (is_bias ? 1U : 2U)) {
        fused.axis = axis_of_length(shape, fused.count);
    } else if (!is_pair) {
        return {};  // the walk has such a parameter
    } else if (!is_bias) {
        fused.axis = shape[0] == widths.x && shape[1] != widths.x ? 1 : 0;
    }
    return fused;
}

/// Describes a fused activation: the output of one product, or the input of a kernel.
Fused fused_activation(const std::string& step, const Shape& shape, const Widths& widths) {
    const bool is_x = step == "x" && widths.output > 0 && shape.back() == 3 * widths.output;
    if (shape.size() < 2 || (step != "qkv" && !is_x)) return {};
    const std::size_t stacked = axis_of_length(shape, 3);
    const bool is_wide = shape.back() % 3 == 0 && shape.back() != widths.output;
    Fused fused{.axis = shape.size() - 1, .count = 3};
    if (stacked + 1 < shape.size() && (shape.size() > 3 || !is_wide)) fused.axis = stacked;
    if (fused.axis != stacked && widths.has_fused_weight) return {};
    return fused;
}

/// Returns one of the parts, without the axis that counts them.
Tensor part_of(const Tensor& tensor, const Fused& fused, std::size_t part) {
    std::vector<AxisPart> parts = whole_parts(tensor.shape());
    AxisPart& along = parts[fused.axis];
    const std::size_t width = along.count / fused.count;
    along.first = static_cast<std::ptrdiff_t>(part * width);
    along.count = width;
    along.drops_axis = width == 1;
    return slice(tensor, parts);
}

}  // namespace

Ledger split_fused(const Ledger& file, const std::map<std::string, std::string>& specified) {
    constexpr std::array<const char*, 3> words{".query", ".key", ".value"};
    const Widths widths = widths_of(file);
    Ledger split;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string parameter = parameter_called(name);
        const Fused fused = parameter.empty()
                                ? fused_activation(likeliest_step(name), tensor.shape(), widths)
                                : fused_parameter(parameter, tensor.shape(), widths);
        const bool is_fused = fused.count > 0 && !specified.contains(name) &&
                              fused.axis < tensor.dimension() &&
                              tensor.shape()[fused.axis] % fused.count == 0;
        if (!is_fused) split.record(name, tensor);
        for (std::size_t part = 0; is_fused && part < fused.count; ++part) {
            split.record(name + words[part + 3 - fused.count] + fused.kind,
                         part_of(tensor, fused, part));
        }
    }
    return split;
}

}  // namespace attn
