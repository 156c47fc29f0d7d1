#pragma once
#include <span>

#include "attn/ground/tensor/matrix_view.hpp"

namespace attn {

// An attention sink: a logit s per head that joins the softmax of all its queries, as if an
// additional key had that score and a value of zero. The functions below change intermediate
// results of softmax (attn/core/steps/softmax.hpp). `sink` has one number per head; matrix g
// belongs to head g % heads.

/// Raises the maximum of each row to the sink's logit, so that its exponential cannot overflow,
/// either.
///
///     row_max(q) = max(row_max(q), s)
///
/// Range   a fully masked row has the sink's logit; nan stays nan.
template <class T>
void raise_to_sink(std::span<const T> sink, MatrixView<T> row_max);

/// Adds the sink to the sum that the exponentials of each row are divided by.
///
///     row_sum(q) = row_sum(q) + exp(s - row_max(q))
///
/// Why     with s = 0 this is the 1 of "off-by-one softmax", 1 + sum of exp(score): a query may
///         attend to nothing. The 1 is scaled like all exponentials: with the maximum m subtracted
///         it is exp(-m).
/// Source  Xiao et al. 2023, StreamingLLM; gpt-oss, whose sinks are learned.
template <class T>
void add_sink(std::span<const T> sink, MatrixView<const T> row_max, MatrixView<T> row_sum);

}  // namespace attn
