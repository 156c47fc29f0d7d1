#include "attn/explain/notes/step_notes.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/plan/plan.hpp"
#include "attn/explain/notes/attention_rows.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

/// True if context row `query` is exactly value row `key`, in the first matrix.
bool same_row(const Subject& subject, std::size_t query, std::size_t key) {
    const Tensor& context = subject.tensor;
    const Ledger::Entry* entry = subject.ledger.find_latest(Chain::values);
    if (entry == nullptr || entry->tensor.dimension() < 2) return false;
    const Tensor* value = &entry->tensor;
    const std::size_t columns = context.shape().back();
    const std::size_t features = subject.excerpt.length("feature", columns);
    if (value->shape().back() != features || key >= Matrices(*value).rows) return false;
    const Cells mixed(context);
    const Cells values(*value);
    for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t feature = subject.excerpt.index("feature", c);
        if (mixed[query * columns + c] != values[key * features + feature]) return false;
    }
    return true;
}

/// True if a row of a matrix contains nan.
bool row_has_nan(const Tensor& tensor, std::size_t row) {
    const Cells cells(tensor);
    const std::size_t columns = tensor.shape().back();
    for (std::size_t c = 0; c < columns; ++c) {
        if (std::isnan(cells[row * columns + c])) return true;
    }
    return false;
}

/// Describes the queries whose context is nan, and the source of the nan.
std::string nan_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    Rows found;
    for (std::size_t q = 0; q < rows.size(); ++q) {
        if (row_has_nan(subject.tensor, q)) found.add(q);
    }
    if (found.count == 0) return {};
    return capitalised(named(subject, found)) + (found.count == 1 ? " has" : " have") + " nan: " +
           (rows[found.first].has_nan
                ? "weights that are nan pass it on."
                : "a value that is nan or infinite reaches it, even with weight 0.");
}

/// Describes one query as an example: the key with the largest weight, or the value that it copies.
std::string example(const Subject& subject, const std::vector<AttentionRow>& rows) {
    std::string note;
    const Rows single = rows_where(
        rows, [](const AttentionRow& row) { return row.visible == 1 && row.weight == 1; });
    if (single.count > 0 && same_row(subject, single.first, rows[single.first].best)) {
        const std::string key = seen_label(subject, single.first, rows[single.first].best);
        append_sentence(note, capitalised(row_label(subject, single.first)) + " sees only " + key +
                                  " and receives that value unchanged.");
    }
    if (const std::optional<std::size_t> query = strongest(rows)) {
        const AttentionRow& row = rows[*query];
        if (row.equals == 1) {
            append_sentence(
                note, of_first_matrix(subject, "the largest share is " + number(row.weight) + ": " +
                                                   row_label(subject, *query) + " takes it from " +
                                                   seen_label(subject, *query, row.best) + "."));
        }
    }
    const Rows even = rows_where(rows, [](const AttentionRow& row) { return row.even; });
    if (even.count > 0) {
        append_sentence(note, capitalised(named(subject, even)) +
                                  (even.count == 1 ? " receives" : " receive") +
                                  " the plain mean of the visible values.");
    }
    const Rows zero = rows_where(rows, [](const AttentionRow& row) {
        return !row.has_nan && row.visible == 0 && row.sum == 0;
    });
    if (zero.count > 0) {
        append_sentence(note, capitalised(named(subject, zero)) +
                                  (zero.count == 1 ? " receives 0: no key is visible to it."
                                                   : " receive 0: no key is visible to them."));
    }
    return note;
}

/// A query and a block, in the first matrix.
struct BlockCell {
    std::size_t query = 0, block = 0;
    double value = 0;
};

/// Finds the first number after block 0 for which `wanted(before, now)` is true.
template <class Wanted>
std::optional<BlockCell> first_block_where(const Subject& subject, Wanted wanted) {
    // Without all blocks, they are not consecutive.
    if (!subject.excerpt.has_all_in_order("block")) return std::nullopt;
    const Matrices matrices(subject.tensor);
    const Cells cells(subject.tensor);
    for (std::size_t q = 0; q < matrices.rows; ++q) {
        for (std::size_t b = 1; b < matrices.columns; ++b) {
            const double before = cells[q * matrices.columns + b - 1];
            const double now = cells[q * matrices.columns + b];
            if (wanted(before, now)) return BlockCell{q, b, now};
        }
    }
    return std::nullopt;
}

