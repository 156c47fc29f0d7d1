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
    NotebookBuilder notebook(CodeLanguage::torch, replay);
    const bool corrected = replay.corrected;
    const char* scale_note =
        "The scores are scaled by the width of the whole embedding instead of that of one head: "
        "they are too small by sqrt(16/32) = 0.7071, and the weights too flat.";

    // Average the past in three ways.
    const std::vector<NotebookWalk> walks = causal_heads_walks(replay);
    const auto walked = [&](const char* name) { return performed(find_walk(walks, name)); };
    const Walked averaged = walked("averages");
    const Plan& average_plan = averaged.plan;
    const Tensor& x_small = averaged.ledger["x"];
    const Tensor average = running_mean(x_small);
    const Tensor triangle = lower_triangle(averaged.ledger["mask"].as<bool>());
    const Tensor uniform = slice(averaged.ledger["weights"], "0");
    notebook.within("averages");

    notebook.shape("x_shape", "cell 2, the shape of the first input", x_small.shape())
        .from("x")
        .made("x ~ N(0, 1): 4 samples, 8 tokens, 2 features")
        .code(setup_code(average_plan, CodeLanguage::torch) + "\n\nx_small = torch.randn(4, 8, 2)")
        .printed_by("x_small.shape");
    notebook.tensor("x_small", "cell 3, the first sample", slice(x_small, "0"))
        .from("x[0]")
        .made("x_small[0]")
        .printed_by("x_small[0]");
    notebook
        .tensor("running_mean", "cell 6, each token replaced by the mean of itself and the past",
                slice(average, "0"))
        .from("context[0]")
        .remade([](const Plan&, const Ledger& walk) { return slice(running_mean(walk["x"]), "0"); })
        .made("running_mean(t) = (x(0) + ... + x(t)) / (t + 1), by a loop over samples and tokens")
        .code(
            "running_mean = torch.stack(\n"
            "    [torch.stack([sample[: t + 1].mean(dim=0) for t in range(8)]) for sample in "
            "x_small]\n)")
        .printed_by("running_mean[0]")
        .note("The first row is the token itself; the last is the mean of all eight.");
    notebook.tensor("lower_triangle", "cell 40, which tokens each token may average", triangle)
        .from("mask")
        .remade(
            [](const Plan&, const Ledger& walk) { return lower_triangle(walk["mask"].as<bool>()); })
        .made("ones on and below the diagonal")
        .code("lower_triangle = torch.ones(8, 8).tril()");
    notebook
        .tensor("average_by_triangle", "the same means by one matrix product",
                slice(means_by(normalised(triangle), x_small), "0"))
        .from("context[0]")
        .remade([](const Plan&, const Ledger& walk) {
            const Tensor ones = lower_triangle(walk["mask"].as<bool>());
            return slice(means_by(normalised(ones), walk["x"]), "0");
        })
        .made("each row of lower_triangle divided by its sum, times x")
        .code(
            "shares = lower_triangle / lower_triangle.sum(dim=1, keepdim=True)\n"
            "average_by_triangle = shares @ x_small")
        .printed_by("average_by_triangle[0]")
        .kept();
    notebook
        .tensor("masked_zeros",
                "cell 40, scores that know nothing yet: all zero, the future hidden",
                slice(averaged.ledger["masked_scores"], "0"))
        .from("masked_scores[0]")
        .made("0 where lower_triangle is 1, else -inf")
        .code("masked_zeros = torch.zeros(8, 8).masked_fill(lower_triangle == 0, float(\"-inf\"))");
    notebook.tensor("uniform_weights", "cell 40, softmax turns them into equal weights", uniform)
        .from("weights[0]")
        .made("softmax over the key axis; row t has t + 1 equal weights, which sum to 1")
        .code("uniform_weights = F.softmax(masked_zeros, dim=-1)")
        .note("Each row sums to 1: " + row_sums(uniform) + ".");

    // Let the tokens decide: one head, drawn anew from the same seed.
    const Walked one = walked("one-head");
    const Plan& plan = one.plan;
    const Ledger& ledger = one.ledger;

    notebook.within(corrected ? "averages" : "wide-averages");
    const std::string seed_line = "torch.manual_seed(" + std::to_string(plan.config.seed) + ")\n";
    notebook
        .shape("average_by_softmax_shape", "cell 40, the shape of these averages",
               (corrected ? averaged : walked("wide-averages")).ledger["context"].shape())
        .from("context")
        .made("uniform_weights @ x")
        .code(corrected
                  ? "average_by_softmax = uniform_weights @ x_small"
                  : seed_line + "average_by_softmax = uniform_weights @ torch.randn(4, 8, 32)")
        .note(corrected
                  ? "With the x of the cells above these are the running means once more."
                  : "The x above has 2 features, this result 32: a later cell had already "
                    "replaced x when this one was run, so the notebook never compares the softmax "
                    "with the loop.");
    notebook.within("averages");
    notebook
        .tensor("average_by_softmax", "the means by masked softmax",
                slice(averaged.ledger["context"], "0").renamed({"token", "feature"}))
        .from("context[0]")
        .made("uniform_weights @ x_small: the same as running_mean")
        .code("average_by_softmax = uniform_weights @ x_small")
        .printed_by("average_by_softmax[0]")
        .kept();

    // The lines of a cell keep its mistakes, unless they are corrected.
    const auto scaled = [&](const Plan& of, const char* faithful) {
        return corrected ? step_code("scaled_scores", of, step_table(), CodeLanguage::torch)
                         : faithful;
    };
    notebook.within("one-head");
    const std::string narrow = scaled(plan, "scaled_scores = scores * 32**-0.5");
    notebook
        .shape("context_shape", "cell 41, the shape of one head's result",
               ledger["context"].shape())
        .made(
            "key, query and value by a Linear each, drawn in this order; softmax of the scaled, "
            "causally masked scores; weights @ value")
        .code(cell_code(replay, plan, {{"scaled_scores", narrow.c_str()}}, false))
        .mistake("scale-dmodel", scale_note);
    notebook.tensor("context", "the result itself", ledger["context"])
        .made("weights @ value")
        .grad("UnsafeView")
        .kept();

    // The same with einsum, which takes the diagonal.
    const Ledger diagonal = walked("by-einsum").ledger;
    notebook.within("by-einsum");
    const char* right_einsum = "context_by_einsum = torch.einsum(\"bqk,bkf->bqf\", weights, value)";
    const char* diagonal_einsum =
        "context_by_einsum = torch.einsum(\"bkk,bkf->bkf\", weights, value)";
    const std::string saved = "weights_41, scaled_scores_41 = weights, scaled_scores\n";
    notebook
        .shape("context_by_einsum_shape", "cell 93, the shape with einsum in place of @",
               diagonal["context"].shape())
        .from("context")
        .made(corrected ? "einsum(bqk,bkf->bqf), with new x and weights"
                        : "einsum with the letter of the key axis on the query axis too")
        .code(saved + cell_code(replay, plan,
                                {{"scaled_scores", narrow.c_str()},
                                 {"context", corrected ? right_einsum : diagonal_einsum}},
                                true))
        .mistake("einsum-diagonal",
                 "One letter stands for queries and keys, so einsum reads the diagonal of the "
                 "weights: token t gets weights(t,t) times its own value and nothing from any "
                 "other token. The shape is right all the same. The first token's row equals its "
                 "value exactly, and each later one is its value times one number.")
        .mistake("scale-dmodel", scale_note);
    notebook.tensor("context_by_einsum", "the result itself", diagonal["context"])
        .from("context")
        .made(corrected ? "weights @ value" : "weights(t,t) * value(t)")
        .grad(corrected ? "View" : "Mul")
        .kept();

    // Two heads and an output projection.
    const Walked two_walked = walked("two-heads");
    const Plan& two = two_walked.plan;
    const Ledger& both = two_walked.ledger;
    notebook.within("two-heads");
    const std::string narrow_two = scaled(two, "scaled_scores = scores * 32**-0.5");
    notebook
        .shape("two_heads_shape", "cell 86, the shape after two heads and an output projection",
               both["output"].shape())
        .from("output")
        .made(
            "32 features for q, k, v; view as 2 heads of 16, head axis in front; attention in "
            "each; heads side by side again; times w_output^T")
        .code(cell_code(replay, two, {{"scaled_scores", narrow_two.c_str()}}, true))
        .printed_by("output.shape")
        .mistake("scale-dmodel", scale_note);
    notebook
        .tensor("two_heads_weights", "how much attention each query pays in each head",
                both["weights"])
        .from("weights")
        .made("softmax over the key axis")
        .printed_by("weights")
        .grad("Softmax")
        .kept();
    notebook.tensor("two_heads_output", "the result itself", both["output"])
        .from("output")
        .made("merged @ w_output^T")
        .printed_by("output")
        .grad("UnsafeView")
        .kept();

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
        notebook.shape("five_heads", "cell 1, the shape after five heads", fused["output"].shape())
            .from("output")
            .made("one Linear for q, k and v of all heads, cut head by head")
            .code(five_code)
            .printed_by("output.shape");
    } else {
        notebook
            .text("five_heads", "cell 1, five heads: the cell died before it printed anything",
                  died)
            .from("output")
            .remade([](const Plan&, const Ledger&) { return std::string(died); })
            .made("one Linear for q, k and v of all heads, cut head by head")
            .code(
                "try:\n    exec(\"torch.arange(1)\", {})  # a fresh session has not imported torch"
                "\nexcept NameError as error:\n    died = f\"NameError: {error}\"")
            .printed_by("died")
            .note(
                "The session had been restarted. What the cell would have computed is kept: ask "
                "for five_heads_scores or five_heads_output.");
    }
    notebook
        .mistake("k-dot-k",
                 "The scores are made of keys and keys: the query is never used, and the scores "
                 "are symmetric, with squared lengths on their diagonal.")
        .mistake("scale-dmodel",
                 "They are scaled by sqrt(80), the whole width, instead of sqrt(16).")
        .mistake("einsum-diagonal",
                 "And einsum reads the diagonal again. Three mistakes in one cell that never ran.");
    notebook.tensor("five_heads_scores", "the scores of five heads", fused["scores"])
        .from("scores")
        .made(corrected ? "query @ key^T" : "key @ key^T")
        .code(corrected ? "" : five_code)
        .printed_by("scores")
        .grad("View")
        .kept();
    notebook.tensor("five_heads_output", "the result of five heads", fused["output"])
        .from("output")
        .made("merged @ w_output^T")
        .printed_by("output")
        .grad("UnsafeView")
        .kept();

    // What is left: a transposition, and two looks at the weights of cell 41.
    notebook.within("");
    notebook.text("transposed_alike", "cell 79, whether permute and transpose agree", "True")
        .made("exchanging two axes of a (3, 4, 5) tensor is the same by either name")
        .code("test = torch.rand(3, 4, 5)")
        .printed_by("test.permute(1, 0, 2).allclose(test.transpose(0, 1))");
    notebook.within("one-head");
    notebook
        .tensor("weights", "cell 39, the weights of cell 41, first sample",
                slice(ledger["weights"], "0"))
        .from("weights[0]")
        .made("softmax over the key axis")
        .code("weights = weights_41")
        .printed_by("weights[0]")
        .note("Each row sums to 1: " + row_sums(slice(ledger["weights"], "0")) + ".")
        .grad("Select")
        .mistake("scale-dmodel", scale_note);
    notebook
        .tensor("weights_variance", "cell 36, the variance of all these weights",
                variance_tensor(ledger["weights"]))
        .from("weights")
        .remade([](const Plan&, const Ledger& walk) { return variance_tensor(walk["weights"]); })
        .made("the unbiased variance, hidden cells counted as zeros")
        .code("weights_variance = weights.var()")
        .note("The equal weights of cell 40 have nearly the same (" + four(variance_of(uniform)) +
              "): this number says little. What should be near 1 is the variance of the scaled "
              "scores; here it is " +
              four(variance_of(ledger["scaled_scores"])) + ".")
        .grad("Var");
    notebook.within("older");
    const Tensor stale = slice(walked("older").ledger["weights"], "0");
    notebook
        .tensor("older_weights", "cell 32, the same weights in an older state of the notebook",
                stale)
        .from("weights[0]")
        .made(corrected ? "softmax over the key axis" : "softmax over the query axis")
        .code("older_scores = (scaled_scores_41 * (math.sqrt(" +
              std::string(corrected ? "1" : "32 / 16") +
              "))).masked_fill(lower_triangle == 0, float(\"-inf\"))\n"
              "older_weights = F.softmax(older_scores, dim=" +
              (corrected ? "-1" : "1") + ")")
        .printed_by("older_weights[0]")
        .mistake("softmax-axis=query",
                 "Softmax ran over axis 1, which is right for a (query, key) matrix and wrong once "
                 "a batch axis stands in front. The columns sum to 1 (" +
                     column_sums(stale) + "), the rows to " + row_sums(stale) +
                     ". Under a causal mask the last key is seen by the last query alone, so its "
                     "cell is exactly 1. Write -1, which counts from the end.")
        .grad("Select");
    return notebook.finish("causal-heads", plan);
}

}  // namespace attn
