#include "attn/steps/context.hpp"

#include <algorithm>
#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/notes/attention_rows.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/projection.hpp"

namespace attn {
namespace {

using namespace notes;

// context: the values, weighted and added up.

Tensor compute_context(const Plan& plan, const Ledger& ledger) {
    if (plan.fused()) return blockwise_context(plan, ledger);
    return with_floating(plan.compute_dtype, [&]<class T>(T) -> Tensor {
        const Array<T>& weights = ledger.latest(Chain::weights).as<T>();
        const Array<T>& value = ledger.latest(Chain::values).as<T>();
        return {plan.per_head_axes("query", "feature"),
                is_loop(plan) ? loop::context(weights, value, plan.attention_arithmetic)
                              : vectorized::context(weights, value, plan.attention_arithmetic)};
    });
}

bool is_fused(const Plan& plan) { return plan.fused(); }

std::string context_rule(const PlannedStep& of) {
    if (of.plan.fused()) return blockwise_context_rule(of);
    return "context[q,f] = sum k: weights[q,k] * values[k,f]";
}

std::vector<Input> context_inputs(const Plan& plan) {
    if (!plan.fused()) return {Chain::weights, Chain::values};
    return {Chain::queries, Chain::keys, Chain::values};
}

/// True where context row `query` is exactly value row `key`, in the first matrix.
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
    return capitalised(named(subject, found)) + (found.count == 1 ? " has" : " have") + " nan: " +
           (rows[found.first].has_nan
                ? "weights that are nan pass it on."
                : "a value that is nan or infinite reaches it, even with weight 0.");
}

/// One query as an example: whom it takes most from, or whose value it copies.
std::string example(const Subject& subject, const std::vector<AttentionRow>& rows) {
    std::string note;
    const Rows single = rows_where(
        rows, [](const AttentionRow& row) { return row.visible == 1 && row.weight == 1; });
    if (single.count > 0 && same_row(subject, single.first, rows[single.first].best)) {
        const std::string key = seen_label(subject, single.first, rows[single.first].best);
        say(note, capitalised(row_label(subject, single.first)) + " sees only " + key +
                      " and receives that value unchanged.");
    }
    if (const std::optional<std::size_t> query = strongest(rows)) {
        const AttentionRow& row = rows[*query];
        if (row.equals == 1) {
            say(note, of_first_matrix(subject, row_label(subject, *query) + " takes most, " +
                                                   number(row.weight) + ", from " +
                                                   seen_label(subject, *query, row.best) + "."));
        }
    }
    const Rows even = rows_where(rows, [](const AttentionRow& row) { return row.even; });
    if (even.count > 0) {
        say(note, capitalised(named(subject, even)) + (even.count == 1 ? " receives" : " receive") +
                      " the plain mean of the visible values.");
    }
    const Rows zero = rows_where(rows, [](const AttentionRow& row) {
        return !row.has_nan && row.visible == 0 && row.sum == 0;
    });
    if (zero.count > 0) {
        say(note, capitalised(named(subject, zero)) + (zero.count == 1 ? " receives" : " receive") +
                      " 0, seeing no key.");
    }
    return note;
}

std::string mixing_note(const Subject& subject) {
    if (subject.plan.fused()) return blockwise_context_note(subject);
    const Ledger::Entry* entry = subject.ledger.find_latest(Chain::weights);
    const Tensor* weights = entry ? &entry->tensor : nullptr;
    const std::string mixes = "Each row is the values mixed by that query's weights.";
    const bool readable = weights != nullptr && has_readable_rows(*weights) &&
                          subject.tensor.dimension() >= 2 && Matrices(subject.tensor).readable() &&
                          Matrices(subject.tensor).rows == Matrices(*weights).rows;
    if (!readable) return mixes;
    const std::vector<AttentionRow> rows = attention_rows(subject.ledger, 0, entry->name);
    const RowSums sums = row_sums(subject.ledger, entry->name);
    const bool averages = !sums.to_other;
    std::string note;
    if (subject.plan.config.softmax_axis == SoftmaxAxis::key) {
        say(note, averages
                      ? "Each row" + (sums.which().empty() ? "" : " of a query" + sums.which()) +
                            " is an average of the value rows, weighted by attention."
                  : subject.has("sink")
                      ? mixes + " They sum to less than 1: the sink's share has no value."
                      : mixes + " They do not sum to 1, so it is no average.");
        if (averages) say(note, example(subject, rows));
    } else {
        say(note, mixes);
        if (!averages) {
            say(note, "These weights do not sum to 1, so it is no average.");
        }
    }
    say(note, nan_sentence(subject, rows));
    return note;
}

std::string context_note(const Subject& subject) {
    std::string note = mixing_note(subject);
    say(note, chunk_rows(subject));
    say(note, chunk_check(subject));
    return note;
}

// merged: the heads side by side.

std::string merged_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t width = plan.value_dim;
    if (plan.context_heads() == 1) return "There is one head, so only the head axis goes away.";
    return "The heads of each token side by side: " +
           features_of_heads(heads_in(subject, width), width, "come", "from") +
           ". Nothing is computed, only moved.";
}

