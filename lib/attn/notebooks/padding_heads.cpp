#include "attn/cards/step_table.hpp"
#include "attn/notebooks/builder.hpp"
#include "attn/render/torch_text.hpp"
#include "attn/steps/heads.hpp"
#include "attn/tensor/error.hpp"
#include "attn/tensor/slice.hpp"

// Notebook 000: two sequences, one of them padded, through two heads that are cut out of one fused
// projection. The notebook was run with PyTorch's portable build.

namespace attn {
namespace {

/// The attention of the page, whose masking cell was not run.
NotebookWalk attention(const ReplayOptions& replay) {
    WalkConfig config;
    Tokens tokens;
    tokens.sequences = {{1, 2, 0, 0}, {1, 2, 3, 4}};
    tokens.vocab_size = 5;
    tokens.pad_id = 0;
    config.input = tokens;
    config.embed_dim = 4;
    config.heads = 2;
    config.projection = Projection::fused_by_head;
    config.redraw = 1;  // the cell that makes the projection was run twice
    config.mask.padding = true;
    config.output_projection = replay.corrected;
    config.seed = 2;
    config.torch_build = TorchBuild::portable;
    config.variant = Variant::loop;
    return walk_of(replay, "attention", config, {"mask-not-applied"});
}

Tensor cut_into_heads(const Plan& plan, const Tensor& qkv) {
    Array<float> heads = cast(qkv, DType::float32).as<float>();
    heads.reshape({plan.batch, plan.query_len, plan.heads, 3 * plan.head_dim});
    return {{"batch", "token", "head", "feature"}, std::move(heads)};
}

Tensor cut_by_head(const Plan& plan, const Tensor& qkv) {
    return {plan.per_head_axes("query", "feature"),
            loop::split_heads(cast(qkv, DType::float32).as<float>(), plan.heads)};
}

Tensor padding_of(const Plan& plan) {
    if (!plan.config.mask.padding)
        throw ConfigError("there is no padding mask with these settings");
    return {{"batch", "key"}, plan.key_padding};
}

}  // namespace

std::vector<NotebookWalk> padding_heads_walks(const ReplayOptions& replay) {
    return {attention(replay)};
}

Document padding_heads(const ReplayOptions& replay) {
    const Walked walked = performed(attention(replay));
    const Plan& plan = walked.plan;
    const Ledger& ledger = walked.ledger;
    const Tensor by_token = cut_into_heads(plan, ledger["qkv"]);
    const Tensor by_head = cut_by_head(plan, ledger["qkv"]);
    const auto shape_by_token = [](const Plan& of, const Ledger& walk) {
        return torch_size_text(cut_into_heads(of, walk["qkv"]).shape());
    };
    const auto first_by_token = [](const Plan& of, const Ledger& walk) {
        return slice(cut_into_heads(of, walk["qkv"]), "0");
    };
    const Tensor on_padding = slice(ledger["weights"], "0,0,0,2:");
    const auto code = [&](const char* step) {
        return step_code(step, plan, step_table(), CodeLanguage::torch, Gradients::on);
    };

    // Show what the notebook shows, in its order.
    NotebookBuilder notebook(CodeLanguage::torch, replay);
    notebook.within("attention");
    notebook
        .tensor("ids", "cell 5, one id for each token; 0 fills the shorter sequence up",
                ledger["ids"])
        .made("ids, as typed in")
        .code(setup_code(plan, CodeLanguage::torch) + "\n\n" + code("ids"));
    notebook.tensor("x", "cell 7, the features of each token", ledger["x"])
        .made("x(t) = embedding(ids(t)); the row of id 0 is all zeros")
        .code(code("embedding") + "\n" + code("x"))
        .grad("Embedding");
    notebook.shape("qkv_shape", "cell 29, the shape of the fused projection", ledger["qkv"].shape())
        .made("qkv = x @ w_qkv^T, three times as many features as x")
        .code(code("w_qkv") + "\n" + code("qkv"))
        .note(
            "The cell was run twice, and the weight of the second run is the one in use: a fresh "
            "run from the seed alone would print other numbers from here on.");
    notebook
        .shape("qkv_by_token_shape", "cell 31, the features of each token cut into heads",
               by_token.shape())
        .from("qkv")
        .remade(shape_by_token)
        .made("reshape to (batch, token, head, query|key|value features)")
        .code("qkv_by_token = qkv.reshape(2, 4, 2, 6)");
    notebook
        .tensor("qkv_by_token", "cell 32, the first sequence, token by token", slice(by_token, "0"))
        .from("qkv[0]")
        .remade(first_by_token)
        .made("one line for each head of each token")
        .printed_by("qkv_by_token[0]")
        .grad("Select");
    notebook.shape("qkv_of_one_shape", "cell 33, its shape", slice(by_token, "0").shape())
        .from("qkv[0]")
        .remade([=](const Plan& of, const Ledger& walk) {
            return torch_size_text(first_by_token(of, walk).shape());
        })
        .made("one axis less: the batch axis was indexed away")
        .printed_by("qkv_by_token[0].shape");
    notebook
        .shape("qkv_by_head_shape", "cell 35, the head axis moved in front of the tokens",
               by_head.shape())
        .from("qkv")
        .remade([](const Plan& of, const Ledger& walk) {
            return torch_size_text(cut_by_head(of, walk["qkv"]).shape());
        })
        .made("permute to (batch, head, token, feature)")
        .code("qkv_by_head = qkv_by_token.permute(0, 2, 1, 3)");
    notebook.tensor("qkv_by_head", "cell 36, the first sequence, head by head", slice(by_head, "0"))
        .from("query[0],key[0],value[0]")
        .remade([](const Plan& of, const Ledger& walk) {
            return slice(cut_by_head(of, walk["qkv"]), "0");
        })
        .made("the same numbers: each head now holds a matrix of its own")
        .printed_by("qkv_by_head[0]")
        .grad("Select");
    notebook.shape("query_shape", "cell 39, the shape of the queries", ledger["query"].shape())
        .made("qkv_by_head cut in three along its last axis: query, key, value")
        .code("query, key, value = qkv_by_head.chunk(3, dim=-1)");
    notebook.tensor("query", "cell 40, what each token looks for", ledger["query"])
        .made("the first third of each head's features")
        .note("Rows of padding are zero: its embedding is zero and the projection has no bias.")
        .grad("Split");
    notebook
        .shape("scaled_scores_shape", "cell 42, the shape of the scores",
               ledger["scaled_scores"].shape())
        .made("scaled_scores = query @ key^T / sqrt(head_dim)")
        .code(code("scores") + "\n" + code("scaled_scores"));
    notebook.tensor("is_padding", "cell 44, where the padding is", padding_of(plan))
        .from("mask[:,0,0]")
        .remade([](const Plan& of, const Ledger&) { return padding_of(of); })
        .made("ids == 0")
        .code("is_padding = ids == 0");
    notebook
        .tensor("mask", "cell 46, the same with room for the head and query axes", ledger["mask"])
        .made("two axes of length 1 put in: every head and every query has the same mask")
        .code("mask = is_padding[:, None, None, :]");
    notebook
        .tensor("masked_scores", "cell 47, the scores that softmax will read",
                ledger["masked_scores"])
        .made(replay.corrected ? "masked_scores = -inf where mask is true, else scaled_scores"
                               : "masked_scores = scaled_scores: the mask was not applied")
        .code(replay.corrected ? code("masked_scores")
                               : "masked_scores = scaled_scores  # the mask is not applied")
        .mistake("mask-not-applied",
                 "A masking cell stands above, but it was run in another session (its number is "
                 "338): the scores printed here never met the mask. The columns of padding should "
                 "be -inf; they are 0 because padded keys are zero vectors, so that a missing mask "
                 "looks like a mask of zeros.")
        .grad(replay.corrected ? "MaskedFill" : "Div");
    notebook
        .tensor("weights", "cell 49, how much attention each query pays to each key",
                ledger["weights"])
        .made("softmax over the key axis")
        .code(code("weights"))
        .note(replay.corrected ? "Padding now has no weight, and each row still sums to 1." : "")
        .mistake("mask-not-applied",
                 "In the first row of head 0 the two padded keys have " + four(on_padding.at(0)) +
                     " + " + four(on_padding.at(1)) + " = " + four(sum_of(on_padding)) +
                     " of the attention; they should have none. The row still sums to 1, so "
                     "its sum does not give the mistake away: add up the columns of padding.")
        .grad("Softmax");
    notebook
        .tensor("merged", "cell 51, the values mixed by attention, heads side by side",
                ledger["merged"])
        .made("context = weights @ value; permute to (batch, token, head, feature); reshape")
        .code(code("context") + "\n" + code("merged"))
        .mistake("mask-not-applied",
                 "Padded values are zero, so the rows of the padded sequence are right but for "
                 "their size: each is too small by the share that the real keys kept. Rows 2 and 3 "
                 "share evenly over four keys instead of two and are exactly half of what they "
                 "should be.")
        .mistake(
            "no-output-projection",
            "The notebook stops here: the heads stand side by side, and no output projection has "
            "mixed them.")
        .grad("UnsafeView");
    if (replay.corrected) {
        notebook
            .tensor("output", "added, the heads mixed by an output projection", ledger["output"])
            .made("output = merged @ w_output^T")
            .code(code("w_output") + "\n" + code("output"))
            .grad("UnsafeView");
    }
    return notebook.finish("padding-heads", plan);
}

}  // namespace attn
