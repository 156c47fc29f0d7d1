#include "attn/core/steps/sink.hpp"

#include <cmath>

#include "attn/core/steps/softmax.hpp"
#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {
namespace {

/// Calls `row(group, query, the head's sink)` for every row.
template <class T, class Row>
void for_each_row(std::span<const T> sink, const MatrixView<T>& rows, Row row) {
    require_fit(!sink.empty() && rows.groups % sink.size() == 0,
                "rows of " + std::to_string(rows.groups) + " heads do not fit " +
                    std::to_string(sink.size()) + " sinks: give one for each head");
    for (std::size_t g = 0; g < rows.groups; ++g) {
        for (std::size_t q = 0; q < rows.rows; ++q) row(g, q, sink[g % sink.size()]);
    }
}

}  // namespace

template <class T>
void raise_to_sink(std::span<const T> sink, MatrixView<T> row_max) {
    for_each_row(sink, row_max, [&](std::size_t g, std::size_t q, T s) {
        if (s > row_max(g, q, 0) || std::isnan(s)) row_max(g, q, 0) = s;
    });
}

template <class T>
void add_sink(std::span<const T> sink, MatrixView<const T> row_max, MatrixView<T> row_sum) {
    for_each_row(sink, row_sum, [&](std::size_t g, std::size_t q, T s) {
        row_sum(g, q, 0) += exact_exp(s - row_max(g, q, 0));
    });
}

template void raise_to_sink(std::span<const float>, MatrixView<float>);
template void raise_to_sink(std::span<const double>, MatrixView<double>);
template void add_sink(std::span<const float>, MatrixView<const float>, MatrixView<float>);
template void add_sink(std::span<const double>, MatrixView<const double>, MatrixView<double>);

}  // namespace attn
