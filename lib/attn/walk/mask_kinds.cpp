#include "attn/walk/mask_kinds.hpp"

#include <array>

namespace attn {
namespace {

bool after_the_query(const Plan& plan, const ScoreCell& cell) {
    return static_cast<std::ptrdiff_t>(cell.key) >
           static_cast<std::ptrdiff_t>(cell.query) + causal_offset(plan);
}

bool is_padding(const Plan& plan, const ScoreCell& cell) {
    const std::size_t row = plan.has_batch ? cell.batch * plan.key_len : 0;
    return plan.key_padding.data()[row + cell.key];
}

/// The given mask, read where it broadcasts to the cell.
bool hidden_by_file(const Plan& plan, const ScoreCell& cell) {
    const Array<bool>& mask = plan.config.mask.given->as<bool>();
    const Shape& shape = mask.shape();
    std::array<std::size_t, 4> index{cell.key, cell.query};
    std::size_t axes = 2;
    if (plan.has_head) index[axes++] = cell.head;
    if (plan.has_batch) index[axes++] = cell.batch;
    std::size_t flat = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::size_t length = shape[i];
        flat = flat * length + (length == 1 ? 0 : index[shape.size() - 1 - i]);
    }
    return mask.data()[flat];
}

constexpr std::array<MaskKind, 3> kinds{{
    {
        .word = "causal",
        .chosen = [](const Plan& plan) { return plan.config.mask.causal; },
        .hides = after_the_query,
        .shape =
            [](const Plan& plan) {
                return Shape{plan.query_len, plan.key_len};
            },
        .limit =
            [](const Plan& plan, MaskView& view) {
                view.causal = true;
                view.causal_offset = causal_offset(plan);
            },
        .rule =
            [](const Plan& plan) {
                return std::string(causal_offset(plan) != 0 ? "k > q + key_len - query_len"
                                                            : "k > q");
            },
        .reason = "the key comes after the query",
        .keys =
            [](const Plan& plan) {
                return std::string(causal_offset(plan) != 0
                                       ? "keys that come later than the query, counted from the end"
                                       : "keys that come after the query");
            },
        .also = "later keys",
    },
    {
        .word = "padding",
        .chosen = [](const Plan& plan) { return plan.config.mask.padding; },
        .hides = is_padding,
        .shape =
            [](const Plan& plan) {
                if (!plan.has_batch) return Shape{1, plan.key_len};
                Shape shape = plan.per_head_shape(1, plan.key_len);
                if (plan.has_head) shape[1] = 1;
                return shape;
            },
        .limit = nullptr,
        .rule = [](const Plan&) { return std::string("key k is padding"); },
        .reason = "the key is padding",
        .keys = [](const Plan&) { return std::string("keys that are padding"); },
        .also = "padding",
    },
    {
        .word = "file",
        .chosen = [](const Plan& plan) { return plan.config.mask.given.has_value(); },
        .hides = hidden_by_file,
        .shape = [](const Plan& plan) { return plan.config.mask.given->shape(); },
        .limit = nullptr,
        .rule = [](const Plan&) { return std::string("the mask file hides (q, k)"); },
        .reason = "the given mask hides it",
        .keys = [](const Plan&) { return std::string("what the mask file hides"); },
        .also = "what the mask file hides",
    },
}};

}  // namespace

std::span<const MaskKind> mask_kinds() { return kinds; }

std::ptrdiff_t causal_offset(const Plan& plan) {
    if (plan.config.causal_align == CausalAlign::start) return 0;
    return static_cast<std::ptrdiff_t>(plan.key_len) - static_cast<std::ptrdiff_t>(plan.query_len);
}

}  // namespace attn
