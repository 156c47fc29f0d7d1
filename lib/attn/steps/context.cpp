#include "attn/steps/context.hpp"

#include "attn/steps/twins.hpp"
#include "attn/tensor/error.hpp"

namespace attn {

template <class T>
void loop::context(MatrixView<const T> weights, MatrixView<const T> value, MatrixView<T> context,
                   const Arithmetic& arithmetic) {
    // Multiply one feature of every value with the weight of its key and add up.
    for (std::size_t g = 0; g < context.groups; ++g) {
        for (std::size_t q = 0; q < context.rows; ++q) {
            for (std::size_t f = 0; f < context.columns; ++f) {
                Dot<T> dot(arithmetic);
                for (std::size_t k = 0; k < weights.columns; ++k) {
                    dot.add(weights(g, q, k), value(g, k, f));
                }
                context(g, q, f) = dot.sum();
            }
        }
    }
}

template <class T>
void vectorized::context(MatrixView<const T> weights, MatrixView<const T> value,
                         MatrixView<T> context, const Arithmetic& arithmetic) {
    multiply(weights, value, Second::as_stored, context, arithmetic.products);
}

namespace {

/// The context before it is computed.
template <class T>
Array<T> room_for_context(const Array<T>& weights, const Array<T>& value) {
    const Shape& shares = weights.shape();
    const Shape& values = value.shape();
    const bool fits = shares.size() == values.size() && shares.size() >= 2 &&
                      std::equal(shares.begin(), shares.end() - 2, values.begin()) &&
                      shares.back() == values[values.size() - 2];
    if (!fits) {
        throw ShapeError("weights " + shape_text(shares) + " and value " + shape_text(values) +
                         " need the same leading axes and one value per key");
    }
    Shape shape = shares;
    shape.back() = values.back();
    return empty_array<T>(shape);
}

}  // namespace

#define ATTN_INSTANTIATE(variant, T)                                                           \
    template void variant::context(MatrixView<const T>, MatrixView<const T>, MatrixView<T>,    \
                                   const Arithmetic&);                                         \
    template <>                                                                                \
    Array<T> variant::context(const Array<T>& weights, const Array<T>& value,                  \
                              const Arithmetic& arithmetic) {                                  \
        Array<T> result = room_for_context(weights, value);                                    \
        context<T>(matrices_of(weights), matrices_of(value), matrices_of(result), arithmetic); \
        return result;                                                                         \
    }
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn
