#include "attn/ground/tensor/tensor.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

#include <sys/mman.h>

#include "attn/ground/tensor/array.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {

std::string_view dtype_name(DType dtype) {
    static constexpr std::array<std::string_view, 6> names{"float32", "float64", "int64",
                                                           "bool",    "float16", "bfloat16"};
    return names[static_cast<std::size_t>(dtype)];
}

double epsilon(DType dtype) {
    if (dtype == DType::float16) return 0x1p-10;
    if (dtype == DType::bfloat16) return 0x1p-7;
    return dtype == DType::float64 ? 0x1p-52 : 0x1p-23;
}

std::size_t element_count(const Shape& shape) {
    std::size_t count = 1;
    for (std::size_t extent : shape) count *= extent;
    return count;
}

double cell_count(const Shape& shape) {
    double count = 1;
    for (const std::size_t extent : shape) count *= static_cast<double>(extent);
    return count;
}

std::size_t flat_index(const std::vector<std::size_t>& indices, const Shape& shape) {
    std::size_t flat = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + indices[i];
    return flat;
}

std::string described(const Axes& axes, const Shape& shape) {
    if (axes.empty()) return "a scalar";
    std::string text;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (i > 0) text += " x ";
        text += axes[i] + " " + std::to_string(shape[i]);
    }
    return text;
}

std::string shape_text(const Shape& shape) {
    std::string text = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    if (shape.size() == 1) text += ',';
    return text + ")";
}

Tensor::Tensor() {
    static const auto zero = std::make_shared<const Values>(Array<float>(0.0F));
    values_ = zero;
    dtype_ = DType::float32;
}

Tensor::Tensor(Axes axes, Values values)
    : axes_(std::move(axes)),
      values_(std::make_shared<const Values>(std::move(values))),
      dtype_(static_cast<DType>(values_->index())) {
    require_a_name_for_each_axis();
}

Tensor Tensor::renamed(Axes axes) const {
    Tensor other = *this;
    other.axes_ = std::move(axes);
    other.require_a_name_for_each_axis();
    return other;
}

Tensor Tensor::of_type(DType dtype) const {
    assert(dtype == dtype_ || std::holds_alternative<Array<float>>(*values_));
    Tensor other = *this;
    other.dtype_ = dtype;
    return other;
}

void Tensor::require_a_name_for_each_axis() const {
    const Shape actual = shape();
    if (axes_.size() != actual.size()) {
        throw ShapeError("a tensor of shape " + shape_text(actual) + " needs " +
                         std::to_string(actual.size()) + " axis names, not " +
                         std::to_string(axes_.size()));
    }
}

void Tensor::refuse_type() const {
    throw ShapeError("a tensor of " + std::string(dtype_name(dtype())) + ", " + described() +
                     ", has the wrong type here: convert it first");
}

Shape Tensor::shape() const {
    return std::visit([](const auto& array) { return shape_of(array); }, *values_);
}

std::size_t Tensor::size() const {
    return std::visit([](const auto& array) { return array.size(); }, *values_);
}

double Tensor::at(std::size_t flat) const {
    return std::visit([flat](const auto& array) { return static_cast<double>(array.data()[flat]); },
                      *values_);
}

std::vector<double> Tensor::numbers() const {
    return std::visit(
        [](const auto& array) { return std::vector<double>(array.begin(), array.end()); },
        *values_);
}

bool Tensor::has_axis(std::string_view name) const {
    return std::find(axes_.begin(), axes_.end(), name) != axes_.end();
}

std::size_t Tensor::axis(std::string_view name) const {
    const auto found = std::find(axes_.begin(), axes_.end(), name);
    if (found == axes_.end()) {
        throw ShapeError("there is no " + std::string(name) + " axis in " + described());
    }
    return static_cast<std::size_t>(found - axes_.begin());
}

std::size_t Tensor::extent(std::string_view name) const { return shape()[axis(name)]; }

Tensor cast(const Tensor& tensor, DType dtype) {
    if (!tensor.is_floating() || tensor.dtype() == dtype) return tensor;
    const auto converted = [&](const auto& from, auto convert) -> Tensor {
        auto values = empty_array<decltype(convert(*from.data()))>(from.shape());
        std::transform(from.begin(), from.end(), values.data(), convert);
        return {tensor.axes(), std::move(values)};
    };
    if (dtype == DType::float64) {
        return converted(tensor.as<float>(), [](float number) { return double{number}; });
    }
    const bool is_wide = tensor.dtype() == DType::float64;
    const Tensor single = is_wide
                              ? converted(tensor.as<double>(),
                                          [](double number) { return static_cast<float>(number); })
                              : tensor.of_type(DType::float32);
    if (dtype == DType::float32) return single;
    const auto rounded = [dtype](float number) { return nearest(number, dtype); };
    return converted(single.as<float>(), rounded).of_type(dtype);
}

std::vector<std::size_t> broadcast_strides(const std::string& name, const Shape& from,
                                           const std::string& name_of_to, const Shape& to) {
    std::vector<std::size_t> strides(to.size());
    std::size_t stride = 1;
    bool fits = from.size() <= to.size();
    for (std::size_t i = 1; fits && i <= from.size(); ++i) {
        const std::size_t length = from[from.size() - i];
        fits = length == 1 || length == to[to.size() - i];
        if (length != 1) strides[to.size() - i] = stride;
        stride *= length;
    }
    if (!fits) {
        throw ShapeError(name + " " + shape_text(from) + " does not broadcast to " + name_of_to +
                         " " + shape_text(to) + ": from the right, each length must be equal or 1");
    }
    return strides;
}

Shape broadcast_shape(Shape a, Shape b) {
    if (a.size() < b.size()) a.swap(b);
    for (std::size_t i = 1; i <= b.size(); ++i) {
        a[a.size() - i] = std::max(a[a.size() - i], b[b.size() - i]);
    }
    return a;
}

std::size_t differing_cells(const Tensor& a, const Tensor& b) {
    assert(a.shape() == b.shape());
    std::size_t cells = 0;
    for (std::size_t i = 0; i < a.size(); ++i) cells += same_number(a.at(i), b.at(i)) ? 0 : 1;
    return cells;
}

bool same_numbers(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() && differing_cells(a, b) == 0;
}

void prefer_large_pages(void* memory, std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t large_page = std::uintptr_t{1} << 21;
    if (bytes < large_page / 2) return;
    // The memory after it is advised, too, since the next array will use it, and a page that was
    // touched before stays small. Advice does not change any byte; it is refused for unmapped
    // memory.
    const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(memory) & ~(large_page - 1);
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(memory) + bytes;
    const std::size_t length = ((end - start) & ~(large_page - 1)) + 16 * large_page;
    madvise(reinterpret_cast<void*>(start), length, MADV_HUGEPAGE);
#else
    static_cast<void>(memory);
    static_cast<void>(bytes);
#endif
}

}  // namespace attn
