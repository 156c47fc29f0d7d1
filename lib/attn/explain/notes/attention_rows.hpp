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
    std::size_t equals = 0;   ///< how many keys have that weight, to rounding
    double weight = 0;        ///< the largest weight
    double sum = 0;
    bool has_nan = false;
    bool bad_score = false;  ///< nan or +inf was among the scores already
    bool even = false;       ///< two or more visible keys, all with the same weight

    /// True if the query chose: several keys, one of them larger than the others.
    bool chooses() const { return !has_nan && visible > 1 && !even && weight > 0; }
};

/// The rows of one matrix of weights, or of the step of that name, one for each query.
std::vector<AttentionRow> attention_rows(const Ledger& ledger, std::size_t group,
                                         std::string_view name = "weights");

/// True if the last two axes are query and key: only then rows and columns have names.
bool has_rows_of_keys(const Tensor& tensor);
/// The same, and of a size worth scanning.
bool has_readable_rows(const Tensor& weights);

/// `'short' with 'eat'`: the query and the key of a cell of the first matrix.
std::string pair_text(const Subject& subject, const MatrixCell& cell);

/// The largest score of the first matrix, before a step that changes scores one by one and after.
struct LargestScore {
    double before = 0, after = 0;
    std::string sentence;  ///< `The largest goes from 2.5 to 1.25.`

    /// True if that is what came out, to rounding.
    bool became(double expected) const;
};

/// Nothing if scores of another shape came before, or none that can be read.
std::optional<LargestScore> largest_score(const Subject& subject);

/// The row that chooses most strongly; nothing if none does.
std::optional<std::size_t> strongest(const std::vector<AttentionRow>& rows);

/// The sums of the rows of all matrices, as far as they are worth scanning.
struct RowSums {
    bool any = false;       ///< a row is neither nan nor 0
    bool no_key = false;    ///< a row that sees no key is nan or 0
    bool has_nan = false;   ///< a row that sees one is nan
    bool to_other = false;  ///< a row that sees one does not sum to 1

    /// Which rows are meant where not all: ` that sees a key`.
    std::string which() const {
        return has_nan ? " without nan" : no_key ? " that sees a key" : "";
    }
};
RowSums row_sums(const Ledger& ledger, std::string_view name = "weights");

/// The rows of one kind: how many, and the first.
template <class Fact>
Rows rows_where(const std::vector<AttentionRow>& rows, Fact fact) {
    Rows found;
    for (std::size_t q = 0; q < rows.size(); ++q) {
        if (fact(rows[q])) found.add(q);
    }
    return found;
}

// The notes of the steps that make weights of scores.

std::string row_max_note(const Subject& subject);
std::string exponentials_note(const Subject& subject);
std::string row_sum_note(const Subject& subject);
std::string weights_note(const Subject& subject);

/// How much of the gradient of the weights softmax lets through to the scores, in one row that sees
/// several keys: the sum of their sizes after softmax, by that in front of it.
struct LetThrough {
    std::size_t group, row;
    double share;
    double largest_weight;
};

/// Of each row with a gradient, in their order; nothing if softmax went along another axis, or
/// where the walk does not go back through it.
std::vector<LetThrough> let_through(const Ledger& ledger);

/// How a sentence writes such a share: `16%`, `0.03%`.
std::string percent(double share);

/// A note on the gradient of softmax's scores: what comes through.
std::string softmax_gradient_note(const Subject& subject);

/// A note on any other gradient: how it comes to be, and where the loss changes most.
std::string gradient_note(const Subject& subject, const std::string& how);

}  // namespace attn::notes
