#include <algorithm>
#include <array>
#include <map>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/steps/context.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/learn/notebooks/builder.hpp"

// Notebook 002: the mean of all earlier tokens, by loop, by matrix and by masked softmax; then with
// weights that depend on the tokens; two heads; five heads. Each cell continues the random numbers
// of the previous one.

namespace attn {
namespace {

/// Returns the running mean of each token's features over it and all earlier tokens, per sample.
Tensor running_mean(const Tensor& of) {
    const Tensor x = cast(of, DType::float32);
    const auto [batch, tokens, features] =
        std::array{x.extent("batch"), x.extent("token"), x.extent("feature")};
    Array<float> mean = empty_array<float>({batch, tokens, features});
    for (std::size_t b = 0; b < batch; ++b) {
        for (std::size_t f = 0; f < features; ++f) {
            float sum = 0;
            for (std::size_t t = 0; t < tokens; ++t) {
                sum += x.as<float>()(b, t, f);
                mean(b, t, f) = sum / static_cast<float>(t + 1);
            }
        }
    }
    return {x.axes(), std::move(mean)};
}

/// Returns ones in visible cells.
Tensor lower_triangle(const Array<bool>& hidden) {
    Array<float> ones = empty_array<float>(shape_of(hidden));
    for (std::size_t i = 0; i < ones.size(); ++i) ones.data()[i] = hidden.data()[i] ? 0.0F : 1.0F;
    return {{"query", "key"}, std::move(ones)};
}

/// Returns the means by one (query, key) matrix of weights in every sample.
Tensor means_by(const Tensor& weights, const Tensor& of) {
    const Tensor x = cast(of, DType::float32);
    Array<float> result = empty_array<float>(x.shape());
    const std::size_t size = x.size() / x.extent("batch");
    for (std::size_t b = 0; b < x.extent("batch"); ++b) {
        const Tensor sample = slice(x, std::to_string(b));
        const Array<float> mixed = loop::context(weights.as<float>(), sample.as<float>());
        std::copy(mixed.begin(), mixed.end(), result.data() + b * size);
    }
    return {x.axes(), std::move(result)};
}

Tensor variance_tensor(const Tensor& tensor) {
    return {{}, Array<float>(static_cast<float>(variance_of(tensor)))};
}

/// Divides each row by its sum.
Tensor normalised(const Tensor& matrix) {
    Array<float> rows = matrix.as<float>();
    for (std::size_t q = 0; q < rows.shape(0); ++q) {
        float sum = 0;
        for (std::size_t k = 0; k < rows.shape(1); ++k) sum += rows(q, k);
        for (std::size_t k = 0; k < rows.shape(1); ++k) rows(q, k) /= sum;
    }
    return {matrix.axes(), std::move(rows)};
}

/// Returns the code of all steps of a cell, from the draws on, with its own variable names. Keeps
/// the cell's mistakes, unless they are corrected.
std::string cell_code(const ReplayOptions& replay, const Plan& plan,
                      std::map<std::string, std::string> replaced = {}) {
    if (!replay.corrected) {
        replaced["scaled_scores"] =
            "scaled_scores = scores * " + std::to_string(plan.embed_dim) + "**-0.5";
    }
    Plan own = plan;  // without the lines for draws of other cells
    own.config.burn_before.clear();
    std::string lines;
    for (const StepCode& step : program_of(own, step_table(), CodeLanguage::torch, Gradients::on)) {
        if (step.code.empty() || step.step == "row_max" || step.step == "exponentials" ||
            step.step == "row_sum") {
            continue;
        }
        const auto instead = replaced.find(step.step);
        lines +=
            (lines.empty() ? "" : "\n") + (instead == replaced.end() ? step.code : instead->second);
    }
    return lines;
}

/// Adds the averages of the past in three ways, with weights that do not depend on the tokens.
void fill_averages(NotebookBuilder& page, const Walked& averaged) {
    page.fill("x_shape", "setup", setup_code(averaged.plan, CodeLanguage::torch));
    page.remade("running_mean", [](const Plan&, const Ledger& walk) {
        return slice(running_mean(walk["x"]), "0");
    });
    page.remade("lower_triangle", [](const Plan&, const Ledger& walk) {
        return lower_triangle(walk["mask"].as<bool>());
    });
    page.remade("average_by_triangle", [](const Plan&, const Ledger& walk) {
        const Tensor ones = lower_triangle(walk["mask"].as<bool>());
        return slice(means_by(normalised(ones), walk["x"]), "0");
    });
    page.fill("average_by_softmax_shape", "seed", std::to_string(averaged.plan.config.seed));
    page.remade("average_by_softmax", [](const Plan&, const Ledger& walk) {
        return slice(walk["context"], "0").renamed({"token", "feature"});
    });
}

/// Adds the code of the cells with one, two and five heads.
void fill_cells(NotebookBuilder& page, const ReplayOptions& replay) {
    const auto einsum = [&](const char* name, const char* wrong, const char* right,
                            const char* of) {
        return std::string(name) + " = torch.einsum(\"" + (replay.corrected ? right : wrong) +
               "\", " + of + ")";
    };
    const Plan& one = page.walked("one-head").plan;
    const std::string seed = "torch.manual_seed(" + std::to_string(one.config.seed) + ")\n";
    page.fill("context_shape", "cell", seed + cell_code(replay, one));
    page.fill("context_by_einsum_shape", "cell",
              cell_code(replay, one,
                        {{"context", einsum("context_by_einsum", "bkk,bkf->bkf", "bqk,bkf->bqf",
                                            "weights, value")}}));
    page.fill("two_heads_shape", "cell", cell_code(replay, page.walked("two-heads").plan));
    const std::string five = cell_code(
        replay, page.walked("five-heads").plan,
        {{"scores", einsum("scores", "bhqf,bhkf->bhqk", "bhqf,bhkf->bhqk",
                           replay.corrected ? "query, key" : "key, key")},
         {"context", einsum("context", "bhkk,bhkf->bhkf", "bhqk,bhkf->bhqf", "weights, value")}});
    page.fill("five_heads", "cell", five);
    page.fill("five_heads_scores", "cell", five);
}

}  // namespace

Document causal_heads(const ReplayOptions& replay) {
    NotebookBuilder page(CodeLanguage::torch, replay, attn_notebook_causal_heads,
                         walks_in(attn_notebook_causal_heads, replay));
    const Walked& averaged = page.walked("averages");
    fill_averages(page, averaged);
    if (replay.code) fill_cells(page, replay);
    page.own("transposed_alike", "True");
    if (!replay.corrected) {
        page.remade("five_heads", [](const Plan&, const Ledger&) {
            return std::string("NameError: name 'torch' is not defined");
        });
    }

    // Two views of the weights of cell 41.
    const Walked& one = page.walked("one-head");
    page.remade("weights_variance",
                [](const Plan&, const Ledger& walk) { return variance_tensor(walk["weights"]); });
    page.fill("weights_variance", "equal",
              four(variance_of(slice(averaged.ledger["weights"], "0"))));
    page.fill("weights_variance", "scaled", four(variance_of(one.ledger["scaled_scores"])));
    const Tensor older = slice(page.walked("older").ledger["weights"], "0");
    page.fill("older_weights", "columns", sums_along(older, 0));
    page.fill("older_weights", "rows", sums_along(older, 1));
    return page.finish("causal-heads", one.plan);
}

}  // namespace attn
