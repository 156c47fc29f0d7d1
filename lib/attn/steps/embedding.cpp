#include "attn/steps/embedding.hpp"

#include <algorithm>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

Shape looked_up_shape(const Array<std::int64_t>& ids, const Shape& table) {
    if (table.size() != 2) {
        throw ShapeError("an embedding table has rows and features, not " + shape_text(table));
    }
    const std::size_t rows = table[0];
    for (const std::int64_t id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= rows) {
            throw ShapeError("id " + std::to_string(id) + " has no row in an embedding table of " +
                             std::to_string(rows) + ": ids go from 0 to " +
                             std::to_string(rows - 1));
        }
    }
    Shape shape = shape_of(ids);
    shape.push_back(table[1]);
    return shape;
}

}  // namespace

template <class T>
Array<T> loop::embed(const Array<std::int64_t>& ids, const Array<T>& embedding) {
    Array<T> result = empty_array<T>(looked_up_shape(ids, embedding.shape()));
    const std::size_t features = embedding.shape(1);

    // Copy the row that belongs to each id, feature by feature.
    for (std::size_t t = 0; t < ids.size(); ++t) {
        for (std::size_t f = 0; f < features; ++f) {
            const std::size_t row = static_cast<std::size_t>(ids.data()[t]);
            result.data()[t * features + f] = embedding.data()[row * features + f];
        }
    }
    return result;
}

template <class T>
Array<T> vectorized::embed(const Array<std::int64_t>& ids, const Array<T>& embedding) {
    Array<T> result = empty_array<T>(looked_up_shape(ids, embedding.shape()));
    const std::size_t features = embedding.shape(1);
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const T* row = embedding.data() + static_cast<std::size_t>(ids.data()[t]) * features;
        std::copy_n(row, features, result.data() + t * features);
    }
    return result;
}

template Array<float> loop::embed(const Array<std::int64_t>&, const Array<float>&);
template Array<double> loop::embed(const Array<std::int64_t>&, const Array<double>&);
template Array<float> vectorized::embed(const Array<std::int64_t>&, const Array<float>&);
template Array<double> vectorized::embed(const Array<std::int64_t>&, const Array<double>&);

}  // namespace attn
