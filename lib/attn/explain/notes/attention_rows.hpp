#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// Properties of one row of weights, one query's.
struct AttentionRow {
    std::size_t visible = 0;  ///< keys whose score is not -inf
    std::size_t best = 0;     ///< the key with the largest weight, the first of equals
    std::size_t equals = 0;   ///< number of keys with that weight, to rounding
    double weight = 0;        ///< the largest weight
    double sum = 0;
    bool has_nan = false;
    bool bad_score = false;  ///< a score is already nan or +inf
    bool even = false;       ///< two or more visible keys, all with the same weight

    /// True if the query prefers some of several keys.
    bool chooses() const { return !has_nan && visible > 1 && !even && weight > 0; }
};

/// Returns the rows of one matrix of weights, or of the step with that name, one per query.
std::vector<AttentionRow> attention_rows(const Ledger& ledger, std::size_t group,
                                         std::string_view name = "weights");

/// True if the last two axes are query and key, so that rows and columns have names.
bool has_rows_of_keys(const Tensor& tensor);
/// True if, in addition, the size is small enough to scan.
bool has_readable_rows(const Tensor& weights);

/// Returns `'short' with 'eat'`: the query and the key of a cell of the first matrix.
std::string pair_text(const Subject& subject, const MatrixCell& cell);

/// The largest score of the first matrix, before and after a step that changes scores elementwise.
struct LargestScore {
    double before = 0, after = 0;
    std::string sentence;  ///< `The largest goes from 2.5 to 1.25.`

    /// True if the result is this number, to rounding.
    bool became(double expected) const;
};

/// Returns nullopt if the previous scores have another shape, or none is readable.
std::optional<LargestScore> largest_score(const Subject& subject);

/// Returns the row with the strongest preference; nullopt if there is none.
std::optional<std::size_t> strongest(const std::vector<AttentionRow>& rows);

/// The row sums of all matrices, if they are small enough to scan.
struct RowSums {
    bool any = false;       ///< some row is neither nan nor 0
    bool no_key = false;    ///< a fully masked row is nan or 0
    bool has_nan = false;   ///< a row with visible keys is nan
    bool to_other = false;  ///< a row with visible keys does not sum to 1

    /// Returns the restriction if not all rows are meant: ` that sees a key`.
    std::string which() const {
        return has_nan ? " without nan" : no_key ? " that sees a key" : "";
    }
};
RowSums row_sums(const Ledger& ledger, std::string_view name = "weights");

/// Counts the rows for which a fact is true, and finds the first.
template <class Fact>
Rows rows_where(const std::vector<AttentionRow>& rows, Fact fact) {
    Rows found;
    for (std::size_t q = 0; q < rows.size(); ++q) {
        if (fact(rows[q])) found.add(q);
    }
    return found;
}

// Notes on the steps from scores to weights.

std::string row_max_note(const Subject& subject);
std::string exponentials_note(const Subject& subject);
std::string row_sum_note(const Subject& subject);
std::string weights_note(const Subject& subject);

/// The share of the weights' gradient that softmax passes on to the scores, in one row with several
/// visible keys: the sum of absolute values after softmax, divided by that before.
struct VisiblePairs {
    std::size_t group, row;
    double share;
    double largest_weight;
};

/// Returns the shares of rows with a gradient, in order; empty if softmax used another axis, or the
/// backward pass does not reach it.
std::vector<VisiblePairs> visible_pairs(const Ledger& ledger);

/// Formats a share for a sentence: `16%`, `0.03%`.
std::string percent(double share);

/// Returns a note on the gradient of softmax's scores: the share that remains.
std::string softmax_gradient_note(const Subject& subject);

/// Returns a note on any other gradient: how it is computed, and the cell with the largest one.
std::string gradient_note(const Subject& subject, const std::string& how);

}  // namespace attn::notes
