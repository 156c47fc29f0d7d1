#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "attn/ground/tensor/array.hpp"

namespace attn {

/// The names of a tensor's axes, outermost first, in the field's terms: `batch`, `head`, `query`
/// and `key` (positions), `feature` (columns); parameters have `out`, `in`, `vocab`.
using Axes = std::vector<std::string>;

/// True for an axis that counts tokens.
inline bool is_token_axis(const std::string& axis) {
    return axis == "query" || axis == "key" || axis == "token";
}

enum class DType { float32, float64, int64, boolean, float16, bfloat16 };

/// Returns `float32`, `float64`, `int64`, `bool`, `float16` or `bfloat16`, as in PyTorch and NumPy.
std::string_view dtype_name(DType dtype);

/// Formats axis names and sizes for a message or a heading: `head 2 x query 4 x key 4`.
std::string described(const Axes& axes, const Shape& shape);

/// True for the types with 16 bits: float16 and bfloat16.
inline bool is_16_bit(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// Returns the gap from 1 to the next number of a floating-point type: twice its unit roundoff.
double epsilon(DType dtype);

/// The axes of a tensor and their lengths.
struct Outline {
    Axes axes;
    Shape shape;
};

/// A tensor in the ledger: values of one type, and a name for each axis. The cells of a 16-bit type
/// are stored as float32 numbers, which represent them exactly, and computed with as such.
///
/// Values are immutable, so that copies share them: a copy is cheap.
class Tensor {
public:
    using Values = std::variant<Array<float>, Array<double>, Array<std::int64_t>, Array<bool>>;

    /// A float32 scalar, 0.
    Tensor();

    /// Errors  ShapeError if there is not exactly one name per axis.
    Tensor(Axes axes, Values values);

    /// Returns the same values with other axis names.  Errors  ShapeError as the constructor.
    Tensor renamed(Axes axes) const;

    /// Returns the same values, labelled as this type: float32 numbers that a 16-bit type
    /// represents exactly (cast() rounds), or those of a 16-bit type as float32.
    Tensor of_type(DType dtype) const;

    const Axes& axes() const { return axes_; }
    const Values& values() const { return *values_; }
    Shape shape() const;
    std::size_t dimension() const { return axes_.size(); }
    std::size_t size() const;
    DType dtype() const { return dtype_; }
    bool is_floating() const { return dtype_ != DType::int64 && dtype_ != DType::boolean; }

    /// Returns the values as an array of T, float for the 16-bit types.  Errors  ShapeError if that
    /// is not the tensor's own type.
    template <class T>
    const Array<T>& as() const {
        if (const auto* array = std::get_if<Array<T>>(values_.get())) return *array;
        refuse_type();
    }

    /// Returns element number `flat` in row-major order, as double (bool: 0 or 1).
    double at(std::size_t flat) const;
    /// Returns all elements.
    std::vector<double> numbers() const;

    bool has_axis(std::string_view name) const;
    /// Returns the position of the axis `name`.  Errors  ShapeError if there is none.
    std::size_t axis(std::string_view name) const;
    /// Returns the length of the axis `name`.  Errors  ShapeError if there is none.
    std::size_t extent(std::string_view name) const;

    /// Formats the axis names and sizes.
    std::string described() const { return attn::described(axes_, shape()); }

private:
    void require_a_name_for_each_axis() const;
    [[noreturn]] void refuse_type() const;

    Axes axes_;
    std::shared_ptr<const Values> values_;
    DType dtype_;
};

/// Converts floating-point values to another floating-point type, each to the nearest number, ties
/// to even; other types are returned unchanged. As in PyTorch, float64 is converted to 16 bits via
/// float32.
Tensor cast(const Tensor& tensor, DType dtype);

/// Calls `f` with a value of the C++ type of a floating-point `dtype`:
/// `with_floating(dtype, [&](auto zero) { using T = decltype(zero); ... })`.
template <class F>
decltype(auto) with_floating(DType dtype, F&& f) {
    return dtype == DType::float64 ? std::forward<F>(f)(double{}) : std::forward<F>(f)(float{});
}

/// Calls `f(i, number)` for every element in row-major order, as double.
template <class F>
void each_number(const Tensor& tensor, F&& f) {
    std::visit(
        [&](const auto& cells) {
            for (std::size_t i = 0; i < cells.size(); ++i) {
                f(i, static_cast<double>(cells.data()[i]));
            }
        },
        tensor.values());
}

/// Returns the strides to broadcast a tensor to a larger one: from the right, each length is equal
/// or 1, and missing axes on the left count as 1.
///
/// Shapes  from and to: any; result: one stride for each axis of `to`, 0 for broadcast axes.
/// Errors  ShapeError if it does not broadcast; the message uses the names.
std::vector<std::size_t> broadcast_strides(const std::string& name, const Shape& from,
                                           const std::string& name_of_to, const Shape& to);

/// Returns the shape that two shapes broadcast to.
Shape broadcast_shape(Shape a, Shape b);

/// True if two numbers are equal, or both nan.
inline bool same_number(double a, double b) { return a == b || (a != a && b != b); }

/// Counts the cells of two tensors with different numbers.
///
/// Shapes  both the same.
std::size_t differing_cells(const Tensor& a, const Tensor& b);

/// True if shape, type and numbers are equal.
bool same_numbers(const Tensor& a, const Tensor& b);

}  // namespace attn