// output: the heads, mixed.

std::string output_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const Ledger::Entry& before = *subject.ledger.find_latest(Chain::contexts, "output");
    const std::size_t read = before.tensor.shape().back();
    std::string note = plan.has_head && plan.context_heads() > 1
                           ? "Here the heads meet: every output feature reads all " +
                                 counted(read, "feature") + " of all heads."
                           : "Every output feature is a mix of the " + counted(read, "feature") +
                                 " of " + before.name + ".";
    if (subject.ledger.has("b_output")) {
        say(note, "The bias b_output adds the same vector to each token.");
    }
    if (subject.excerpt.length("feature", subject.tensor.shape().back()) == plan.embed_dim) {
        say(note,
            "Each token has " + counted(plan.embed_dim, "feature") + " again, as many as in x.");
    }
    return note;
}

}  // namespace

StepTable context_cards() {
    return {
        {
            .name = "context",
            .title = "the weighted sum of the values, for each query",
            .chain = Chain::contexts,
            .reads = context_inputs,
            .outline =
                [](const Plan& plan) {
                    return Outline{plan.per_head_axes("query", "feature"),
                                   plan.per_head_shape(plan.query_len, plan.mixed_dim(),
                                                       plan.context_heads())};
                },
            .rule = context_rule,
            .formula = texts({{is_fused, "softmax(scores) @ {values}, block by block"},
                              {"{weights} @ {values}"}}),
            .compute = compute_context,
            .note = context_note,
        },
    };
}

StepTable merged_cards() {
    return {
        {
            .name = "merged",
            .title = "the heads of each token, side by side again",
            .chain = Chain::contexts,
            .applies = [](const Plan& plan) { return plan.has_head && plan.merges; },
            .reads = these({Chain::contexts}),
            .outline =
                [](const Plan& plan) {
                    return token_outline(plan, plan.context_heads() * plan.value_dim);
                },
            .rule =
                [](const PlannedStep& of) {
                    const std::string width = std::to_string(of.plan.value_dim);
                    return "merged[t,c] = " + of.latest(Chain::contexts) + "[c / " + width +
                           ", t, c % " + width + "]";
                },
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const auto step = twin(plan, loop::merge_heads<T>, vectorized::merge_heads<T>);
                return {plan.per_batch_axes("token", "feature"),
                        step(ledger.latest(Chain::contexts, "merged").as<T>())};
            }),
            .note = merged_note,

        },
        parameter_card("output", false),
        parameter_card("output", true),
        product_card({
            .name = "output",
            .title = "the heads, mixed by the output projection",
            .parameter = "output",
            .source = [](const Plan&) { return Chain::contexts; },
            .outline = [](const Plan& plan) { return token_outline(plan, plan.output_dim); },
            .applies = [](const Plan& plan) { return plan.config.output_projection; },
            .note = output_note,
            .has_bias = [](const Plan& plan) { return plan.config.output_bias; },
            .chain = Chain::contexts,
        }),
    };
}

}  // namespace attn
