#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/judge/trace/product.hpp"
#include "attn/judge/trace/trace.hpp"

namespace attn {

/// The central tensors of one attention in a trace: scores = query . key, weights, and context =
/// weights . value. Indices are places in the trace.
struct Core {
    std::size_t query, key, scores;
    std::size_t softmaxed;  ///< the result of softmax
    std::size_t weights;    ///< the factor of the values; differs if the result was changed
    std::optional<std::size_t> value, context;
    Contraction product;               ///< of scores; a is the query
    std::optional<Contraction> sum;    ///< of context; a is the weights
    std::size_t query_axis, key_axis;  ///< of scores and weights
    /// The token axes of query and key in the scores; exchanged if the operands are.
    std::size_t query_token, key_token;
    std::vector<std::size_t> rest;  ///< the other axes of scores: batch, heads
};

/// Finds the attentions of a trace, in order of time.
///
/// A softmax is found by its numbers: rows that sum to 1 between two products. Names and words are
/// hints.
std::vector<Core> cores_in(const Trace& trace);

/// The step that the name of a variable most likely means; empty for an expression, or a name that
/// means none.
std::string called(const Traced& tensor);

/// The place of a softmax with one more column than these weights, which are all but its last: that
/// of a sink.
std::optional<std::size_t> softmax_with_sink(const Trace& trace, std::size_t weights);

/// True if an expression multiplies tensors and adds the products.
bool is_product(const std::string& text);

/// True if the tensor has at most two distinct numbers: a mask, or one that is not filled yet.
bool has_two_values(const Traced& tensor);

/// The rows of a tensor along an axis.
struct RowsAlong {
    RowsAlong(const Traced& tensor, std::size_t axis);
    std::size_t length, step;  ///< cells per row, and the stride between them

    /// Returns the first cell of the row that contains a cell.
    std::size_t first(std::size_t cell) const { return cell - cell / step % length * step; }
};

/// True if the numbers along an axis are at least 0 and sum to 1; rows of nan are ignored.
bool sums_to_one(const Traced& tensor, std::size_t axis);

/// The relative difference that two tensors of these types may have.
double slack_of(const Traced& a, const Traced& b);

/// Returns the largest number in a cell's row.
double top_of_row(const Traced& tensor, const RowsAlong& rows, std::size_t cell);

/// True if every cell is exp of a cell, minus the largest of its row or not.
bool is_exponential(const Traced& from, const Traced& to, std::size_t axis);

/// True if `to` is the softmax of `from` along an axis.
bool is_softmax(const Traced& from, const Traced& to, std::size_t axis);

/// True if the largest number along some axis was subtracted: it changes no softmax along it.
bool is_lowered_by_top(const Traced& from, const Traced& to);

/// True if each column was divided by the sum of the row of its number, as `e / e.sum(1)` does.
bool is_divided_by_other_sums(const Traced& e, const Traced& to);

}  // namespace attn
