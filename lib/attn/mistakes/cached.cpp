#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

const std::vector<std::string> sunk_steps{"row_max", "row_sum", "weights", "sink_weight"};

/// The steps of softmax read another sink.
TableEdit with_sink(std::function<double(const Plan& plan, const Tensor& sink, std::size_t h)> by) {
    return with_ledger(sunk_steps, [by = std::move(by)](Ledger& ledger, const Plan& plan) {
        const Tensor right = ledger["sink"];
        Grid wrong(1, 1, 1, right.size());
        wrong.fill([&](std::size_t, std::size_t, std::size_t, std::size_t h) {
            return by(plan, right, h);
        });
        ledger.record("sink", reshaped(tensor_of(wrong, {"row", "head"}, plan.compute_dtype),
                                       right.axes(), right.shape()));
    });
}

/// The lines of softmax with another expression in the place of `sink`.
std::vector<WrongLines> sink_lines(std::function<std::string(const StepLines&)> by) {
    std::vector<WrongLines> lines;
    for (const char* step : {"row_max", "row_sum", "weights"}) {
        lines.push_back({step, [by](const StepLines& of, const std::string& right) {
                             return replaced("\\bsink\\b", by(of))(of, right);
                         }});
    }
    return lines;
}

Tensor without_sink(const Plan& plan, const Ledger& ledger, const Compute& before) {
    return before(plan, ledger.without("sink"));
}

bool has_nonzero_sink(const Plan& plan) {
    return walk_has(plan, "sink") && *plan.config.sink != SinkLogit::zero;
}

/// The sink's share goes to the value of key 0.
Tensor with_a_value_of_the_sink(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    const Grid context = grid_of(right);
    const Grid value = grid_of(ledger.latest(Chain::values));
    const Tensor& taken = ledger["sink_weight"];
    Grid wrong = context;
    wrong.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t f) {
        const std::size_t row = (b * context.heads + h) * context.rows + q;
        return context.at(b, h, q, f) + taken.at(row) * value.at(b, h, 0, f);
    });
    return tensor_of(wrong, right.axes(), plan.compute_dtype);
}

/// exp(s - m) / (1 + sum of exp(s - m)): the 1 is not scaled as the others are.
TableEdit one_after_the_maximum() {
    const auto divide = [](const Plan& plan, const Ledger& ledger, bool of_sink) {
        const Tensor& scores = ledger.latest(Chain::scores);
        Grid grid = grid_of(scores);
        Grid sink(grid.batch, grid.heads, 1, grid.rows);
        for (std::size_t row = 0; row < grid.cells.size() / grid.columns; ++row) {
            double* const cells = grid.cells.data() + row * grid.columns;
            const double largest = *std::max_element(cells, cells + grid.columns);
            double sum = 1;
            for (std::size_t k = 0; k < grid.columns; ++k) {
                sum += cells[k] = std::exp(cells[k] - largest);
            }
            for (std::size_t k = 0; k < grid.columns; ++k) cells[k] /= sum;
            sink.cells[row] = 1 / sum;
        }
        if (!of_sink) return tensor_of(grid, scores.axes(), plan.compute_dtype);
        Axes axes = scores.axes();
        Shape shape = scores.shape();
        axes.pop_back();
        shape.pop_back();
        return reshaped(tensor_of(sink, plan.per_head_axes("row", "query"), plan.compute_dtype),
                        axes, shape);
    };
    return all_of({replace_step({"weights"},
                                [divide](const Plan& plan, const Ledger& ledger, const Compute&) {
                                    return divide(plan, ledger, false);
                                }),
                   replace_step({"sink_weight"},
                                [divide](const Plan& plan, const Ledger& ledger, const Compute&) {
                                    return divide(plan, ledger, true);
                                })});
}

