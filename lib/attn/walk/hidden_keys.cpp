#include "attn/walk/hidden_keys.hpp"

#include <vector>

namespace attn {

HiddenKeys::HiddenKeys(const Plan& plan) {
    const WalkConfig& config = plan.config;
    mask_.causal = config.mask.causal;
    if (config.causal_align == CausalAlign::end) {
        mask_.causal_offset =
            static_cast<std::ptrdiff_t>(plan.key_len) - static_cast<std::ptrdiff_t>(plan.query_len);
    }
    if (!config.mask.padding && !config.mask.given) return;
    const std::size_t score_axes = plan.per_head_shape(1, 1).size();
    if (config.mask.padding) cells_ = padding_mask(plan.key_padding, score_axes);
    if (config.mask.given) {
        const Array<bool>& given = config.mask.given->as<bool>();
        cells_ = config.mask.padding ? either_mask(cells_, given) : given;
    }
    mask_.hidden = cells_.data();

    // From the right: key, query, head and batch where they exist. Length 1 repeats itself.
    std::vector<std::size_t*> strides{&mask_.key_stride, &mask_.query_stride};
    if (plan.has_head) strides.push_back(&mask_.head_stride);
    if (plan.has_batch) strides.push_back(&mask_.batch_stride);
    const Shape shape = shape_of(cells_);
    std::size_t stride = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::size_t length = shape[shape.size() - 1 - axis];
        if (length != 1) *strides[axis] = stride;
        stride *= length;
    }
}

MaskView HiddenKeys::mask_from(std::size_t batch, std::size_t head, std::size_t query) const {
    MaskView mask = mask_;
    mask.causal_offset += static_cast<std::ptrdiff_t>(query);
    if (mask.hidden) {
        mask.hidden +=
            batch * mask.batch_stride + head * mask.head_stride + query * mask.query_stride;
    }
    return mask;
}

AttentionShape attention_shape(const Plan& plan) {
    return {plan.batch, plan.heads, plan.query_len, plan.key_len, plan.head_dim, plan.value_dim};
}

}  // namespace attn
