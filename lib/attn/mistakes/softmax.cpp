#include "attn/steps/softmax.hpp"

#include <cmath>
#include <regex>
#include <span>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

const std::vector<std::string> parts_of_softmax{"row_max", "exponentials", "row_sum"};
const std::vector<std::string> softmax_steps{"row_max", "exponentials", "row_sum", "weights"};

/// The scores that softmax reads; a sink is a further key of every row.
Grid scores_and_sink(const Ledger& ledger) {
    const Grid scores = grid_of(ledger.latest(Chain::scores));
    if (!ledger.has("sink")) return scores;
    const Tensor& sink = ledger["sink"];
    Grid joined(scores.batch, scores.heads, scores.rows, scores.columns + 1);
    joined.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
        return k < scores.columns ? scores.at(b, h, q, k) : sink.at(h % sink.size());
    });
    return joined;
}

/// Turns scores, and a sink behind each row, into shares by another rule than softmax's.
using Shares = std::function<void(Grid&, const Plan&)>;

TableEdit shared_out_by(Shares share_out) {
    const auto columns = [share_out](const Plan& plan, const Ledger& ledger, bool of_sink) {
        const Tensor& scores = ledger.latest(Chain::scores);
        Grid shares = scores_and_sink(ledger);
        share_out(shares, plan);
        const std::size_t keys = scores.shape().back();
        Grid part(shares.batch, shares.heads, shares.rows, of_sink ? 1 : keys);
        part.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
            return shares.at(b, h, q, of_sink ? keys : k);
        });
        const Tensor result = tensor_of(part, scores.axes(), plan.compute_dtype);
        if (!of_sink) return result;
        Axes axes = scores.axes();
        Shape shape = scores.shape();
        axes.pop_back();
        shape.pop_back();
        return reshaped(result, axes, shape);
    };
    return all_of({replace_step({"weights"},
                                [columns](const Plan& plan, const Ledger& ledger, const Compute&) {
                                    return columns(plan, ledger, false);
                                }),
                   replace_step({"sink_weight"},
                                [columns](const Plan& plan, const Ledger& ledger, const Compute&) {
                                    return columns(plan, ledger, true);
                                })});
}

/// The lines of a rule, written for `{scores}` of shape `{grid}`.
std::vector<WrongLines> shared_out_lines(std::string torch, std::string numpy,
                                         std::string formula_text) {
    const auto write = [torch, numpy](const StepLines& of, const std::string& right) {
        std::string pattern = of.torch() ? torch : numpy;
        if (!of.has("sink")) return say(pattern, pattern)(of, right);
        // What joins scores and sink stays.
        const std::size_t joined = right.find('\n', right.find("with_sink = ")) + 1;
        for (const auto& [ours, theirs] : {std::pair{"\\{scores\\}", "with_sink"},
                                           {"\\{grid\\}", "with_sink.shape"},
                                           {"\\bweights = ", "shares = "}}) {
            pattern = std::regex_replace(pattern, std::regex(ours), theirs);
        }
        return right.substr(0, joined) + say(pattern, pattern)(of, right) +
               "\nweights = shares[..., :-1]";
    };
    return {{"weights", write, formula(std::move(formula_text))},
            {"sink_weight", say("sink_weight = shares[..., -1]"),
             formula("sink_weight = the share of the sink")}};
}

/// The group of a cell (batch, head, query, key).
using GroupOf = std::function<std::size_t(std::size_t, std::size_t, std::size_t, std::size_t)>;

/// One softmax over all cells of each group, of which there are `count`.
void soften_groups(Grid& grid, std::size_t count, const GroupOf& group) {
    std::vector<double> largest(count, -INFINITY);
    std::vector<double> sums(count, 0);
    const auto each = [&](auto&& next) {
        grid.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
            return next(grid.at(b, h, q, k), group(b, h, q, k));
        });
    };
    each([&](double cell, std::size_t g) {
        largest[g] = std::max(largest[g], cell);
        return cell;
    });
    each([&](double cell, std::size_t g) {
        const double exponential = std::exp(cell - largest[g]);
        sums[g] += exponential;
        return exponential;
    });
    each([&](double cell, std::size_t g) { return cell / sums[g]; });
}

/// One softmax over all queries and keys of each head, or of each sample with all its heads.
Shares over_everything(bool heads_together) {
    return [heads_together](Grid& grid, const Plan&) {
        const std::size_t heads = heads_together ? 1 : grid.heads;
        soften_groups(grid, grid.batch * heads,
                      [&](std::size_t b, std::size_t h, std::size_t, std::size_t) {
                          return b * heads + (heads_together ? 0 : h);
                      });
    };
}

/// Softmax over another axis of scores and sink.
Shares over_another(SoftmaxAxis axis) {
    return [axis](Grid& grid, const Plan&) {
        soften_groups(grid, grid.cells.size(),
                      [&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
                          if (axis == SoftmaxAxis::batch) b = 0;
                          if (axis == SoftmaxAxis::head) h = 0;
                          if (axis == SoftmaxAxis::query) q = 0;
                          return ((b * grid.heads + h) * grid.rows + q) * grid.columns + k;
                      });
    };
}

void over_a_lone_cell(Grid& grid, const Plan&) {
    for (double& cell : grid.cells) cell = std::isfinite(cell) ? 1 : NAN;
}

Mistake over_axis(const std::string& name, SoftmaxAxis axis, const std::string& number,
                  const char* effect, NotApplicable possible) {
    const auto move_axis = [axis](Plan& plan) {
        plan.config.softmax_axis = axis;
        plan.config.sink.reset();  // no number of one row joins the cells of several
    };
    const Lines along = replaced("(dim|axis)=-1(\\)\\[|, keepdims)", "$1=" + number + "$2");
    return {
        "softmax-axis=" + name,
        "weights",
        "Softmax runs over the " + name + " axis",
        effect,
        "weights = F.softmax(scores, dim=-1)",
        "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
        "The weights of each query sum to 1 over the keys, and keys are the last axis: write -1.",
        "",
        first_of({std::move(possible),
                  unless([axis](const Plan& plan) { return plan.config.softmax_axis != axis; },
                         "that is the axis of this walk")}),
        [axis, move_axis](StepTable table, const Plan& plan) {
            if (!walk_has(plan, "sink"))
                return with_plan(softmax_steps, move_axis)(std::move(table), plan);
            table = with_plan(parts_of_softmax, move_axis)(std::move(table), plan);
            for (Step& step : table) {
                if (std::ranges::find(parts_of_softmax, step.name) == parts_of_softmax.end())
                    continue;
                step.compute = [before = step.compute](const Plan& of, const Ledger& ledger) {
                    return before(of, ledger.without("sink"));
                };
            }
            return shared_out_by(over_another(axis))(std::move(table), plan);
        },
        {{"weights", along, formula_with("key axis", name + " axis")}, {"sink_weight", along}}};
}

/// The sum of a row divides the column of its number.
Grid without_kept_axis(const Grid& right, const Grid& scores) {
    Grid wrong = right;
    wrong.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
        const auto log_sum = [&](std::size_t row) {
            double largest = -infinity, sum = 0;
            for (std::size_t c = 0; c < scores.columns; ++c) {
                largest = std::max(largest, scores.at(b, h, row, c));
            }
            for (std::size_t c = 0; c < scores.columns; ++c) {
                sum += std::exp(scores.at(b, h, row, c) - largest);
            }
            return largest + std::log(sum);
        };
        return right.at(b, h, q, k) * std::exp(log_sum(q) - log_sum(k));
    });
    return wrong;
}

Tensor no_maximum(const Plan& plan, const Ledger& ledger, const Compute& before) {
    return mapped(before(plan, ledger), [](double) { return 0; });
}

