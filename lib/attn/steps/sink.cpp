#include "attn/steps/sink.hpp"

#include <cmath>

#include "attn/steps/softmax.hpp"
#include "attn/steps/twins.hpp"
#include "attn/tensor/matrix_view.hpp"

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
void loop::raise_to_sink(std::span<const T> sink, MatrixView<T> row_max) {
    for_each_row(sink, row_max, [&](std::size_t g, std::size_t q, T s) {
        if (s > row_max(g, q, 0) || std::isnan(s)) row_max(g, q, 0) = s;
    });
}

template <class T>
void vectorized::raise_to_sink(std::span<const T> sink, MatrixView<T> row_max) {
    loop::raise_to_sink(sink, row_max);
}

template <class T>
void loop::add_sink(std::span<const T> sink, MatrixView<const T> row_max, MatrixView<T> row_sum) {
    for_each_row(sink, row_sum, [&](std::size_t g, std::size_t q, T s) {
        row_sum(g, q, 0) += exact_exp(s - row_max(g, q, 0));
    });
}

template <class T>
void vectorized::add_sink(std::span<const T> sink, MatrixView<const T> row_max,
                          MatrixView<T> row_sum) {
    for_each_row(sink, row_sum, [&](std::size_t g, std::size_t q, T s) {
        row_sum(g, q, 0) += std::exp(s - row_max(g, q, 0));
    });
}

template <class T>
void loop::sink_weight(std::span<const T> sink, MatrixView<const T> row_max,
                       MatrixView<const T> row_sum, MatrixView<T> result) {
    for_each_row(sink, result, [&](std::size_t g, std::size_t q, T s) {
        result(g, q, 0) = exact_exp(s - row_max(g, q, 0)) / row_sum(g, q, 0);
    });
}

template <class T>
void vectorized::sink_weight(std::span<const T> sink, MatrixView<const T> row_max,
                             MatrixView<const T> row_sum, MatrixView<T> result) {
    for_each_row(sink, result, [&](std::size_t g, std::size_t q, T s) {
        result(g, q, 0) = std::exp(s - row_max(g, q, 0)) / row_sum(g, q, 0);
    });
}

#define ATTN_INSTANTIATE(variant, T)                                                         \
    template void variant::raise_to_sink(std::span<const T>, MatrixView<T>);                 \
    template void variant::add_sink(std::span<const T>, MatrixView<const T>, MatrixView<T>); \
    template void variant::sink_weight(std::span<const T>, MatrixView<const T>,              \
                                       MatrixView<const T>, MatrixView<T>);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn
