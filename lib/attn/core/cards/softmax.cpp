#include "attn/core/steps/softmax.hpp"

#include <algorithm>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

std::string softmax_axis(const Plan& plan) { return std::string(word(plan.config.softmax_axis)); }

bool sums_rows(const Plan& plan) { return keeps_scores(plan) && !plan.config.sigmoid; }

/// One number for each row that softmax ran over.
Outline row_outline(const Plan& plan) {
    Outline outline = score_outline(plan);
    const auto axis = std::find(outline.axes.begin(), outline.axes.end(), softmax_axis(plan));
    outline.shape.erase(outline.shape.begin() + (axis - outline.axes.begin()));
    outline.axes.erase(axis);
    return outline;
}

// What the texts of softmax are filled with.

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

/// The cells that softmax runs over and the one number for all of them, its axis, the sink.
std::optional<std::string> softmax_word(std::string_view word, const PlannedStep& of) {
    const SoftmaxIndices at(of);
    if (word == "along") return at.along;
    if (word == "cell") return at.cell;
    if (word == "row") return at.row;
    if (word == "sink") return sink_cell(of.plan);
    if (word == "over") return softmax_axis(of.plan);
    if (word != "exponential") return std::nullopt;
    const bool are_users = find_step(of.table, "exponentials").of_user;
    return filled(are_users ? "exponentials[{cell}]" : "exp(scores[{cell}] - row_max[{row}])", of,
                  softmax_word);
}

/// The axis that softmax goes along, of what is read first.
template <class T>
std::size_t along_rows(const LoopInputs<T>& in) {
    return in.tensor(0).axis(softmax_axis(in.plan));
}

/// One number for each of its rows.
template <class T>
Tensor row_tensor(const LoopInputs<T>& in, Array<T> numbers) {
    Axes axes = in.tensor(0).axes();
    std::erase(axes, softmax_axis(in.plan));
    return {std::move(axes), std::move(numbers)};
}

bool adds_sink(const PlannedStep& of) { return of.has("sink"); }
bool is_sigmoid(const Plan& plan) { return plan.config.sigmoid; }
bool zeroes_empty_rows(const Plan& plan) { return plan.config.empty_row == EmptyRow::zero; }

Step weights_card() {
    return with_loop(
        {
            .name = "weights",
            .title = "how much attention each query pays to each key",
            .chain = Chain::weights,
            .applies = keeps_scores,
            .reads = these({Chain::scores, "sink"}),
            .outline = score_outline,
            .at_once = always_so,
            .exponentiates = true,
            .rule = texts({{is_sigmoid, "weights[q,k] = sigmoid(scores[q,k])"},
                           {zeroes_empty_rows,
                            "weights[{cell}] = if row_max[{row}] == -inf then 0 else {exponential} "
                            "/ row_sum[{row}]"},
                           {"weights[{cell}] = {exponential} / row_sum[{row}]"}},
                          softmax_word),
            .formula =
                texts({{is_sigmoid, "{scores}.sigmoid()"},
                       {adds_sink,
                        "softmax({scores}, sink) over the {over} axis, without the sink's own"},
                       {"softmax({scores}) over the {over} axis"}},
                      softmax_word),
        },
        []<class T>(const LoopInputs<T>& in) {
            const auto step = in.twin(loop::softmax<T>, vectorized::softmax<T>);
            return in.like_first(
                step(in[0], along_rows(in), in.plan.config.empty_row, sink_of(in)));
        });
}

Step sigmoid_card() {
    Step card = weights_card();
    card.at_once = [](const Plan&) { return false; };
    card.compute = by_rule(card);
    return card;
}

}  // namespace

StepTable softmax_part_cards() {
    return {
        with_loop(
            {
                .name = "row_max",
                .title = "first part of softmax, the largest score of each row",
                .kind = Step::Kind::detail,
                .shown = false,
                .applies = sums_rows,
                .reads = these({Chain::scores, "sink"}),
                .outline = row_outline,
                .rule = texts(
                    {{adds_sink, "row_max[{row}] = max((max {along}: scores[{cell}]), {sink})"},
                     {"row_max[{row}] = max {along}: scores[{cell}]"}},
                    softmax_word),
            },
            []<class T>(const LoopInputs<T>& in) {
                const auto step = in.twin(loop::row_max<T>, vectorized::row_max<T>);
                Array<T> largest = step(in[0], along_rows(in));
                if (in.has(1)) raise_to_sink(sink_of(in), one_a_query(largest));
                return row_tensor(in, std::move(largest));
            }),
        with_loop(
            {
                .name = "exponentials",
                .title = "second part of softmax, the exponentials",
                .kind = Step::Kind::detail,
                .shown = false,
                .applies = sums_rows,
                .reads = these({Chain::scores, "row_max"}),
                .outline = score_outline,
                .exponentiates = true,
                .rule = texts({"exponentials[{cell}] = exp(scores[{cell}] - row_max[{row}])"},
                              softmax_word),
            },
            []<class T>(const LoopInputs<T>& in) {
                const auto step = in.twin(loop::exponentials<T>, vectorized::exponentials<T>);
                return in.like_first(step(in[0], in[1], along_rows(in)));
            }),
        with_loop(
            {
                .name = "row_sum",
                .title = "third part of softmax, the sum of each row",
                .kind = Step::Kind::detail,
                .shown = false,
                .applies = sums_rows,
                .reads = summed_with_sink,
                .outline = row_outline,
                .rule =
                    texts({{adds_sink,
                            "row_sum[{row}] = (sum {along}: exponentials[{cell}]) + exp({sink} - "
                            "row_max[{row}])"},
                           {"row_sum[{row}] = sum {along}: exponentials[{cell}]"}},
                          softmax_word),
            },
            []<class T>(const LoopInputs<T>& in) {
                const auto step = in.twin(loop::row_sum<T>, vectorized::row_sum<T>);
                Array<T> sums = step(in[0], along_rows(in));
                if (in.has(2)) add_sink(sink_of(in), one_a_query(in[1]), one_a_query(sums));
                return row_tensor(in, std::move(sums));
            }),
    };
}

StepTable softmax_cards() {
    StepTable cards = softmax_part_cards();
    cards.push_back(either(is_sigmoid, sigmoid_card(), weights_card()));
    cards.push_back(sink_weight_card());
    return cards;
}

}  // namespace attn
