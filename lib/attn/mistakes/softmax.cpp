#include "attn/steps/softmax.hpp"

#include <cmath>

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

const std::vector<std::string> softmax_steps{"row_max", "exponentials", "row_sum", "weights"};

Mistake over_axis(const char* name, SoftmaxAxis axis, const char* effect, NotApplicable possible) {
    return {
        std::string("softmax-axis=") + name,
        "weights",
        std::string("Softmax runs over the ") + name + " axis",
        effect,
        "weights = F.softmax(scores, dim=-1)",
        "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
        "The weights of each query sum to 1 over the keys, and keys are the last axis: write -1.",
        "",
        first_of({std::move(possible),
                  unless([axis](const Plan& plan) { return plan.config.softmax_axis != axis; },
                         "that is the axis of this walk")}),
        with_plan(softmax_steps, [axis](Plan& plan) { plan.config.softmax_axis = axis; })};
}

/// One softmax over all queries and keys of each head, or of each sample with all its heads.
Tensor over_matrices(const Plan& plan, const Ledger& ledger, bool heads_together) {
    const Tensor& scores = ledger.latest(Chain::scores);
    Grid grid = grid_of(scores);
    const std::size_t length = (heads_together ? grid.heads : 1) * grid.rows * grid.columns;
    for (std::size_t start = 0; start < grid.cells.size(); start += length) {
        double largest = -INFINITY;
        for (std::size_t i = start; i < start + length; ++i) {
            largest = std::max(largest, grid.cells[i]);
        }
        double sum = 0;
        for (std::size_t i = start; i < start + length; ++i) {
            grid.cells[i] = std::exp(grid.cells[i] - largest);
            sum += grid.cells[i];
        }
        for (std::size_t i = start; i < start + length; ++i) grid.cells[i] /= sum;
    }
    return tensor_of(grid, scores.axes(), plan.compute_dtype);
}

StepEdit over_everything(bool heads_together) {
    return [heads_together](const Plan& plan, const Ledger& ledger, const Compute&) {
        return over_matrices(plan, ledger, heads_together);
    };
}

Tensor over_a_lone_cell(const Plan& plan, const Ledger& ledger, const Compute&) {
    const Tensor& scores = ledger.latest(Chain::scores);
    Grid grid = grid_of(scores);
    for (double& cell : grid.cells) cell = std::isfinite(cell) ? 1 : NAN;
    return tensor_of(grid, scores.axes(), plan.compute_dtype);
}

Tensor no_maximum(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        Array<decltype(zero)> nothing = right.as<decltype(zero)>();
        nothing.fill(zero);
        return {right.axes(), nothing};
    });
}

Tensor naive_softmax(const Plan& plan, const Ledger& ledger, const Compute&) {
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Tensor& scores = ledger.latest(Chain::scores);
        Array<T> weights = scores.as<T>();
        const std::size_t keys = weights.shape().back();
        for (std::size_t row = 0; row < weights.size(); row += keys) {
            T sum = 0;
            for (std::size_t k = row; k < row + keys; ++k) {
                weights.data()[k] = std::exp(weights.data()[k]);
                sum += weights.data()[k];
            }
            for (std::size_t k = row; k < row + keys; ++k) weights.data()[k] /= sum;
        }
        return {scores.axes(), weights};
    });
}

constexpr double drop_chance = 0.1;

Tensor with_dropout(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    std::vector<double> chances(right.size());
    make_generator(Rng::numpy, 0)->rand(std::span<double>(chances));
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> weights = right.as<T>();
        for (std::size_t i = 0; i < weights.size(); ++i) {
            weights.data()[i] = chances[i] < drop_chance
                                    ? T(0)
                                    : weights.data()[i] / static_cast<T>(1 - drop_chance);
        }
        return {right.axes(), weights};
    });
}

/// The mean over the heads: what a library shows unless asked otherwise.
Tensor averaged(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Grid right = grid_of(before(plan, ledger));
    Grid mean(right.batch, 1, right.rows, right.columns);
    mean.fill([&](std::size_t b, std::size_t, std::size_t q, std::size_t k) {
        double sum = 0;
        for (std::size_t h = 0; h < right.heads; ++h) sum += right.at(b, h, q, k);
        return sum / static_cast<double>(right.heads);
    });
    return tensor_of(mean, plan.per_batch_axes("query", "key"), plan.compute_dtype);
}

/// Shows averaged weights while the context is mixed with the true ones.
StepTable show_averaged_weights(StepTable table, const Plan& plan) {
    const Compute weights = find_step(table, "weights").compute;
    table = with_ledger({"context"}, [weights](Ledger& ledger, const Plan& inner) {
        ledger.record("weights", weights(inner, ledger));
    })(std::move(table), plan);
    return replace_step({"weights"}, averaged)(std::move(table), plan);
}

}  // namespace

