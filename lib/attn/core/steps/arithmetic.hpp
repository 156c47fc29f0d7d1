#pragma once
#include <cmath>
#include <cstddef>
#include <utility>

#include "attn/ground/simd/dot.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

/// Returns the scores after applying `change(group, query, key, score)` to each.
template <class T, class Change>
Array<T> with_each_cell(Array<T> scores, const Change& change) {
    const MatrixView<T> cells = matrices_of(scores);
    for (std::size_t g = 0; g < cells.groups; ++g) {
        for (std::size_t q = 0; q < cells.rows; ++q) {
            for (std::size_t k = 0; k < cells.columns; ++k) change(g, q, k, cells(g, q, k));
        }
    }
    return scores;
}

}  // namespace attn
