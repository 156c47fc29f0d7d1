#include <cmath>

#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// Features of a query that do not rotate.
std::size_t unturned(const Plan& plan) { return plan.head_dim - 2 * plan.rotary_pairs(); }

/// What of each head lies where in w_key_value, its value in front of its key.
Tensor value_first(const Plan& plan, const Tensor& tensor, const std::string& axis) {
    const std::size_t key = unturned(plan);
    const std::size_t width = key + plan.value_dim;
    const std::size_t along = tensor.axis(axis);
    const Shape& shape = tensor.shape();
    std::size_t inner = 1;
    for (std::size_t i = along + 1; i < shape.size(); ++i) inner *= shape[i];
    return with_floating(tensor.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Array<T>& right = tensor.as<T>();
        Array<T> moved = empty_array<T>(shape);
        for (std::size_t i = 0; i < moved.size(); ++i) {
            const std::size_t feature = i / inner % shape[along];
            const std::size_t within = feature % width;
            const std::size_t from = feature - within + (within + plan.value_dim) % width;
            moved.data()[i] = right.data()[i - feature * inner + from * inner];
        }
        return {tensor.axes(), std::move(moved)};
    });
}

TableEdit read_value_first() {
    return with_ledger(
        {"key", "value", "absorbed_query", "expanded_context"},
        [](Ledger& ledger, const Plan& plan) {
            for (const auto& [name, axis] :
                 {std::pair("projected_key_value", "feature"), std::pair("w_key_value", "out")}) {
                const Tensor* tensor = ledger.find(name);
                if (tensor) ledger.record(name, value_first(plan, *tensor, axis));
            }
        });
}

/// What belongs to head h of token t is read where (head, token) would hold it.
void view_heads_first(Ledger& ledger, const Plan& plan) {
    const std::size_t width = unturned(plan) + plan.value_dim;
    const auto place = [width](GridCell cell, const Grid& right) {
        const std::size_t token = cell.c / width * right.rows + cell.r;
        const std::size_t flat = token * width + cell.c % width;
        return GridCell{cell.b, cell.h, flat / right.columns, flat % right.columns};
    };
    ledger.record("projected_key_value", rearranged(ledger["projected_key_value"], place));
}

/// The lines with the ranges of key and value exchanged.
Lines value_first_lines(bool is_key) {
    return [is_key](const StepLines& of, std::string right) {
        const std::size_t key = unturned(of.plan);
        const std::size_t value = of.plan.value_dim;
        const std::string from = is_key ? slice_text(0, key) : slice_text(key, value);
        const std::string to = is_key ? slice_text(value, key) : slice_text(0, value);
        const std::size_t at = right.find(", " + from + "]");
        return at == std::string::npos ? right : right.replace(at + 2, from.size(), to);
    };
}

/// The weights of head h less those of head `heads` + h, as if pairs lay half the heads apart.
Tensor subtract_halves(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    const Grid weights = grid_of(ledger["weights"]);
    const double lambda = ledger["lambda_full"].at(0);
    Grid wrong = grid_of(right);
    wrong.fill([&](std::size_t b, std::size_t h, std::size_t q, std::size_t k) {
        return weights.at(b, h, q, k) - lambda * weights.at(b, wrong.heads + h, q, k);
    });
    return tensor_of(wrong, right.axes(), plan.compute_dtype);
}

}  // namespace

