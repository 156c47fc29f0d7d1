#include "attn/explain/notes/attention_rows.hpp"

#include <algorithm>
#include <cmath>

#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

/// The name of a set of weights that sums to 1: one row over keys, one column over queries, ...
struct AxisWords {
    const char* axis;     ///< name of the axis
    const char* subject;  ///< the set that sums to 1
    const char* every;    ///< the region in which all cells would have to be hidden
};

AxisWords axis_words(const Plan& plan) {
    switch (plan.config.softmax_axis) {
        case SoftmaxAxis::query:
            return {"query", "each column sums to 1 over the queries", "for every query"};
        case SoftmaxAxis::head:
            return {"head", "each cell sums to 1 over the heads", "in every head"};
        case SoftmaxAxis::batch:
            return {"batch", "each cell sums to 1 over the sequences of the batch",
                    "in every sequence"};
        default:
            return {"key", "each row sums to 1 over the keys", "for every key"};
    }
}

/// Returns the name of one line of the axis of softmax.
std::string line_text(const Plan& plan) {
    switch (plan.config.softmax_axis) {
        case SoftmaxAxis::query:
            return "column (one key, all queries)";
        case SoftmaxAxis::head:
            return "cell over all heads";
        case SoftmaxAxis::batch:
            return "cell over all sequences";
        default:
            return "row (one query, all keys)";
    }
}

/// True if everything along `axis` sums to 1, to rounding; ignores lines that are nan or all zero.
bool sums_to_one(const Tensor& weights, const std::string& axis) {
    if (!weights.has_axis(axis) || weights.size() > most_cells) return false;
    const auto [outer, length, inner] = axis_view(weights.shape(), weights.axis(axis));
    const Cells cells(weights);
    const double tolerance = rounding(weights) * (4 + std::sqrt(static_cast<double>(length)));
    for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t i = 0; i < inner; ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < length; ++k) sum += cells[(o * length + k) * inner + i];
            if (sum != 0 && std::abs(sum - 1) > tolerance) return false;
        }
    }
    return true;
}

bool holds_nan(const Tensor& tensor) {
    if (tensor.size() > most_cells) return false;
    const Cells cells(tensor);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isnan(cells[i])) return true;
    }
    return false;
}

/// Returns `'short' attends most to 'eat'`, and the number of other keys with an equal weight.
std::string attends_text(const Subject& subject, std::size_t query, const AttentionRow& row) {
    return row_label(subject, query) + " attends most to " + seen_label(subject, query, row.best) +
           (row.equals > 1 ? " and equally to " + counted(row.equals - 1, "other") : "");
}

/// Describes the largest weight of a query with several keys.
std::string strongest_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    const std::optional<std::size_t> query = strongest(rows);
    if (!query) return {};
    const AttentionRow& row = rows[*query];
    const bool forced =
        rows_where(rows, [](const AttentionRow& r) { return r.visible == 1; }).count > 0;
    return std::string(forced ? "Among queries with a choice, the" : "The") + " largest weight" +
           shown_here(subject) + within_matrix(subject) + " is " + number(row.weight) + ": " +
           attends_text(subject, *query, row) +
           (row_sums(subject.ledger).to_other
                ? "."
                : " (an even share would be " + number(1.0 / static_cast<double>(row.visible)) +
                      ").");
}

/// Describes queries that see a single key: their weight is 1 whatever the score.
std::string single_key_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    const Rows single = rows_where(
        rows, [](const AttentionRow& row) { return row.visible == 1 && row.weight == 1; });
    if (single.count == 0) return {};
    if (single.count == 1) {
        return capitalised(row_label(subject, single.first)) + " sees only " +
               seen_label(subject, single.first, rows[single.first].best) +
               ", so that weight is 1.";
    }
    return capitalised(named(subject, single)) + " see a single key each: that weight is 1.";
}

