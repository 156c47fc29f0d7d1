#include "attn/steps/softmax.hpp"

#include <algorithm>

#include "attn/cards/cards.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/notes/attention_rows.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/weight_notes.hpp"
#include "attn/plan/words.hpp"
#include "attn/steps/sigmoid.hpp"
#include "attn/text/number_text.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

std::string softmax_axis(const Plan& plan) { return std::string(word(plan.config.softmax_axis)); }

bool sums_rows(const Plan& plan) { return keeps_scores(plan) && !plan.config.sigmoid; }

Axes without(Axes axes, const std::string& name) {
    std::erase(axes, name);
    return axes;
}

/// One number for each row that softmax ran over.
Outline row_outline(const Plan& plan) {
    Outline outline = score_outline(plan);
    const auto axis = std::find(outline.axes.begin(), outline.axes.end(), softmax_axis(plan));
    outline.shape.erase(outline.shape.begin() + (axis - outline.axes.begin()));
    outline.axes.erase(axis);
    return outline;
}

Tensor compute_row_max(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        const std::string axis = softmax_axis(plan);
        const std::size_t along = scores.axis(axis);
        Array<T> largest = is_loop(plan) ? loop::row_max(scores.as<T>(), along)
                                         : vectorized::row_max(scores.as<T>(), along);
        if (ledger.has("sink")) {
            const auto raise = twin(plan, loop::raise_to_sink<T>, vectorized::raise_to_sink<T>);
            raise(sink_of<T>(ledger), one_a_query(largest));
        }
        return {without(scores.axes(), axis), std::move(largest)};
    });
}

Tensor compute_exponentials(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        const Array<T>& row_max = ledger["row_max"].as<T>();
        const std::size_t along = scores.axis(softmax_axis(plan));
        return {scores.axes(), is_loop(plan)
                                   ? loop::exponentials(scores.as<T>(), row_max, along)
                                   : vectorized::exponentials(scores.as<T>(), row_max, along)};
    });
}

Tensor compute_row_sum(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& exponentials = ledger["exponentials"];
        const std::string axis = softmax_axis(plan);
        const std::size_t along = exponentials.axis(axis);
        Array<T> sums = is_loop(plan) ? loop::row_sum(exponentials.as<T>(), along)
                                      : vectorized::row_sum(exponentials.as<T>(), along);
        if (ledger.has("sink")) {
            const auto add = twin(plan, loop::add_sink<T>, vectorized::add_sink<T>);
            add(sink_of<T>(ledger), one_a_query(ledger["row_max"].as<T>()), one_a_query(sums));
        }
        return {without(exponentials.axes(), axis), std::move(sums)};
    });
}

Tensor compute_weights(const Plan& plan, const Ledger& ledger) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        if (plan.config.sigmoid) {
            return {scores.axes(), is_loop(plan) ? loop::sigmoid<T>(scores.as<T>())
                                                 : vectorized::sigmoid<T>(scores.as<T>())};
        }
        const auto step = twin(plan, loop::softmax<T>, vectorized::softmax<T>);
        return {scores.axes(), step(scores.as<T>(), scores.axis(softmax_axis(plan)),
                                    plan.config.empty_row, sink_of<T>(ledger))};
    });
}

/// The indices of the cells that softmax runs over, and of one number for all of them.
struct SoftmaxIndices {
    explicit SoftmaxIndices(const PlannedStep& of) : along(softmax_axis(of.plan).substr(0, 1)) {
        // Axes before the one that it goes along are the same everywhere, and left out.
        std::string axes = "bhqk";
        if (!of.plan.has_head) axes = "bqk";
        const std::size_t first = of.has("sink") && of.plan.has_head
                                      ? axes.size() - 3
                                      : std::min(axes.find(along), axes.size() - 2);
        for (const char letter : axes.substr(first)) {
            cell += (cell.empty() ? "" : ",") + std::string(1, letter);
            if (letter != along.front()) row += (row.empty() ? "" : ",") + std::string(1, letter);
        }
    }
    std::string along, cell, row;
};

std::string row_max_rule(const PlannedStep& of) {
    const SoftmaxIndices at(of);
    const std::string largest = "max " + at.along + ": scores[" + at.cell + "]";
    return "row_max[" + at.row + "] = " +
           (of.has("sink") ? "max((" + largest + "), " + sink_cell(of.plan) + ")" : largest);
}

std::string exponentials_rule(const PlannedStep& of) {
    const SoftmaxIndices at(of);
    return "exponentials[" + at.cell + "] = exp(scores[" + at.cell + "] - row_max[" + at.row + "])";
}

std::string row_sum_rule(const PlannedStep& of) {
    const SoftmaxIndices at(of);
    const std::string sum = "sum " + at.along + ": exponentials[" + at.cell + "]";
    return "row_sum[" + at.row + "] = " +
           (of.has("sink")
                ? "(" + sum + ") + exp(" + sink_cell(of.plan) + " - row_max[" + at.row + "])"
                : sum);
}

std::string weights_rule(const PlannedStep& of) {
    if (of.plan.config.sigmoid) return "weights[q,k] = sigmoid(scores[q,k])";
    const SoftmaxIndices at(of);
    const bool are_users = find_step(of.table, "exponentials").mistake_ids == users_rule;
    const std::string exponential = are_users
                                        ? "exponentials[" + at.cell + "]"
                                        : "exp(scores[" + at.cell + "] - row_max[" + at.row + "])";
    const std::string share = exponential + " / row_sum[" + at.row + "]";
    return "weights[" + at.cell + "] = " +
           (of.plan.config.empty_row == EmptyRow::zero
                ? "if row_max[" + at.row + "] == -inf then 0 else " + share
                : share);
}

