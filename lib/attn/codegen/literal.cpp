#include "attn/codegen/literal.hpp"

#include <cmath>

#include "attn/text/number_text.hpp"

namespace attn {
namespace {

template <class T>
std::string number_code(T value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "True" : "False";
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else {
        if (std::isnan(value)) return "float(\"nan\")";
        if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "-float(\"inf\")";
        NumberBuffer buffer;
        return std::string(buffer.data(), write_scalar(buffer.data(), value));
    }
}

/// The nested lists of one axis and all below it; `place` is the next element.
template <class T>
std::string nested_lists(const T* data, const Shape& shape, std::size_t axis, std::size_t& place,
                         std::size_t indent) {
    if (axis == shape.size()) return number_code<T>(data[place++]);
    const bool innermost = axis + 1 == shape.size();
    std::string text = "[";
    for (std::size_t i = 0; i < shape[axis]; ++i) {
        if (i > 0) text += innermost ? ", " : ",\n" + std::string(indent + axis + 1, ' ');
        text += nested_lists(data, shape, axis + 1, place, indent);
    }
    return text + "]";
}

}  // namespace

std::string size_list(const Shape& shape) {
    std::string text;
    for (const std::size_t length : shape) {
        text += (text.empty() ? "" : ", ") + std::to_string(length);
    }
    return text;
}

std::string size_tuple(const Shape& shape) {
    return "(" + size_list(shape) + (shape.size() == 1 ? ",)" : ")");
}

std::string dtype_code(DType dtype, CodeLanguage language) {
    const bool numpy = language == CodeLanguage::numpy;
    if (numpy && dtype == DType::boolean) return "np.bool_";
    return (numpy ? "np." : "torch.") + std::string(dtype_name(dtype));
}

std::string tensor_literal(const Tensor& tensor, DType dtype, CodeLanguage language) {
    const std::string call = language == CodeLanguage::torch ? "torch.tensor(" : "np.array(";
    std::size_t place = 0;
    const std::string lists = std::visit(
        [&](const auto& values) {
            return nested_lists(values.data(), tensor.shape(), 0, place, call.size());
        },
        tensor.values());
    // Lists of integers and bools have the right type by themselves.
    const std::string note =
        tensor.is_floating() ? ", dtype=" + dtype_code(dtype, language) : std::string();
    return call + lists + note + ")";
}

}  // namespace attn