void add_latent_mistakes(std::vector<Mistake>& list) {
    const NotApplicable latent = needs_step("latent", "there is no latent: pass $mla"_told);
    const NotApplicable differs =
        needs_step("differential_weights", "nothing is subtracted: pass $differential"_told);
    add(list,
        {
            {"mla-norm-missing",
             "normed_latent",
             "The latent was not normalised",
             "keys and values are off by the length of each latent",
             "kv = kv_b(kv_norm(latent))",
             "kv = norm(latent) @ w_key_value.T",
             "What the latent is expanded from was normed in training.",
             "",
             latent,
             replace_step({"normed_latent"}, [](const Plan&, const Ledger& ledger,
                                                const Compute&) { return ledger["latent"]; }),
             {{"normed_latent", say("normed_latent = latent")}}},
            {"mla-split-order",
             "key",
             "The up-projection was cut with values in front of keys",
             "keys hold features of values, and values of keys: all scores and contexts are wrong",
             "k_nope, value = kv.split([nope_dim, value_dim], dim=-1)",
             "k_nope, value = np.split(kv, [nope_dim], axis=-1)",
             "kv_b_proj holds, head by head, the key's rows and then the value's.",
             "",
             latent,
             read_value_first(),
             {{"key", value_first_lines(true)},
              {"value", value_first_lines(false)},
              {"absorbed_query", value_first_lines(true)},
              {"expanded_context", value_first_lines(false)}}},
            {"mla-split-order=view", "key", "The up-projection was viewed as (B, H, T, D) directly",
             "keys and values of a head are pieces of those of other tokens",
             "kv = kv.view(B, T, H, -1).transpose(1, 2)",
             "kv = kv.reshape(B, T, H, -1).swapaxes(1, 2)",
             "A view re-reads memory in order; only a transpose moves an axis.", "",
             first_of({latent,
                       unless([](const Plan& plan) { return !walk_has(plan, "absorbed_query"); },
                              "the absorbed form makes no keys and values"),
                       unless([](const Plan& plan) { return plan.heads > 1 && plan.key_len > 1; },
                              "with one head or one token both shapes read memory alike")}),
             with_ledger({"key", "value"}, view_heads_first),
             lines_of_each({"key", "value"},
                           replaced("(\\d+), (\\d+), (\\d+)\\)\\.(transpose|swapaxes)\\(-3, -2\\)",
                                    "$2, $1, $3)"),
                           "cut as (head, token)")},
            {"mla-scale", "scaled_scores",
             "The scores were divided by the root of the width that does not rotate",
             "all scores are too large by one factor, those of a token with itself too",
             "scale = (nope_dim + rope_dim) ** -0.5", "scale = (nope_dim + rope_dim) ** -0.5",
             "A dot product runs over both parts of a key, and so does its scale.", "",
             first_of({latent, unless(
                                   [](const Plan& plan) {
                                       return plan.config.scale.by == ScaleChoice::By::head_dim;
                                   },
                                   "the scale is not that of the width")}),
             with_plan({"scaled_scores"},
                       [](Plan& plan) {
                           const double right = static_cast<double>(plan.head_dim);
                           plan.head_dim = unturned(plan);
                           plan.scale.number *=
                               std::sqrt(static_cast<double>(plan.head_dim) / right);
                       })},
            {"yarn-mla-scale", "scaled_scores", "yarn's magnitude was left out of the scale",
             "all scores are too small by one factor, those of a token with itself too",
             "scale = (nope_dim + rope_dim) ** -0.5 * mscale * mscale",
             "scale = (nope_dim + rope_dim) ** -0.5 * mscale * mscale",
             "DeepSeek's mscale_all_dim multiplies the scores, not cosines and sines: a row that "
             "sees one key does not show it.",
             "",
             first_of({latent,
                       unless([](const Plan& plan) { return plan.scales(); }, "nothing is scaled"),
                       unless([](const Plan& plan) { return plan.score_factor() != 1; },
                              "yarn has no mscale_all_dim that changes anything")}),
             with_plan({"scaled_scores"},
                       [](Plan& plan) {
                           const bool divides =
                               plan.scale.operation == ScaleFactor::Operation::divide;
                           const double more = plan.score_factor();
                           plan.scale.number *= divides ? more : 1 / more;
                           plan.config.rotary.scaling.reset();
                       })},
            {"diff-pairs",
             "differential_weights",
             "Halves of the heads were subtracted instead of neighbours",
             "each head is the difference of two that do not belong together",
             "attn = attn.view(batch, heads, 2, q, k); attn = attn[:, :, 0] - lam * attn[:, :, 1]",
             "attn = attn[:, 0::2] - lam * attn[:, 1::2]",
             "The two softmaxes of a head are neighbours: heads 2h and 2h + 1.",
             "",
             first_of({differs, unless([](const Plan& plan) { return plan.context_heads() > 1; },
                                       "there is one pair")}),
             replace_step({"differential_weights"}, subtract_halves),
             {{"differential_weights",
               [](const StepLines& of, const std::string&) {
                   const std::string heads = std::to_string(of.plan.context_heads());
                   return "differential_weights = weights[..., :" + heads +
                          ", :, :] - lambda_full * weights[..., " + heads + ":, :, :]";
               }}}},
            {"diff-depth", "lambda_full", "Layers were counted from 1, not from 0",
             "lambda and what the heads are multiplied by are those of the next layer",
             "lambda_init = 0.8 - 0.6 * math.exp(-0.3 * layer_idx)  # 0 in the first layer",
             "lambda_init = 0.8 - 0.6 * np.exp(-0.3 * layer_idx)  # 0 in the first layer",
             "In the first layer lambda starts at 0.2.", "", differs,
             with_plan({"lambda_full", "scaled_context"},
                       [](Plan& plan) { ++*plan.config.differential.depth; })},
            {"diff-norm-missing", "normed_context", "The norm of each head was left out",
             "heads keep sizes of their own, about 1 - lambda of what one softmax gives",
             "context = rms_norm(context) * (1 - lambda_init)",
             "context = rms_norm(context) * (1 - lambda_init)",
             "Every head is normalised by itself, over the features of its value.", "", differs,
             left_out({"normed_context"}), left_out_lines({"normed_context"})},
            {"diff-scale-missing", "scaled_context",
             "The normed heads were not multiplied by 1 - lambda_init",
             "all contexts are too large by one factor, 1.25 in layer 0",
             "context = rms_norm(context) * (1 - lambda_init)",
             "context = rms_norm(context) * (1 - lambda_init)",
             "The factor is fixed and no parameter holds it: it is easy to forget.", "", differs,
             left_out({"scaled_context"}), left_out_lines({"scaled_context"})},
        });
}

}  // namespace attn