void add_softmax_mistakes(std::vector<Mistake>& list) {
    const auto several = [](std::size_t Plan::*size, const char* reason) {
        return unless([size](const Plan& plan) { return plan.*size > 1; }, reason);
    };
    const NotApplicable key_axis =
        unless([](const Plan& plan) { return plan.config.softmax_axis == SoftmaxAxis::key; },
               "this walk's softmax does not run over the keys");
    add(list,
        {
            over_axis(
                "query", SoftmaxAxis::query,
                "columns sum to 1 instead of rows, and causal masks leak",
                unless([](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
                       "there is one query and one key")),
            over_axis("head", SoftmaxAxis::head,
                      "the heads sum to 1 at each cell, whatever the other keys are",
                      first_of({unless([](const Plan& plan) { return plan.has_head; },
                                       "there is no head axis")})),
            over_axis(
                "batch", SoftmaxAxis::batch, "the samples sum to 1 at each cell",
                unless([](const Plan& plan) { return plan.has_batch; }, "there is no batch axis")),
            {"softmax-axis=all",
             "weights",
             "Softmax runs over all queries and keys at once",
             "the weights of a whole sample sum to 1 instead of those of each row",
             "weights = F.softmax(scores, dim=-1)",
             "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
             "Without an axis a sum takes everything: name the last one.",
             "",
             first_of({key_axis, several(&Plan::query_len, "there is only one query")}),
             replace_step({"weights"}, over_everything(true)),
             {{"weights",
               say("weights = F.softmax({scores}.reshape({B}, -1), dim=-1).reshape({grid})",
                   "flat = {scores}.reshape({B}, -1)\nexponentials = np.exp(flat - "
                   "flat.max(axis=-1, keepdims=True))\nweights = (exponentials / "
                   "exponentials.sum(axis=-1, keepdims=True)).reshape({grid})"),
               formula("weights = softmax over all heads, queries and keys of a sample")}}},
            {"softmax-axis=matrix",
             "weights",
             "Softmax runs over each head's whole matrix",
             "the weights of a whole head sum to 1 instead of those of each row",
             "weights = F.softmax(scores, dim=-1)",
             "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
             "Flattened scores have no rows any more: softmax belongs to the last axis alone.",
             "",
             first_of({key_axis, several(&Plan::query_len, "there is only one query"),
                       unless([](const Plan& plan) { return plan.has_head && plan.heads > 1; },
                              "with one head it is the softmax over everything")}),
             replace_step({"weights"}, over_everything(false)),
             {{"weights",
               say("weights = F.softmax({scores}.reshape({B}, {H}, -1), dim=-1).reshape({grid})",
                   "flat = {scores}.reshape({B}, {H}, -1)\nexponentials = np.exp(flat - "
                   "flat.max(axis=-1, keepdims=True))\nweights = (exponentials / "
                   "exponentials.sum(axis=-1, keepdims=True)).reshape({grid})"),
               formula("weights = softmax over all queries and keys of a head")}}},
            {"softmax-axis=one",
             "weights",
             "Softmax runs over an axis of length 1",
             "every weight is 1, and the context is the plain sum of the values",
             "weights = F.softmax(scores, dim=-1)",
             "weights = np.exp(s) / np.exp(s).sum(axis=0)",
             "A number alone always gets a share of 1: look at the length of the axis.",
             "",
             first_of({key_axis, several(&Plan::key_len, "there is only one key")}),
             replace_step({"weights"}, over_a_lone_cell),
             {{"weights",
               say("weights = F.softmax({scores}[..., None], dim=-1)[..., 0]",
                   "exponentials = np.exp({scores}[..., None] - {scores}[..., None])\nweights = "
                   "(exponentials / exponentials.sum(axis=-1, keepdims=True))[..., 0]"),
               formula("weights = softmax of each score by itself")}}},
            {"softmax-overflow",
             "row_max",
             "exp() was taken without subtracting the largest score",
             "rows whose largest score is too large for exp() turn to nan; others do not change",
             "weights = F.softmax(scores, dim=-1)",
             "e = np.exp(s - s.max(axis=-1, keepdims=True))",
             "Subtracting the row's maximum changes no weight and keeps exp() in range.",
             "no difference without overflow",
             key_axis,
             all_of(
                 {replace_step({"row_max"}, no_maximum), replace_step({"weights"}, naive_softmax)}),
             {{"row_max", say("{right}\nrow_max = torch.zeros_like(row_max)"),
               formula("row_max = 0, never taken")},
              {"weights",
               say("weights = torch.exp({scores}) / torch.exp({scores}).sum(dim=-1, keepdim=True)"),
               formula("weights = exp(scores) / sum over key of exp(scores)")}}},
            {"dropout-at-eval",
             "weights",
             "Dropout was still on",
             "some weights are 0, the others are too large by 1 / (1 - p); --bug takes p = 0.1",
             "F.dropout(weights, p, training=self.training)",
             "weights = weights  # no dropout here",
             "The functional form does not know that training is over: tell it.",
             "",
             NotApplicable([](const Plan&) { return std::string(); }),
             replace_step({"weights"}, with_dropout),
             {{"weights",
               say("import numpy as np\n{right}\nchances = "
                   "torch.from_numpy(np.random.RandomState(0).rand({grid}))\nweights = (weights / "
                   "0.9).masked_fill(chances < 0.1, 0)",
                   "{right}\nchances = np.random.RandomState(0).rand({grid})\nweights = "
                   "np.where(chances < 0.1, 0, weights / 0.9)"),
               formula("{right}, a tenth of them dropped")}}},
            {"weights-averaged",
             "weights",
             "The weights are the mean over the heads",
             "the head axis is gone; the context is right",
             "mha(q, k, v, average_attn_weights=False)",
             "weights  # before .mean(axis=1)",
             "A library may show the mean of its heads: ask for each.",
             "",
             unless([](const Plan& plan) { return plan.has_head; }, "there is no head axis"),
             show_averaged_weights,
             {{"weights", say("{right}\nhead_weights = weights\nweights = weights.mean(dim=-3)"),
               formula("{right}, then the mean over the heads")},
              {"context", replaced("\\bweights\\b", "head_weights"),
               formula_with("\\bweights\\b", "head_weights")}}},
        });
}

}  // namespace attn