bool has_zero_query(const Subject& subject, std::size_t row) {
    const Ledger::Entry* queries = subject.ledger.find_latest(Chain::queries);
    if (queries == nullptr) return false;
    const Tensor* query = &queries->tensor;
    if (query->dimension() < 2 || row >= Matrices(*query).rows) return false;
    const Cells cells(*query);
    const std::size_t columns = query->shape().back();
    for (std::size_t c = 0; c < columns; ++c) {
        if (cells[row * columns + c] != 0) return false;
    }
    return true;
}

/// Describes queries that attend equally to all visible keys, and the reason.
std::string even_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    const Rows even = rows_where(rows, [](const AttentionRow& row) { return row.even; });
    if (even.count == 0) return {};
    const AttentionRow& first = rows[even.first];
    const std::string who = capitalised(named(subject, even));
    const std::string why = has_zero_query(subject, even.first)
                                ? "a zero query scores 0 with every key"
                                : "the scores it sees are equal";
    if (even.count == 1) {
        return who + " attends to its " + std::to_string(first.visible) + " keys evenly, " +
               number(first.weight) + " each: " + why + ".";
    }
    return who + " attend evenly to all keys they see: equal scores get equal weights.";
}

/// Describes queries whose row is nan or was set to 0, and the reason.
std::string empty_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    std::string note;
    const Rows hidden = rows_where(rows, [](const AttentionRow& row) { return row.visible == 0; });
    if (hidden.count > 0) {
        const AttentionRow& row = rows[hidden.first];
        append_sentence(note, capitalised(named(subject, hidden)) +
                                  (hidden.count == 1 ? " sees" : " see") + " no key" +
                                  (row.has_nan           ? ": softmax divides 0 by 0, which is nan."
                                   : row.sum != 0        ? "."
                                   : subject.has("sink") ? ": the sink takes all the weight."
                                                         : ": such a row is 0, as set."));
    }
    const Rows bad =
        rows_where(rows, [](const AttentionRow& row) { return row.has_nan && row.visible > 0; });
    if (bad.count > 0) {
        append_sentence(
            note,
            "The weights of " + named(subject, bad) + " are nan" +
                (rows[bad.first].bad_score ? ", because a score there is nan or infinite." : "."));
    }
    return note;
}

/// Describes the cell with the largest weight of the first matrix.
std::string largest_weight(const Subject& subject, const MatrixCell& cell) {
    return "The largest weight" + shown_here(subject) + within_matrix(subject) + " is " +
           number(cell.value) + (cell.alone ? ": " : ", first at ") + row_label(subject, cell.row) +
           " to " + seen_label(subject, cell.row, cell.column) + ".";
}

/// Describes the place of the largest weight of all matrices.
std::string overall_sentence(const Subject& subject, const std::vector<AttentionRow>& first) {
    const Matrices matrices(subject.tensor);
    if (matrices.count < 2 || !matrices.all_readable()) return {};
    std::size_t group = 0;
    std::size_t query = 0;
    std::optional<AttentionRow> best;
    for (std::size_t g = 0; g < matrices.count; ++g) {
        const std::vector<AttentionRow> rows = g == 0 ? first : attention_rows(subject.ledger, g);
        const std::optional<std::size_t> candidate = strongest(rows);
        if (!candidate || (best && rows[*candidate].weight <= best->weight)) continue;
        best = rows[*candidate];
        group = g;
        query = *candidate;
    }
    if (!best || group == 0) return {};
    const std::string opening =
        strongest(first) ? "The largest of all is " : "Elsewhere the largest weight is ";
    return opening + number(best->weight) + ": " + row_label(subject, query, group) + " to " +
           seen_label(subject, query, best->best, group) + within_matrix(subject, group) + ".";
}