/// In the type of the walk, which is what overflows.
void without_maximum(Grid& grid, const Plan& plan) {
    with_floating(plan.compute_dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::size_t row = 0; row < grid.cells.size(); row += grid.columns) {
            const std::span<double> cells(grid.cells.data() + row, grid.columns);
            T sum = 0;
            for (double& cell : cells) {
                const T exponential = std::exp(static_cast<T>(cell));
                sum += exponential;
                cell = static_cast<double>(exponential);
            }
            for (double& cell : cells) cell = static_cast<double>(static_cast<T>(cell) / sum);
        }
    });
}

constexpr double drop_chance = 0.1;

Tensor with_dropout(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    std::vector<double> chances(right.size());
    make_generator(Rng::numpy, 0)->rand(std::span<double>(chances));
    std::size_t cell = 0;
    return mapped(right, [&](auto weight) {
        using T = decltype(weight);
        return chances[cell++] < drop_chance ? T(0) : weight / static_cast<T>(1 - drop_chance);
    });
}

Mistake dropout_at_eval() {
    Mistake entry{
        "dropout-at-eval",
        "weights",
        "Dropout was still on",
        "some weights are 0, the others are too large by 1 / (1 - p); $bug takes p = 0.1"_told,
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
          formula("{right}, a tenth of them dropped")}}};
    entry.by_chance = true;
    return entry;
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
                "query", SoftmaxAxis::query, "-2",
                "columns sum to 1 instead of rows, and causal masks leak",
                unless([](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
                       "there is one query and one key")),
            over_axis("head", SoftmaxAxis::head, "-3",
                      "the heads sum to 1 at each cell, whatever the other keys are",
                      first_of({unless([](const Plan& plan) { return plan.has_head; },
                                       "there is no head axis")})),
            over_axis(
                "batch", SoftmaxAxis::batch, "0", "the samples sum to 1 at each cell",
                unless([](const Plan& plan) { return plan.has_batch; }, "there is no batch axis")),
            {"softmax-axis=all", "weights", "Softmax runs over all queries and keys at once",
             "the weights of a whole sample sum to 1 instead of those of each row",
             "weights = F.softmax(scores, dim=-1)",
             "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
             "Without an axis a sum takes everything: name the last one.", "",
             first_of({key_axis, several(&Plan::query_len, "there is only one query")}),
             shared_out_by(over_everything(true)),
             shared_out_lines(
                 "weights = F.softmax({scores}.reshape({B}, -1), dim=-1).reshape({grid})",
                 "flat = {scores}.reshape({B}, -1)\nexponentials = np.exp(flat - "
                 "flat.max(axis=-1, keepdims=True))\nweights = (exponentials / "
                 "exponentials.sum(axis=-1, keepdims=True)).reshape({grid})",
                 "weights = softmax over all heads, queries and keys of a sample")},
            {"softmax-axis=matrix", "weights", "Softmax runs over each head's whole matrix",
             "the weights of a whole head sum to 1 instead of those of each row",
             "weights = F.softmax(scores, dim=-1)",
             "weights = np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)",
             "Flattened scores have no rows any more: softmax belongs to the last axis alone.", "",
             first_of({key_axis, several(&Plan::query_len, "there is only one query"),
                       unless([](const Plan& plan) { return plan.has_head && plan.heads > 1; },
                              "with one head it is the softmax over everything")}),
             shared_out_by(over_everything(false)),
             shared_out_lines(
                 "weights = F.softmax({scores}.reshape({B}, {H}, -1), dim=-1).reshape({grid})",
                 "flat = {scores}.reshape({B}, {H}, -1)\nexponentials = np.exp(flat - "
                 "flat.max(axis=-1, keepdims=True))\nweights = (exponentials / "
                 "exponentials.sum(axis=-1, keepdims=True)).reshape({grid})",
                 "weights = softmax over all queries and keys of a head")},
            {"softmax-axis=one", "weights", "Softmax runs over an axis of length 1",
             "every weight is 1, and the context is the plain sum of the values",
             "weights = F.softmax(scores, dim=-1)", "weights = np.exp(s) / np.exp(s).sum(axis=0)",
             "A number alone always gets a share of 1: look at the length of the axis.", "",
             first_of({key_axis, several(&Plan::key_len, "there is only one key")}),
             shared_out_by(over_a_lone_cell),
             shared_out_lines(
                 "weights = F.softmax({scores}[..., None], dim=-1)[..., 0]",
                 "exponentials = np.exp({scores}[..., None] - {scores}[..., None])\nweights = "
                 "(exponentials / exponentials.sum(axis=-1, keepdims=True))[..., 0]",
                 "weights = softmax of each score by itself")},
            {"softmax-keepdims", "weights", "Sums were laid along the queries, without keepdims",
             "each weight is divided by the sum of another row",
             "weights = e / e.sum(dim=-1, keepdim=True)",
             "weights = e / e.sum(axis=-1, keepdims=True)",
             "A sum without its axis broadcasts from the right: keep the axis.", "",
             first_of(
                 {key_axis, needs_square,
                  unless([](const Plan& plan) { return plan.query_len > 1 && !plan.has_sink(); },
                         "there is one query only, or a sink")}),
             replace_step({"weights"},
                          [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                              const Grid right = grid_of(before(plan, ledger));
                              const Grid scores = grid_of(ledger.latest(Chain::scores));
                              return tensor_of(without_kept_axis(right, scores),
                                               ledger.latest(Chain::scores).axes(),
                                               plan.compute_dtype);
                          }),
             shared_out_lines("e = torch.exp({scores})\n"
                              "weights = e / e.sum(-1)[..., None, :]",
                              "e = np.exp({scores})\n"
                              "weights = e / e.sum(axis=-1)[..., None, :]",
                              "weights = exp(scores) / sums of other rows")},
            {"softmax-overflow", "row_max", "exp() was taken without subtracting the largest score",
             "rows whose largest score is too large for exp() turn to nan; others do not change",
             "weights = F.softmax(scores, dim=-1)", "e = np.exp(s - s.max(axis=-1, keepdims=True))",
             "Subtracting the row's maximum changes no weight and keeps exp() in range.",
             "no difference without overflow", key_axis,
             all_of({replace_step({"row_max"}, no_maximum), shared_out_by(without_maximum)}),
             [] {
                 std::vector<WrongLines> lines = shared_out_lines(
                     "weights = torch.exp({scores}) / torch.exp({scores}).sum(dim=-1, "
                     "keepdim=True)",
                     "weights = np.exp({scores}) / np.exp({scores}).sum(axis=-1, keepdims=True)",
                     "weights = exp(scores) / sum over key of exp(scores)");
                 lines.push_back({"row_max", say("{right}\nrow_max = torch.zeros_like(row_max)"),
                                  formula("row_max = 0, never taken")});
                 return lines;
             }()},
            dropout_at_eval(),
            {"weights-averaged",
             "weights",
             "The weights are the mean over the heads",
             "the head axis is gone; the context is right",
             "mha(q, k, v, average_attn_weights=False)",
             "weights  # before .mean(axis=1)",
             "A library may show the mean of its heads: ask for each.",
             "",
             unless(
                 [](const Plan& plan) {
                     return plan.has_head && plan.context_heads() == plan.heads;
                 },
                 "there is no head axis, or its pairs are subtracted"),
             show_averaged_weights,
             {{"weights", say("{right}\nhead_weights = weights\nweights = weights.mean(dim=-3)"),
               formula("{right}, then the mean over the heads")},
              {"context", replaced("\\bweights\\b", "head_weights"),
               formula_with("\\bweights\\b", "head_weights")}}},
        });
}

}  // namespace attn
