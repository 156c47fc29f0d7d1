#include "attn/core/cards/step_table.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/learn/notebooks/builder.hpp"
#include "attn/show/render/torch_text.hpp"

// Notebook 000: two sequences, one of them padded, with two heads from one fused projection. The
// notebook was run with PyTorch's portable build.

namespace attn {
namespace {

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

Document padding_heads(const ReplayOptions& replay) {
    NotebookBuilder page(CodeLanguage::torch, replay, attn_notebook_padding_heads,
                         walks_in(attn_notebook_padding_heads, replay));
    const auto& [plan, table, ledger] = page.walked("attention");
    page.codes(plan, Gradients::on);
    page.remade("qkv_by_token_shape", [](const Plan& of, const Ledger& walk) {
        return torch_size_text(cut_into_heads(of, walk["qkv"]).shape());
    });
    page.remade("qkv_by_token", [](const Plan& of, const Ledger& walk) {
        return slice(cut_into_heads(of, walk["qkv"]), "0");
    });
    page.remade("qkv_of_one_shape", [](const Plan& of, const Ledger& walk) {
        return torch_size_text(slice(cut_into_heads(of, walk["qkv"]), "0").shape());
    });
    page.remade("qkv_by_head_shape", [](const Plan& of, const Ledger& walk) {
        return torch_size_text(cut_by_head(of, walk["qkv"]).shape());
    });
    page.remade("qkv_by_head", [](const Plan& of, const Ledger& walk) {
        return slice(cut_by_head(of, walk["qkv"]), "0");
    });
    page.remade("is_padding", [](const Plan& of, const Ledger&) { return padding_of(of); });
    const Tensor on_padding = slice(ledger["weights"], "0,0,0,2:");
    page.fill("weights", "first", four(on_padding.at(0)));
    page.fill("weights", "second", four(on_padding.at(1)));
    page.fill("weights", "both", four(sum_of(on_padding)));
    return page.finish("padding-heads", plan);
}

}  // namespace attn