std::string sums_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    const RowSums sums = row_sums(subject.ledger);
    if (!sums.any) return {};
    const bool several = rows.size() > 1 || Matrices(subject.tensor).count > 1;
    const std::string who = std::string(several ? "Each row" : "The row") + sums.which();
    if (!sums.to_other) {
        return who + (several ? " sums to 1: it shows how a query divides its attention among the "
                                "keys."
                              : " sums to 1.");
    }
    if (subject.has("sink")) {
        return who + " sums to less than 1, because the sink takes the rest: that of " +
               row_label(subject, 0) + " sums to " + number(rows.front().sum) + ".";
    }
    std::size_t query = 0;
    const auto is_no_example = [](const AttentionRow& row) {
        const bool empty = row.visible == 0 && row.sum == 0;
        return row.has_nan || empty || std::abs(row.sum - 1) < 1e-4;
    };
    while (is_no_example(rows[query])) {
        if (++query == rows.size()) return {};
    }
    return "The rows do not sum to 1 here: that of " + row_label(subject, query) + " sums to " +
           number(rows[query].sum) + ".";
}

std::string weights_over_keys(const Subject& subject) {
    const std::vector<AttentionRow> rows = attention_rows(subject.ledger, 0);
    std::string note = sums_sentence(subject, rows);
    append_sentence(note, single_key_sentence(subject, rows));
    append_sentence(note, strongest_sentence(subject, rows));
    append_sentence(note, even_sentence(subject, rows));
    append_sentence(note, empty_sentence(subject, rows));
    append_sentence(note, overall_sentence(subject, rows));
    append_sentence(note, chunk_rows(subject));
    return note;
}

/// Describes the share of each row that goes to the keys of an excerpt.
std::string share_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    std::vector<std::size_t> queries;
    for (std::size_t q = 0; q < rows.size(); ++q) {
        if (!rows[q].has_nan) queries.push_back(q);
    }
    if (queries.empty()) return {};
    const auto [least, most] =
        std::ranges::minmax(queries, {}, [&](std::size_t q) { return rows[q].sum; });
    const std::size_t keys = Matrices(subject.tensor).columns;
    const std::string some = "these " + std::to_string(keys) + " of the " +
                             counted(subject.excerpt.length("key", keys), "key");
    if (rows.size() == 1) {
        return of_first_matrix(subject, row_label(subject, 0) + " gives " +
                                            (keys == 1 ? seen_label(subject, 0, 0) : some) + " " +
                                            number(rows[0].sum) + " of its attention.");
    }
    return of_first_matrix(subject, (keys == 1 ? column_label(subject, 0) : some) +
                                        (keys == 1 ? " takes" : " take") + " from " +
                                        number(rows[least].sum) + " (" + row_label(subject, least) +
                                        ") to " + number(rows[most].sum) + " (" +
                                        row_label(subject, most) + ") of a query's attention.");
}

/// Returns the note if keys are left out: properties of whole rows are unknown.
std::string weights_of_some_keys(const Subject& subject) {
    const std::vector<AttentionRow> rows = attention_rows(subject.ledger, 0);
    const Matrices matrices(subject.tensor);
    std::string note = share_sentence(subject, rows);
    std::size_t hidden = 0;
    for (const AttentionRow& row : rows) hidden += row.has_nan ? 0 : matrices.columns - row.visible;
    if (hidden > 0) {
        append_sentence(
            note,
            std::to_string(hidden) + " of the " + counted(matrices.cells(), "cell") + " shown" +
                within_matrix(subject) +
                (hidden == 1 ? " is hidden: its weight is 0." : " are hidden: their weight is 0."));
    }
    const std::optional<MatrixCell> first = largest_cell(subject.tensor, 0);
    if (first && first->value > 0 && matrices.columns > 1) {
        append_sentence(note, largest_weight(subject, *first));
    }
    const Rows bad = rows_where(rows, [](const AttentionRow& row) { return row.has_nan; });
    if (bad.count > 0) append_sentence(note, "The weights of " + named(subject, bad) + " are nan.");
    return note;
}