// The lines that make them.

std::string axis_code(const StepLines& of) {
    switch (of.plan.config.softmax_axis) {
        case SoftmaxAxis::key:
            return "-1";
        case SoftmaxAxis::query:
            return "-2";
        case SoftmaxAxis::head:
            return "-3";
        case SoftmaxAxis::batch:
            break;
    }
    return "0";
}

std::string row_max_code(const StepLines& of) {
    const std::string largest =
        of.latest(Chain::scores) + (of.torch() ? ".amax(dim=" : ".max(axis=") + axis_code(of) + ")";
    if (!of.has("sink")) return "row_max = " + largest;
    return "row_max = " + of.module() + ".maximum(" + largest + ", " + sink_code(of) + ")";
}

std::string exponentials_code(const StepLines& of) {
    const std::string row_max = of.torch() ? "row_max.unsqueeze(" + axis_code(of) + ")"
                                           : "np.expand_dims(row_max, " + axis_code(of) + ")";
    return "exponentials = " + of.module() + ".exp(" + of.latest(Chain::scores) + " - " + row_max +
           ")";
}

std::string row_sum_code(const StepLines& of) {
    const std::string sink =
        of.has("sink") ? " + " + of.module() + ".exp(" + sink_code(of) + " - row_max)" : "";
    return std::string("row_sum = exponentials.sum(") + (of.torch() ? "dim=" : "axis=") +
           axis_code(of) + ")" + sink;
}

std::string weights_code(const StepLines& of) {
    if (of.has("sink")) return weights_with_sink_code(of);
    const std::string scores = of.latest(Chain::scores);
    if (of.plan.config.sigmoid) {
        return "weights = " +
               (of.torch() ? "torch.sigmoid(" + scores + ")" : "1 / (1 + np.exp(-" + scores + "))");
    }
    const std::string along = "(axis=" + axis_code(of) + ", keepdims=True)";
    std::string code = "weights = F.softmax(" + scores + ", dim=" + axis_code(of) + ")";
    if (!of.torch()) {
        code = "exponentials = np.exp(" + scores + " - " + scores + ".max" + along +
               ")\nweights = exponentials / exponentials.sum" + along;
    }
    if (of.plan.config.empty_row != EmptyRow::zero) return code;
    return code + "\n" +
           (of.torch()
                ? "weights = weights.masked_fill(" + scores + ".amax(dim=" + axis_code(of) +
                      ", keepdim=True) == float(\"-inf\"), 0)"
                : "weights = np.where(" + scores + ".max" + along + " == -np.inf, 0, weights)");
}

std::string note_of_weights(const notes::Subject& subject) {
    if (!subject.plan.config.sigmoid) return notes::weights_note(subject);
    std::string note =
        "Each score became a weight by itself: 0 gives 0.5, and no key takes from another.";
    const bool is_whole =
        notes::has_readable_rows(subject.tensor) && subject.excerpt.has_all("key");
    if (!is_whole) return note;
    const std::vector<notes::AttentionRow> rows = notes::attention_rows(subject.ledger, 0);
    const auto most = std::ranges::max_element(rows, {}, &notes::AttentionRow::sum);
    if (most == rows.end() || most->has_nan) return note;
    const auto row = static_cast<std::size_t>(most - rows.begin());
    notes::say(note, "The weights of " + notes::row_label(subject, row) + " add up to " +
                         notes::number(most->sum) + "; softmax would make that 1.");
    return note;
}

}  // namespace

StepTable softmax_cards() {
    return {
        {
            .name = "row_max",
            .title = "first part of softmax, the largest score of each row",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = sums_rows,
            .reads = these({Chain::scores, "sink"}),
            .outline = row_outline,
            .rule = row_max_rule,
            .compute = compute_row_max,
            .note = notes::row_max_note,
            .code = row_max_code,
        },
        {
            .name = "exponentials",
            .title = "second part of softmax, the exponentials",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = sums_rows,
            .reads = these({Chain::scores, "row_max"}),
            .outline = score_outline,
            .exponentiates = true,
            .rule = exponentials_rule,
            .compute = compute_exponentials,
            .note = notes::exponentials_note,
            .code = exponentials_code,
        },
        {
            .name = "row_sum",
            .title = "third part of softmax, the sum of each row",
            .kind = Step::Kind::detail,
            .shown = false,
            .applies = sums_rows,
            .reads = summed_with_sink,
            .outline = row_outline,
            .rule = row_sum_rule,
            .compute = compute_row_sum,
            .note = notes::row_sum_note,
            .code = row_sum_code,
        },
        {
            .name = "weights",
            .title = "how much attention each query pays to each key",
            .chain = Chain::weights,
            .applies = keeps_scores,
            .reads = these({Chain::scores, "sink"}),
            .outline = score_outline,
            .exponentiates = true,
            .rule = weights_rule,
            .formula =
                [](const PlannedStep& of) {
                    if (of.plan.config.sigmoid) return of.latest(Chain::scores) + ".sigmoid()";
                    return "softmax(" + of.latest(Chain::scores) +
                           (of.has("sink") ? ", sink" : "") + ") over the " +
                           softmax_axis(of.plan) + " axis" +
                           (of.has("sink") ? ", without the sink's own" : "");
                },
            .compute = compute_weights,
            .note = note_of_weights,
            .code = weights_code,
        },
        sink_weight_card(),
    };
}

}  // namespace attn
