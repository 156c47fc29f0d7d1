#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/judge/trace/product.hpp"
#include "attn/judge/trace/trace.hpp"

namespace attn {

/// The tensors at the heart of one attention in a trace: scores = query . key, weights, and
/// context = weights . value. Indices are places in the trace.
struct Core {
    std::size_t query, key, scores;
    std::size_t softmaxed;  ///< what softmax gave
    std::size_t weights;    ///< what meets the values; the same unless changed after it
    std::optional<std::size_t> value, context;
    Contraction product;               ///< of scores, a being the query
    std::optional<Contraction> sum;    ///< of context, a being the weights
    std::size_t query_axis, key_axis;  ///< of scores and weights
    /// The axes of scores that the tokens of query and key are; exchanged if the operands are.
    std::size_t query_token, key_token;
    std::vector<std::size_t> rest;  ///< the other axes of scores: batch, heads
};

/// The attentions of a trace, in the order of time. `statements` holds the source of the line of
/// each tensor, empty if it is not known: a line that has the word softmax is a hint.
///
/// A softmax is found by its numbers: rows that sum to 1 between a product and another one. Names
/// and words are hints.
std::vector<Core> cores_in(const std::vector<Traced>& trace,
                           const std::vector<std::string>& statements);

/// True if the numbers are no more than two: a mask, or a tensor that is still to be filled.
bool has_two_values(const Traced& tensor);

/// The rows of a tensor along an axis.
struct RowsAlong {
    RowsAlong(const Traced& tensor, std::size_t axis);
    std::size_t length, step;  ///< cells of a row, and from one to the next

    /// The first cell of the row that a cell is in.
    std::size_t first(std::size_t cell) const { return cell - cell / step % length * step; }
};

/// Whether numbers along an axis are at least 0 and sum to 1; rows of nan do not count.
bool sums_to_one(const Traced& tensor, std::size_t axis);

}  // namespace attn
