#include <algorithm>
#include <array>

#include "attn/cards/step_table.hpp"
#include "attn/notebooks/builder.hpp"
#include "attn/steps/context.hpp"
#include "attn/tensor/slice.hpp"

// Notebook 002: the mean of all earlier tokens, by loop, by matrix and by masked softmax; the same
// with weights that depend on the tokens; two heads; five heads.

namespace attn {
namespace {

/// The mean of each token's features and those of all tokens before it, sample by sample.
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

/// Ones where a query may see a key.
Tensor lower_triangle(const Array<bool>& hidden) {
    Array<float> ones = empty_array<float>(shape_of(hidden));
    for (std::size_t i = 0; i < ones.size(); ++i) ones.data()[i] = hidden.data()[i] ? 0.0F : 1.0F;
    return {{"query", "key"}, std::move(ones)};
}

/// The means that one (query, key) matrix of weights makes in every sample.
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

constexpr const char* died = "NameError: name 'torch' is not defined";

/// Each row divided by its sum.
Tensor normalised(const Tensor& matrix) {
    Array<float> rows = matrix.as<float>();
    for (std::size_t q = 0; q < rows.shape(0); ++q) {
        float sum = 0;
        for (std::size_t k = 0; k < rows.shape(1); ++k) sum += rows(q, k);
        for (std::size_t k = 0; k < rows.shape(1); ++k) rows(q, k) /= sum;
    }
    return {matrix.axes(), std::move(rows)};
}

/// The lines of every step of a cell, from the draws on, under names of its own.
std::string cell_code(const ReplayOptions& replay, const Plan& plan,
                      std::initializer_list<std::pair<const char*, const char*>> replaced,
                      bool continues) {
    if (!replay.code) return {};
    std::string lines;
    Plan own = plan;  // what other cells draw stands in their lines
    own.config.burn_before.clear();
    for (const StepCode& step : program_of(own, step_table(), CodeLanguage::torch, Gradients::on)) {
        if (step.code.empty() || step.step == "row_max" || step.step == "exponentials" ||
            step.step == "row_sum") {
            continue;
        }
        std::string code = step.code;
        for (const auto& [name, instead] : replaced) {
            if (step.step == name) code = instead;
        }
        lines += (lines.empty() ? "" : "\n") + code;
    }
    const std::string seed = "torch.manual_seed(" + std::to_string(plan.config.seed) + ")\n";
    return continues ? lines : seed + lines;
}

}  // namespace

Document causal_heads(const ReplayOptions& replay) {
    NotebookBuilder notebook(CodeLanguage::torch, replay, attn_notebook_causal_heads);
    const bool corrected = replay.corrected;

    // Average the past in three ways.
    const std::vector<NotebookWalk> walks = causal_heads_walks(replay);
    const auto walked = [&](const char* name) { return performed(find_walk(walks, name)); };
    const Walked averaged = walked("averages");
    const Tensor& x_small = averaged.ledger["x"];
    const Tensor average = running_mean(x_small);
    const Tensor triangle = lower_triangle(averaged.ledger["mask"].as<bool>());
    const Tensor uniform = slice(averaged.ledger["weights"], "0");
    notebook.within("averages");

    notebook.shape("x_shape", x_small.shape())
        .fill("setup", setup_code(averaged.plan, CodeLanguage::torch));
    notebook.tensor("x_small", slice(x_small, "0"));
    notebook.tensor("running_mean", slice(average, "0"))
        .remade(
            [](const Plan&, const Ledger& walk) { return slice(running_mean(walk["x"]), "0"); });
    notebook.tensor("lower_triangle", triangle).remade([](const Plan&, const Ledger& walk) {
        return lower_triangle(walk["mask"].as<bool>());
    });
    notebook.tensor("average_by_triangle", slice(means_by(normalised(triangle), x_small), "0"))
        .remade([](const Plan&, const Ledger& walk) {
            const Tensor ones = lower_triangle(walk["mask"].as<bool>());
            return slice(means_by(normalised(ones), walk["x"]), "0");
        });
    notebook.tensor("masked_zeros", slice(averaged.ledger["masked_scores"], "0"));
    notebook.tensor("uniform_weights", uniform).fill("sums", row_sums(uniform));

    // Let the tokens decide: one head, drawn anew from the same seed.
    const Walked one = walked("one-head");
    const Plan& plan = one.plan;
    const Ledger& ledger = one.ledger;

    notebook.within(corrected ? "averages" : "wide-averages");
    notebook
        .shape("average_by_softmax_shape",
               (corrected ? averaged : walked("wide-averages")).ledger["context"].shape())
        .fill("seed", std::to_string(plan.config.seed));
    notebook.within("averages");
    notebook.tensor("average_by_softmax",
                    slice(averaged.ledger["context"], "0").renamed({"token", "feature"}));

    // The lines of a cell keep its mistakes, unless they are corrected.
    const auto scaled = [&](const Plan& of, const char* faithful) {
        return corrected ? step_code("scaled_scores", of, step_table(), CodeLanguage::torch)
                         : faithful;
    };
    notebook.within("one-head");
    const std::string narrow = scaled(plan, "scaled_scores = scores * 32**-0.5");
    notebook.shape("context_shape", ledger["context"].shape())
        .fill("cell", cell_code(replay, plan, {{"scaled_scores", narrow.c_str()}}, false));
    notebook.tensor("context", ledger["context"]);

    // The same with einsum, which takes the diagonal.
    const Ledger diagonal = walked("by-einsum").ledger;
    notebook.within("by-einsum");
    const char* einsum = corrected
                             ? "context_by_einsum = torch.einsum(\"bqk,bkf->bqf\", weights, value)"
                             : "context_by_einsum = torch.einsum(\"bkk,bkf->bkf\", weights, value)";
    notebook.shape("context_by_einsum_shape", diagonal["context"].shape())
        .fill("cell", cell_code(replay, plan,
                                {{"scaled_scores", narrow.c_str()}, {"context", einsum}}, true));
    notebook.tensor("context_by_einsum", diagonal["context"]);

    // Two heads and an output projection.
    const Walked two_walked = walked("two-heads");
    const Plan& two = two_walked.plan;
    const Ledger& both = two_walked.ledger;
    notebook.within("two-heads");
    const std::string narrow_two = scaled(two, "scaled_scores = scores * 32**-0.5");
    notebook.shape("two_heads_shape", both["output"].shape())
        .fill("cell", cell_code(replay, two, {{"scaled_scores", narrow_two.c_str()}}, true));
    notebook.tensor("two_heads_weights", both["weights"]);
    notebook.tensor("two_heads_output", both["output"]);

    // Five heads from one fused projection: the cell died in the notebook.
    const Walked five_walked = walked("five-heads");
    const Plan& five = five_walked.plan;
    const Ledger& fused = five_walked.ledger;
    notebook.within("five-heads");
    const std::string wide = scaled(five, "scaled_scores = scores * 80**-0.5");
    const std::string five_code = cell_code(
        replay, five,
        {{"scores", corrected ? "scores = torch.einsum(\"bhqf,bhkf->bhqk\", query, key)"
                              : "scores = torch.einsum(\"bhqf,bhkf->bhqk\", key, key)"},
         {"scaled_scores", wide.c_str()},
         {"context", corrected ? "context = torch.einsum(\"bhqk,bhkf->bhqf\", weights, value)"
                               : "context = torch.einsum(\"bhkk,bhkf->bhkf\", weights, value)"}},
        true);
    if (corrected) {
        notebook.shape("five_heads", fused["output"].shape()).fill("cell", five_code);
    } else {
        notebook.text("five_heads", died).remade([](const Plan&, const Ledger&) {
            return std::string(died);
        });
    }
    notebook.tensor("five_heads_scores", fused["scores"]).fill("cell", five_code);
    notebook.tensor("five_heads_output", fused["output"]);

    // What is left: a transposition, and two looks at the weights of cell 41.
    notebook.within("");
    notebook.text("transposed_alike", "True");
    notebook.within("one-head");
    notebook.tensor("weights", slice(ledger["weights"], "0"))
        .fill("sums", row_sums(slice(ledger["weights"], "0")));
    notebook.tensor("weights_variance", variance_tensor(ledger["weights"]))
        .remade([](const Plan&, const Ledger& walk) { return variance_tensor(walk["weights"]); })
        .fill("equal", four(variance_of(uniform)))
        .fill("scaled", four(variance_of(ledger["scaled_scores"])));
    notebook.within("older");
    const Tensor stale = slice(walked("older").ledger["weights"], "0");
    notebook.tensor("older_weights", stale)
        .fill("columns", column_sums(stale))
        .fill("rows", row_sums(stale));
    return notebook.finish("causal-heads", plan);
}

}  // namespace attn
