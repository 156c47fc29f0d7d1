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

/// The names of a tensor's axes, outermost first. The words are those of the field: `batch`,
/// `head`, `query` and `key` (positions), `feature` (columns); parameters have `out`, `in`,
/// `vocab`.
using Axes = std::vector<std::string>;

enum class DType { float32, float64, int64, boolean, float16, bfloat16 };

/// `float32`, `float64`, `int64`, `bool`, `float16` or `bfloat16`, as PyTorch and NumPy spell them.
std::string_view dtype_name(DType dtype);

/// `head 2 x query 4 x key 4`: axis words and sizes for a message or a heading.
std::string described(const Axes& axes, const Shape& shape);

/// Whether numbers of this type take 16 bits: float16 and bfloat16.
inline bool is_16_bit(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// The gap from 1 to the next number of a floating type: twice what rounding changes 1 by at most.
double epsilon(DType dtype);

/// The axes of a tensor and their lengths.
struct Outline {
    Axes axes;
    Shape shape;
};

/// Any tensor that the ledger records: values of one type, and a name for each axis. The cells of a
/// 16-bit type are held as the float32 numbers that they are exactly, and computed with as these.
///
/// Values never change once made, so that copies share them: a copy costs nothing.
class Tensor {
public:
    using Values = std::variant<Array<float>, Array<double>, Array<std::int64_t>, Array<bool>>;

    /// A float32 scalar, 0.
    Tensor();

    /// Errors  ShapeError when there is not exactly one name for each axis.
    Tensor(Axes axes, Values values);

    /// The same values under other axis names.  Errors  ShapeError as the constructor.
    Tensor renamed(Axes axes) const;

    /// The same values, said to be of this type: float32 numbers that a 16-bit type holds exactly
    /// (cast() rounds), or those of a 16-bit type as float32.
    Tensor of_type(DType dtype) const;

    const Axes& axes() const { return axes_; }
    const Values& values() const { return *values_; }
    Shape shape() const;
    std::size_t dimension() const { return axes_.size(); }
    std::size_t size() const;
    DType dtype() const { return dtype_; }
    bool is_floating() const { return dtype_ != DType::int64 && dtype_ != DType::boolean; }

    /// The values as an array of T, float for the 16-bit types.  Errors  ShapeError when that is
    /// not the tensor's own type.
    template <class T>
    const Array<T>& as() const {
        if (const auto* array = std::get_if<Array<T>>(values_.get())) return *array;
        refuse_type();
    }

    /// Element number `flat` in row-major order, widened to double (bool: 0 or 1).
    double at(std::size_t flat) const;
    /// All of them.
    std::vector<double> numbers() const;

    bool has_axis(std::string_view name) const;
    /// Position of the axis `name`.  Errors  ShapeError when there is none.
    std::size_t axis(std::string_view name) const;
    /// Length of the axis `name`.  Errors  ShapeError when there is none.
    std::size_t extent(std::string_view name) const;

    /// The axis words and sizes.
    std::string described() const { return attn::described(axes_, shape()); }

private:
    void require_a_name_for_each_axis() const;
    [[noreturn]] void refuse_type() const;

    Axes axes_;
    std::shared_ptr<const Values> values_;
    DType dtype_;
};

/// The tensor with its floating values converted to another floating type, each to the nearest
/// number of it, ties to even; other types are returned as they are. As in PyTorch, a float64 comes
/// to 16 bits by way of float32.
Tensor cast(const Tensor& tensor, DType dtype);

/// Calls `f` with a value of the C++ type that holds a floating `dtype`:
/// `with_floating(dtype, [&](auto zero) { using T = decltype(zero); ... })`.
template <class F>
decltype(auto) with_floating(DType dtype, F&& f) {
    return dtype == DType::float64 ? std::forward<F>(f)(double{}) : std::forward<F>(f)(float{});
}

/// Calls `f(i, number)` for every element in row-major order, widened to double.
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

/// How a tensor is read as a larger one: from the right, each length is equal or 1, and axes that
/// it lacks on the left count as 1.
///
/// Shapes  from and to: any; result: one number for each axis of `to`, the elements from one index
///         to the next, 0 where the same element is read again.
/// Errors  ShapeError when it does not broadcast; the names say what the two are.
std::vector<std::size_t> broadcast_strides(const std::string& name, const Shape& from,
                                           const std::string& name_of_to, const Shape& to);

/// The shape that two shapes broadcast to.
Shape broadcast_shape(Shape a, Shape b);

/// Whether two numbers are the same: nan is nan.
inline bool same_number(double a, double b) { return a == b || (a != a && b != b); }

/// How many cells of two tensors hold other numbers.
///
/// Shapes  both the same.
std::size_t differing_cells(const Tensor& a, const Tensor& b);

/// The same shape, type and numbers.
bool same_numbers(const Tensor& a, const Tensor& b);

}  // namespace attn
