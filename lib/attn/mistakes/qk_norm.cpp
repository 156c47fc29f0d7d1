#include <cmath>
#include <limits>
#include <numeric>
#include <regex>
#include <span>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/steps/qk_norm.hpp"
#include "attn/steps/rotary.hpp"
#include "attn/text/numbers.hpp"

namespace attn {
namespace {

const std::vector<std::string> normed_steps{"normed_query", "normed_key"};

std::string gain_of_norm(const std::string& step) {
    return step.ends_with("query") ? "g_query" : "g_key";
}

NotApplicable norm_and(std::function<bool(const Plan&)> possible, std::string reason) {
    return first_of(
        {unless([](const Plan& plan) { return plan.norms(); }, "query and key are not normalised"),
         unless(std::move(possible), std::move(reason))});
}

/// Whether a gain is given that is not the same number everywhere in each pair that rotates.
bool has_uneven_gain(const Plan& plan) {
    for (const char* name : {"g_query", "g_key"}) {
        const Tensor* gain = plan.config.parameters.find(name);
        if (gain == nullptr || gain->size() != plan.head_dim) continue;
        for (std::size_t i = 0; i < plan.rotary_pairs(); ++i) {
            const auto [a, b] =
                feature_pair(*plan.config.rotary.pairing, i, 2 * plan.rotary_pairs());
            if (gain->at(a) != gain->at(b)) return true;
        }
    }
    return false;
}

bool has_gain_beside_one(const Plan& plan) {
    for (const char* name : {"g_query", "g_key"}) {
        const Tensor* gain = plan.config.parameters.find(name);
        for (std::size_t i = 0; gain != nullptr && i < gain->size(); ++i) {
            if (gain->at(i) != 1) return true;
        }
    }
    return false;
}

Tensor without_mean(const Tensor& tensor) {
    Grid grid = grid_of(tensor);
    for (std::size_t row = 0; row < grid.cells.size(); row += grid.columns) {
        const auto cells = std::span(grid.cells).subspan(row, grid.columns);
        const double mean =
            std::accumulate(cells.begin(), cells.end(), 0.0) / static_cast<double>(grid.columns);
        for (double& cell : cells) cell -= mean;
    }
    return tensor_of(grid, tensor.axes(), tensor.dtype());
}

/// The gains with a number added.
TableEdit with_gain_plus(double offset) {
    return with_ledger(normed_steps, [offset](Ledger& ledger, const Plan&) {
        for (const char* name : {"g_query", "g_key"}) {
            ledger.record(name, mapped(ledger[name], [offset](auto gain) {
                              return gain + static_cast<decltype(gain)>(offset);
                          }));
        }
    });
}

std::vector<WrongLines> gain_lines(const std::string& by, const std::string& words) {
    return lines_of_each(normed_steps, replaced("\\bg_(query|key)\\b", by), words);
}

/// Norms over the features of each head, in the place of those over all heads.
TableEdit over_each_head() {
    return for_each_step(normed_steps, [](const std::string& step) {
        return replace_step(
            {step}, [step](const Plan& of, const Ledger& ledger, const Compute&) -> Tensor {
                const Tensor& before = ledger.latest(chain_of(step), step);
                const Tensor& gain = ledger[gain_of_norm(step)];
                const std::size_t heads = before.extent("head");
                const bool all = of.config.qk_norm.over == NormOver::all;
                return with_floating(of.compute_dtype, [&](auto zero) -> Tensor {
                    using T = decltype(zero);
                    const std::size_t width = of.head_dim;
                    // Without gain over the other axes, then the gain of each feature.
                    const Array<T> ones = Array<T>::filled({all ? width : heads * width}, T{1});
                    Array<T> result =
                        loop::normalise(before.as<T>(), ones, all ? NormOver::head : NormOver::all,
                                        of.config.qk_norm.eps, heads);
                    const std::size_t tokens = before.shape()[before.dimension() - 2];
                    for (std::size_t i = 0; i < result.size(); ++i) {
                        const std::size_t head = i / (tokens * width) % heads;
                        result.data()[i] *=
                            gain.as<T>()(all ? head * width + i % width : i % width);
                    }
                    return {before.axes(), std::move(result)};
                });
            });
    });
}

/// Rotates what was not normalised yet, and normalises the rotated rows.
TableEdit norm_after_rotation() {
    const TableEdit normed = for_each_step({"query", "key"}, [](const std::string& part) {
        return replace_step(
            {"rotated_" + part},
            [part](const Plan& of, const Ledger& ledger, const Compute& before) -> Tensor {
                const Tensor rotated = before(of, ledger);
                return with_floating(of.compute_dtype, [&](auto zero) -> Tensor {
                    using T = decltype(zero);
                    return {rotated.axes(),
                            loop::normalise(rotated.as<T>(), ledger["g_" + part].as<T>(),
                                            NormOver::head, of.config.qk_norm.eps, 1)};
                });
            });
    });
    return all_of({left_out(normed_steps), normed});
}

std::vector<WrongLines> norm_after_rotation_lines() {
    std::vector<WrongLines> lines = left_out_lines(normed_steps);
    for (const std::string part : {"query", "key"}) {
        const std::string step = "rotated_" + part;
        lines.push_back({step,
                         [step, part](const StepLines& of, const std::string& right) {
                             return right + "\n" + step + " = " + step + " * (1 / " + of.module() +
                                    ".sqrt((" + step + " ** 2).mean(" +
                                    (of.torch() ? "dim=-1, keepdim" : "axis=-1, keepdims") +
                                    "=True) + " + brief(of.plan.config.qk_norm.eps) + ")) * g_" +
                                    part;
                         },
                         formula("{right}, then normalised")});
    }
    return lines;
}

/// What nn.RMSNorm adds where nobody says otherwise.
double smallest_step(const Plan& plan) {
    return with_floating(plan.compute_dtype, [](auto zero) {
        return static_cast<double>(std::numeric_limits<decltype(zero)>::epsilon());
    });
}

/// x / (root of the mean of squares + eps): the norm without eps, a little smaller.
TableEdit eps_outside_root() {
    return for_each_step(normed_steps, [](const std::string& step) {
        return replace_step(
            {step}, [step](const Plan& of, const Ledger& ledger, const Compute& before) {
                Plan without = of;
                without.config.qk_norm.eps = 0;
                const double eps = of.config.qk_norm.eps;
                const bool all = of.config.qk_norm.over == NormOver::all;
                const Tensor normed = before(without, ledger);
                const Grid x = grid_of(ledger.latest(chain_of(step), step));
                const auto root = [&](std::size_t b, std::size_t head, std::size_t t) {
                    double squares = 0;
                    for (std::size_t h = all ? 0 : head; h < (all ? x.heads : head + 1); ++h) {
                        for (std::size_t f = 0; f < x.columns; ++f) {
                            squares += x.at(b, h, t, f) * x.at(b, h, t, f);
                        }
                    }
                    return std::sqrt(squares / double((all ? x.heads : 1) * x.columns));
                };
                Grid wrong = grid_of(normed);
                wrong.fill([&](std::size_t b, std::size_t h, std::size_t t, std::size_t f) {
                    const double length = root(b, h, t);
                    return length == 0 ? 0 : wrong.at(b, h, t, f) * length / (length + eps);
                });
                return tensor_of(wrong, normed.axes(), of.compute_dtype);
            });
    });
}

}  // namespace

void add_qk_norm_mistakes(std::vector<Mistake>& list) {
    const auto always = [](const Plan&) { return true; };
    const std::string torch = "q, k = self.q_norm(q), self.k_norm(k)";
    const std::string numpy = "q, k = rms_norm(q, g_query), rms_norm(k, g_key)";
    const auto gains = [](const Plan& plan) { return plan.has_gains(); };
    add(list,
        {
            {"qk-norm-missing", "normed_query", "Query and key were not normalised",
             "every score is larger by the lengths of its query and key", torch, numpy,
             "A model trained with norms of query and key has no other brake on its scores.", "",
             norm_and(always, ""), left_out(normed_steps), left_out_lines(normed_steps)},
            {"qk-norm-layernorm", "normed_query", "LayerNorm took the place of RMSNorm",
             "the mean of each row is lost", torch, numpy,
             "RMSNorm divides by the root of the mean square, and takes no mean off.", "",
             norm_and(
                 [](const Plan& plan) {
                     return plan.config.qk_norm.over == NormOver::head && plan.head_dim > 2;
                 },
                 "the norms are not those of a head"),
             for_each_step(normed_steps,
                           [](const std::string& step) {
                               return with_ledger({step}, [step](Ledger& ledger, const Plan&) {
                                   const auto [name, tensor] =
                                       *ledger.find_latest(chain_of(step), step);
                                   ledger.record(name, without_mean(tensor));
                               });
                           }),
             lines_of_each(
                 normed_steps,
                 [](const StepLines& of, const std::string& right) {
                     const Chain chain = chain_of(of.step.name);
                     const std::string row = of.latest(chain);
                     const std::string mean =
                         of.torch() ? ".mean(-1, keepdim=True)" : ".mean(-1, keepdims=True)";
                     return row + " = " + row + " - " + row + mean + "\n" + right;
                 },
                 "means taken off")},
            {"qk-norm-k-only", "normed_query", "Only the key was normalised",
             "each row of scores is larger by the length of its query", torch, numpy,
             "Both factors of the product are normalised, each by its own length.", "",
             norm_and(always, ""), left_out({"normed_query"}), left_out_lines({"normed_query"})},
            {"qk-norm-q-only", "normed_key", "Only the query was normalised",
             "each column of scores is larger by the length of its key", torch, numpy,
             "Both factors of the product are normalised, each by its own length.", "",
             norm_and(always, ""), left_out({"normed_key"}), left_out_lines({"normed_key"})},
            {"qk-norm-gain-dropped", "normed_query", "The gains of the norms were left out",
             "each feature is off by its own factor, the same for every token", torch, numpy,
             "RMSNorm without its weight is another layer: load q_norm.weight and k_norm.weight.",
             "", norm_and(has_gain_beside_one, "the gains are 1"),
             with_ledger(normed_steps,
                         [](Ledger& ledger, const Plan&) {
                             for (const char* name : {"g_query", "g_key"}) {
                                 ledger.record(name,
                                               mapped(ledger[name], [](double) { return 1; }));
                             }
                         }),
             gain_lines("1", "without gain")},
            {"qk-norm-axis",
             "normed_query",
             "The norm ran over all heads together, or over each, against the model",
             "a head's squares no longer add up to its width, or all heads' do",
             "q = q_norm(q.view(B, T, H, D))  # Qwen3; OLMo 2: q_norm(q).view(B, T, H, D)",
             "q = rms_norm(q)  # over the last axis: of one head, or of all",
             "Norm before or after the split into heads: the mean runs over other features.",
             "",
             norm_and([](const Plan& plan) { return plan.has_gains() && plan.kv_heads > 1; },
                      "there is one head, or no gain"),
             over_each_head(),
             {{"normed_query",
               [](const StepLines&, const std::string& right) {
                   const bool all = right.find("(-3, -1)") != std::string::npos;
                   return all ? std::regex_replace(right, std::regex("\\(-3, -1\\)"), "-1")
                              : std::regex_replace(right, std::regex("=-1,"), "=(-3, -1),");
               },
               formula("{right}, but over the other axes")},
              {"normed_key",
               [](const StepLines&, const std::string& right) {
                   const bool all = right.find("(-3, -1)") != std::string::npos;
                   return all ? std::regex_replace(right, std::regex("\\(-3, -1\\)"), "-1")
                              : std::regex_replace(right, std::regex("=-1,"), "=(-3, -1),");
               },
               formula("{right}, but over the other axes")}}},
            {"qk-norm-after-rope", "normed_query",
             "Query and key were normalised after they rotated",
             "features of a pair meet each other's gain: right at position 0 alone",
             "q = rotate(q_norm(q))", "q = rotate(rms_norm(q))",
             "A gain that differs within a pair does not commute with the rotation.", "",
             norm_and(
                 [](const Plan& plan) {
                     return plan.rotates() && plan.config.qk_norm.over == NormOver::head &&
                            plan.config.qk_norm.place == QkNorm::Place::before &&
                            has_uneven_gain(plan);
                 },
                 "norm and rotation change places without changing a score"),
             norm_after_rotation(), norm_after_rotation_lines()},
            {"norm-eps=default", "normed_query", "The norms added another small number",
             "short rows come out longer or shorter, others hardly change",
             "nn.RMSNorm(head_dim, eps=config.rms_norm_eps)", "rms_norm(q, eps=rms_norm_eps)",
             "nn.RMSNorm takes the smallest step of the type where no eps is given.", "",
             norm_and(
                 [](const Plan& plan) {
                     return plan.has_gains() && plan.config.qk_norm.eps != smallest_step(plan);
                 },
                 "there is no mean of squares, or eps is PyTorch's own"),
             with_plan(normed_steps,
                       [](Plan& plan) { plan.config.qk_norm.eps = smallest_step(plan); })},
            {"norm-eps=outside", "normed_query", "The small number was added outside the root",
             "short rows come out longer or shorter, others hardly change",
             "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)",
             "x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps)",
             "eps belongs under the root, beside the mean of the squares.", "",
             norm_and(
                 [](const Plan& plan) { return plan.has_gains() && plan.config.qk_norm.eps > 0; },
                 "there is no mean of squares, or eps is 0"),
             eps_outside_root(),
             [] {
                 std::vector<WrongLines> lines;
                 for (const std::string& step : normed_steps) {
                     lines.push_back(
                         {step,
                          replaced("(\\w+\\.sqrt)\\((.*) \\+ ([-.e0-9]+)\\)\\)", "($1($2) + $3))"),
                          formula("{right}, eps outside the root")});
                 }
                 return lines;
             }()},
            {"norm-unit-offset=missing", "normed_query",
             "The gain was used without the 1 that is added to it",
             "each feature is off by the same factor for every token",
             "x * (1 + self.weight)  # Gemma stores weight - 1", "x * (1 + w)",
             "Gemma's files hold the gain minus 1, and GGUF files of it the gain itself.", "",
             norm_and(gains, "there is no gain"), with_gain_plus(-1),
             gain_lines("(g_$1 - 1)", "1 missing from the gain")},
            {"norm-unit-offset=twice", "normed_query",
             "1 was added to a gain that holds it already",
             "each feature is off by the same factor for every token",
             "x * self.weight  # the file holds 1 + weight already", "x * w",
             "Gemma's files hold the gain minus 1, and GGUF files of it the gain itself.", "",
             norm_and(gains, "there is no gain"), with_gain_plus(1),
             gain_lines("(g_$1 + 1)", "1 added to the gain")},
        });
}

}  // namespace attn