/// Returns the note for a softmax over another axis than the keys, which gives rows another
/// meaning.
std::string weights_over_other_axis(const Subject& subject) {
    const Plan& plan = subject.plan;
    const AxisWords words = axis_words(plan);
    const Tensor& weights = subject.tensor;
    std::string note = std::string("Softmax ran over the ") + words.axis + " axis";
    const bool has_lines = weights.has_axis(words.axis) && subject.excerpt.has_all(words.axis);
    const bool alone = has_lines && weights.extent(words.axis) == 1;
    const bool sums = has_lines && !alone && sums_to_one(weights, words.axis);
    if (alone) {
        note += ", of which there is only one: every weight that is not hidden is 1";
    } else if (sums) {
        note += std::string(": ") + words.subject;
    }
    const std::vector<AttentionRow> rows = attention_rows(subject.ledger, 0);
    const Rows off = rows_where(rows, [](const AttentionRow& row) {
        return !row.has_nan && std::abs(row.sum - 1) >= 5e-4;
    });
    if (off.count > 0 && subject.excerpt.has_all("key")) {
        note += (sums ? "; rows then do not, that of " : "; rows do not sum to 1, that of ") +
                row_label(subject, off.first) + " sums to " + number(rows[off.first].sum);
    }
    note += ".";
    if (holds_nan(weights)) {
        append_sentence(note, std::string("It is nan if a cell is hidden ") + words.every +
                                  " or a score was nan or infinite.");
    }
    const std::optional<MatrixCell> largest = largest_cell(weights, 0);
    if (largest && !alone) {
        append_sentence(note, largest_weight(subject, *largest));
    }
    return note;
}

}  // namespace

std::string row_max_note(const Subject& subject) {
    std::string note = "The largest score of each " + line_text(subject.plan) +
                       (subject.has("sink") ? ", or the sink if that is larger" : "") +
                       ". It is subtracted first, so that exp() cannot overflow; the weights stay "
                       "the same.";
    if (subject.tensor.size() > most_cells) return note;
    const Cells cells(subject.tensor);
    std::size_t empty = 0;
    for (std::size_t i = 0; i < subject.tensor.size(); ++i) {
        if (std::isinf(cells[i]) && cells[i] < 0) ++empty;
    }
    if (empty > 0) append_sentence(note, "It is -inf if every cell is hidden.");
    return note;
}

std::string exponentials_note(const Subject& subject) {
    const bool nan = holds_nan(subject.tensor);
    std::string note = std::string("The exponential of each score minus the largest") +
                       (subject.has("sink") ? " of the scores and the sink" : "") +
                       ": the largest becomes 1, smaller ones come nearer to 0.";
    if (subject.plan.masks()) append_sentence(note, "Hidden cells give exactly 0.");
    if (nan)
        append_sentence(note, "It is nan if all cells are hidden, or a score is nan or infinite.");
    return note;
}

std::string row_sum_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const AxisWords words = axis_words(plan);
    const Tensor* exponentials = subject.ledger.find("exponentials");
    const std::size_t all = exponentials != nullptr && exponentials->has_axis(words.axis)
                                ? exponentials->extent(words.axis)
                                : plan.key_len;
    const std::string most =
        plan.masks() ? "the number of cells that are not hidden" : std::to_string(all);
    std::string note = "The exponentials of each " + line_text(plan) +
                       " add up to a number from 1, if one score dominates, to " + most +
                       ", if all are equal. Dividing by it gives the weights.";
    if (subject.has("sink")) {
        append_sentence(note,
                        "The sink adds its own exponential, 1 at most, which belongs to no key.");
    }
    if (holds_nan(subject.tensor)) append_sentence(note, "A nan among them makes the sum nan.");
    return note;
}

std::string weights_note(const Subject& subject) {
    if (!has_readable_rows(subject.tensor)) {
        return std::string("Softmax over the ") + axis_words(subject.plan).axis +
               " axis turned scores into weights.";
    }
    if (subject.plan.config.softmax_axis != SoftmaxAxis::key) {
        return weights_over_other_axis(subject);
    }
    return subject.excerpt.has_all("key") ? weights_over_keys(subject)
                                          : weights_of_some_keys(subject);
}

}  // namespace attn::notes