/// The cache with rows read from others of its rows: `read(t)` stands at t.
TableEdit present_by(const char* step,
                     std::function<std::size_t(const Plan& plan, std::size_t t)> read) {
    return replace_step(
        {step}, [read](const Plan& plan, const Ledger& ledger, const Compute& before) {
            return rearranged(before(plan, ledger), [&](GridCell cell, const Grid&) {
                cell.r = read(plan, cell.r);
                return cell;
            });
        });
}

/// New rows stand one place too early; the last one is there twice.
std::size_t one_early(const Plan& plan, std::size_t t) {
    return t + 1 < plan.past_len ? t : std::min(t + 1, plan.key_len - 1);
}

std::size_t stale(const Plan& plan, std::size_t t) { return t % plan.past_len; }

}  // namespace

void add_cache_mistakes(std::vector<Mistake>& list) {
    const NotApplicable sunk = needs_step("sink", "there is no sink: pass $sink"_told);
    const NotApplicable learned = unless(has_nonzero_sink, "every sink is 0 here");
    const NotApplicable cached = unless([](const Plan& plan) { return plan.past_len > 0; },
                                        "there is no cache: pass $past"_told);
    const std::string both = "torch.cat([past_key, key], dim=-2)  # and the values";
    const std::string both_numpy = "np.concatenate([past_key, key], axis=-2)  # and the values";
    const auto early_lines = [](const char* step, const char* past, Chain chain) -> WrongLines {
        return {step, [=](const StepLines& of, const std::string&) {
                    const std::string& added = of.latest(chain);
                    return std::string(step) + " = " +
                           (of.torch() ? "torch.cat([" : "np.concatenate([") + past +
                           "[..., :-1, :], " + added + ", " + added + "[..., -1:, :]], " +
                           (of.torch() ? "dim=-2)" : "axis=-2)");
                }};
    };
    add(list,
        {
            {"sink-forgotten",
             "weights",
             "The sink was left out of softmax",
             "rows sum to 1, and all weights of a row are too large by one factor",
             "probs = softmax(torch.cat([scores, sinks], dim=-1))[..., :-1]",
             "weights = exponentials / (exponentials.sum(-1) + np.exp(sink - row_max))",
             "A checkpoint with sinks needs them in every path: eager, fused and quantised.",
             "",
             sunk,
             replace_step({"row_max", "row_sum", "weights"}, without_sink),
             {{"row_max",
               say("row_max = {scores}.amax(dim=-1)", "row_max = {scores}.max(axis=-1)")},
              {"row_sum", say("row_sum = exponentials.sum(dim=-1)")},
              {"weights",
               say("{right}\nweights = F.softmax({scores}, dim=-1)",
                   "{right}\nshares_of_keys = np.exp({scores} - {scores}.max(axis=-1, "
                   "keepdims=True))\nweights = shares_of_keys / shares_of_keys.sum(axis=-1, "
                   "keepdims=True)")}}},
            {"sink-scaled=root", "weights", "The sink was scaled as the scores are",
             "the sink takes another share of every row",
             "logits = torch.cat([scores, sinks], dim=-1)",
             "logits = np.concatenate([scores, sinks], axis=-1)",
             "A sink is learned as it is used: it joins after scale, cap and mask.", "",
             first_of({sunk, learned,
                       unless([](const Plan& plan) { return plan.head_dim > 1; },
                              "the root of head-dim is 1")}),
             with_sink([](const Plan& plan, const Tensor& sink, std::size_t h) {
                 return sink.at(h) / std::sqrt(static_cast<double>(plan.head_dim));
             }),
             sink_lines([](const StepLines& of) {
                 return "(sink / math.sqrt(" + std::to_string(of.plan.head_dim) + "))";
             })},
            {"sink-scaled=twice", "weights", "The sink was counted twice",
             "the sink takes nearly twice its share, as a logit larger by ln 2 would",
             "add exp(sink - row_max) once, after the last block",
             "row_sum += np.exp(sink - row_max)",
             "Block by block the sink joins once, not with every block of keys.", "", sunk,
             with_sink([](const Plan&, const Tensor& sink, std::size_t h) {
                 return sink.at(h) + std::numbers::ln2;
             }),
             sink_lines([](const StepLines&) { return std::string("(sink + math.log(2))"); })},
            {"sink-numerator",
             "context",
             "The sink was given a value",
             "each context has the value of key 0 in it, as much as the sink's share",
             "context = probs[..., :-1] @ value",
             "context = shares[..., :-1] @ value",
             "The sink has a share and no value: drop its column before the values.",
             "",
             sunk,
             replace_step({"context"}, with_a_value_of_the_sink),
             {{"context",
               say("context = weights @ {values} + sink_weight[..., None] * {values}[..., :1, "
                   ":]")}}},
            {"sink-per-kv-head", "weights", "Heads of one group shared a sink",
             "each head of a group has the sink of its first",
             "sinks.view(1, H, 1, 1)  # one for each query head", "sinks.reshape(1, H, 1, 1)",
             "Keys are shared in a group, sinks are not: their shape is (query heads,).", "",
             first_of({sunk, learned,
                       unless([](const Plan& plan) { return plan.shares_keys(); },
                              "every head has keys of its own: pass $kv-heads"_told)}),
             with_sink([](const Plan& plan, const Tensor& sink, std::size_t h) {
                 return sink.at(h - h % plan.queries_per_key());
             }),
             sink_lines([](const StepLines& of) {
                 const std::string times = std::to_string(of.plan.queries_per_key());
                 const std::string firsts = "sink[::" + times + "]";
                 return of.torch() ? firsts + ".repeat_interleave(" + times + ")"
                                   : "np.repeat(" + firsts + ", " + times + ")";
             })},
            {"softmax1-after-max",
             "weights",
             "Softmax off by one added its 1 after subtracting the maximum",
             "rows sum to at least 1/2, however small all scores are",
             "weights = exp(s - m) / (exp(-m) + exp(s - m).sum(-1))",
             "weights = np.exp(s - m) / (np.exp(-m) + np.exp(s - m).sum(-1))",
             "The 1 is exp(0): subtract the maximum from its 0 too.",
             "",
             first_of({sunk,
                       unless([](const Plan& plan) { return *plan.config.sink == SinkLogit::zero; },
                              "the sink is not 0: pass $sink zero"_told)}),
             one_after_the_maximum(),
             {{"weights",
               say("exponentials = torch.exp({scores} - {scores}.amax(dim=-1, keepdim=True))\n"
                   "weights = exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))",
                   "exponentials = np.exp({scores} - {scores}.max(axis=-1, keepdims=True))\n"
                   "weights = exponentials / (1 + exponentials.sum(axis=-1, keepdims=True))")},
              {"sink_weight", say("sink_weight = 1 / (1 + exponentials.sum(dim=-1))")}}},
            {"cache-overwrite=slot",
             "present_key",
             "New keys were written one slot too early",
             "the last cached token is lost and the newest counts twice",
             both,
             both_numpy,
             "The slot of a new token is the number of tokens there are, not one less.",
             "",
             cached,
             all_of({present_by("present_key", one_early), present_by("present_value", one_early)}),
             {early_lines("present_key", "past_key", Chain::keys),
              early_lines("present_value", "past_value", Chain::values)}},
            {"cache-overwrite=value",
             "present_value",
             "The cache of values was not updated",
             "the weights are right, and new tokens contribute old values",
             both,
             both_numpy,
             "Keys and values are written together: a slot with a new key needs its value.",
             "",
             cached,
             present_by("present_value", stale),
             {{"present_value",
               [](const StepLines& of, const std::string&) {
                   return std::string("present_value = past_value[..., ") + of.module() +
                          ".arange(" + std::to_string(of.plan.key_len) + ") % " +
                          std::to_string(of.plan.past_len) + ", :]";
               }}}},
        });
}

}  // namespace attn
