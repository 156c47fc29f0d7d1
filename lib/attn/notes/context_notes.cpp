#include <cmath>

#include "attn/notes/attention_rows.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/note_parts.hpp"

namespace attn::notes {
namespace {

/// True where context row `query` is exactly value row `key`, in the first matrix.
bool same_row(const Ledger& ledger, std::size_t query, std::size_t key) {
    const Tensor& context = ledger["context"];
    const Tensor* value = ledger.find("value");
    if (value == nullptr || value->dimension() < 2) return false;
    const std::size_t columns = context.shape().back();
    if (value->shape().back() != columns || key >= Matrices(*value).rows) return false;
    const Cells mixed(context);
    const Cells values(*value);
    for (std::size_t c = 0; c < columns; ++c) {
        if (mixed[query * columns + c] != values[key * columns + c]) return false;
    }
    return true;
}

/// True where a row of a matrix holds nan.
bool row_has_nan(const Tensor& tensor, std::size_t row) {
    const Cells cells(tensor);
    const std::size_t columns = tensor.shape().back();
    for (std::size_t c = 0; c < columns; ++c) {
        if (std::isnan(cells[row * columns + c])) return true;
    }
    return false;
}

/// The queries whose context is nan, and where it comes from.
std::string nan_sentence(const Subject& subject, const std::vector<AttentionRow>& rows) {
    Rows found;
    for (std::size_t q = 0; q < rows.size(); ++q) {
        if (row_has_nan(subject.tensor, q)) found.add(q);
    }
    if (found.count == 0) return {};
    const std::string names = named(subject.plan, batch_of(subject.tensor, 0), found);
    return capitalised(names) + (found.count == 1 ? " has" : " have") + " nan: " +
           (rows[found.first].has_nan
                ? "weights that are nan pass it on."
                : "a value that is nan or infinite reaches it, even with weight 0.");
}

/// One query as an example: whom it takes most from, or whose value it copies.
std::string example(const Subject& subject, const std::vector<AttentionRow>& rows) {
    const Plan& plan = subject.plan;
    const std::size_t batch = batch_of(subject.tensor, 0);
    std::string note;
    const Rows single = rows_where(
        rows, [](const AttentionRow& row) { return row.visible == 1 && row.weight == 1; });
    if (single.count > 0 && same_row(subject.ledger, single.first, rows[single.first].best)) {
        const std::string key = seen_label(plan, batch, single.first, rows[single.first].best);
        say(note, capitalised(row_label(plan, batch, single.first)) + " sees only " + key +
                      " and receives that value unchanged.");
    }
    if (const std::optional<std::size_t> query = strongest(rows)) {
        const AttentionRow& row = rows[*query];
        if (row.equals == 1) {
            const std::string who = row_label(plan, batch, *query);
            const std::string where = in_matrix(subject.tensor, 0);
            say(note, where + (where.empty() ? capitalised(who) : who) + " takes most, " +
                          number(row.weight) + ", from " +
                          seen_label(plan, batch, *query, row.best) + ".");
        }
    }
    const Rows even = rows_where(rows, [](const AttentionRow& row) { return row.even; });
    if (even.count > 0) {
        say(note, capitalised(named(plan, batch, even)) +
                      (even.count == 1 ? " receives" : " receive") +
                      " the plain mean of the values in sight.");
    }
    const Rows zero = rows_where(rows, [](const AttentionRow& row) {
        return !row.has_nan && row.visible == 0 && row.sum == 0;
    });
    if (zero.count > 0) {
        say(note, capitalised(named(plan, batch, zero)) +
                      (zero.count == 1 ? " receives" : " receive") + " 0, seeing no key.");
    }
    return note;
}

/// What the output projection reads.
std::size_t features_read(const Subject& subject) {
    return subject.ledger.latest(Chain::contexts, "output").shape().back();
}

}  // namespace

std::string context_note(const Subject& subject) {
    if (subject.plan.fused()) return fused_context_note(subject);
    const Tensor* weights = subject.ledger.find("weights");
    const std::string mixes = "Each row is the values mixed by that query's weights.";
    const bool readable = weights != nullptr && reads_as_rows(*weights) &&
                          subject.tensor.dimension() >= 2 && Matrices(subject.tensor).readable() &&
                          Matrices(subject.tensor).rows == Matrices(*weights).rows;
    if (!readable) return mixes;
    const std::vector<AttentionRow> rows = attention_rows(subject.ledger, 0);
    std::string note;
    if (subject.plan.config.softmax_axis == SoftmaxAxis::key) {
        const bool averages = rows_sum_to_one(rows, *weights);
        say(note, averages ? "Each row is an average of the value rows, weighted by attention."
                           : mixes + " They do not sum to 1, so it is no average.");
        if (averages) say(note, example(subject, rows));
    } else {
        say(note, mixes);
        if (!rows_sum_to_one(rows, *weights)) {
            say(note, "These weights do not sum to 1, so it is no average.");
        }
    }
    say(note, nan_sentence(subject, rows));
    return note;
}

std::string merged_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t width = plan.value_dim;
    if (plan.heads == 1) return "There is one head, so only the head axis goes away.";
    return "The heads of each token side by side: " + numbered("feature", 0, width) +
           (width == 1 ? " comes" : " come") + " from head 0, " +
           numbered("feature", width, width) + " from head 1" +
           (plan.heads > 2 ? " and so on" : "") + ". Nothing is computed, only moved.";
}

std::string output_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t read = features_read(subject);
    std::string note = plan.has_head && plan.heads > 1
                           ? "Here the heads meet: every output feature reads all " +
                                 counted(read, "feature") + " of all heads."
                           : "Every output feature is a mix of the " + counted(read, "feature") +
                                 " of " + (plan.has_head ? "merged" : "context") + ".";
    if (subject.ledger.has("b_output")) {
        say(note, "The bias b_output adds the same vector to each token.");
    }
    if (subject.tensor.shape().back() == plan.embed_dim) {
        say(note,
            "Each token has " + counted(plan.embed_dim, "feature") + " again, as many as in x.");
    }
    return note;
}

}  // namespace attn::notes