std::string running_max_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t blocks = subject.excerpt.length("block", subject.tensor.shape().back());
    std::string note = "The keys come in " + counted(blocks, "block") + " of up to " +
                       counted(plan.key_block(), "key") +
                       ". Each query keeps only the largest score so far.";
    const auto raised = first_block_where(subject, [](double a, double b) { return b > a; });
    if (raised) {
        append_sentence(note, of_first_matrix(subject, row_label(subject, raised->query) +
                                                           " gets a larger one, " +
                                                           number(raised->value) + ", in block " +
                                                           std::to_string(raised->block) + "."));
    }
    return note;
}

std::string correction_note(const Subject& subject) {
    std::string note =
        "Exponentials are relative to the maximum, so a new maximum shrinks the old ones by a "
        "common factor. It is 1 if the maximum stays, and 0 while there is nothing to correct.";
    const auto below = first_block_where(subject, [](double, double b) { return b > 0 && b < 1; });
    if (below) {
        append_sentence(
            note, of_first_matrix(subject, "the sums of " + row_label(subject, below->query) +
                                               " so far are multiplied by " + number(below->value) +
                                               " in block " + std::to_string(below->block) + "."));
    }
    return note;
}

std::string running_sum_note(const Subject& subject) {
    const Matrices matrices(subject.tensor);
    if (matrices.cells() == 0) return {};
    const double last = Cells(subject.tensor)[matrices.columns - 1];
    std::string note = "After the last block it is the sum that softmax over all keys divides by.";
    if (std::isfinite(last) && subject.excerpt.has_all_in_order("block")) {
        append_sentence(note, of_first_matrix(subject, "for " + row_label(subject, 0) +
                                                           " that is " + number(last) + "."));
    }
    return note;
}

std::string partial_context_note(const Subject&) {
    return "Each block adds its values, weighted by their exponentials, to the corrected sum. "
           "Divided by running_sum after the last block, it is the context: the same as with "
           "softmax over all keys, although no query ever had all its scores at once.";
}

std::string blockwise_context_note(const Subject& subject) {
    std::string note =
        "The kernel never stored all scores: it kept one block of them at a time, in the cache, "
        "and for each query a maximum, a sum and a context.";
    append_sentence(note, not_finite(subject.tensor));
    return note;
}

std::string mixing_note(const Subject& subject) {
    if (subject.plan.fused()) return blockwise_context_note(subject);
    const Ledger::Entry* entry = subject.ledger.find_latest(Chain::weights);
    const Tensor* weights = entry ? &entry->tensor : nullptr;
    const std::string mixes = "Each row mixes the values by that query's weights.";
    const bool readable = weights != nullptr && has_readable_rows(*weights) &&
                          subject.tensor.dimension() >= 2 && Matrices(subject.tensor).readable() &&
                          Matrices(subject.tensor).rows == Matrices(*weights).rows;
    if (!readable) return mixes;
    const std::vector<AttentionRow> rows = attention_rows(subject.ledger, 0, entry->name);
    const RowSums sums = row_sums(subject.ledger, entry->name);
    const bool averages = !sums.to_other;
    std::string note;
    if (subject.plan.config.softmax_axis == SoftmaxAxis::key) {
        append_sentence(
            note, averages
                      ? "Each row" + (sums.which().empty() ? "" : " of a query" + sums.which()) +
                            " is an average of the value rows, weighted by attention."
                  : subject.has("sink")
                      ? mixes + " They sum to less than 1: the sink's share has no value."
                      : mixes + " The weights do not sum to 1, so a row is not an average.");
        if (averages) append_sentence(note, example(subject, rows));
    } else {
        append_sentence(note, mixes);
        if (!averages) {
            append_sentence(note, "The weights do not sum to 1, so a row is not an average.");
        }
    }
    append_sentence(note, nan_sentence(subject, rows));
    return note;
}

std::string context_note(const Subject& subject) {
    std::string note = mixing_note(subject);
    append_sentence(note, chunk_rows(subject));
    append_sentence(note, chunk_check(subject));
    return note;
}

}  // namespace

NoteTable context_notes() {
    return {{"context", context_note},
            {"running_max", running_max_note},
            {"correction", correction_note},
            {"running_sum", running_sum_note},
            {"partial_context", partial_context_note}};
}

}  // namespace attn::notes
