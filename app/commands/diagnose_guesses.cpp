#include <algorithm>

#include "app/commands/diagnose_setup.hpp"

namespace app {

std::vector<OtherSetting> other_settings(const Arguments& arguments, const Asked& asked) {
    std::vector<OtherSetting> others;
    const attn::WalkConfig& config = asked.config;
    const auto add = [&](const std::string& flag, auto change) {
        attn::WalkConfig other = config;
        change(other);
        others.push_back({flag, std::move(other)});
    };
    // By value: what it starts from may be one of the others, which move as they grow.
    const auto add_causal = [&](const std::string& flag, attn::WalkConfig other) {
        other.mask.causal = true;
        const std::string causal = flag + (flag.empty() ? "" : " ") + "--mask causal";
        others.push_back({causal, other});
        // Fewer queries than keys may be the last ones.
        if (!other.memory || arguments.has("--causal-align")) return;
        other.causal_align = attn::CausalAlign::end;
        others.push_back({causal + " --causal-align end", std::move(other)});
    };
    const attn::Tensor* query = config.parameters.find("w_query");
    const attn::Tensor* fused = config.parameters.find("w_qkv");
    if (const attn::Tensor* w = fused != nullptr ? fused : query;
        !arguments.has("--heads") && config.heads == 1 && w != nullptr) {
        const bool in_out = config.weight_layout == attn::WeightLayout::in_out;
        const auto all = static_cast<std::int64_t>(
            (in_out ? w->shape().back() : w->shape().front()) / (fused != nullptr ? 3 : 1));
        for (std::int64_t heads = 2; heads <= std::min<std::int64_t>(all / 2, 32); ++heads) {
            if (all % heads != 0) continue;
            const std::string flag = "--heads " + std::to_string(heads);
            add(flag, [heads](attn::WalkConfig& other) {
                other.heads = heads;
                other.head_dim.reset();
                other.value_dim.reset();
            });
            if (!says_mask(arguments, config)) add_causal(flag, others.back().config);
        }
    }
    if (!says_mask(arguments, config)) add_causal("", config);
    if (!arguments.has("--projection") && config.projection == attn::Projection::fused) {
        add("--projection fused-by-head",
            [](attn::WalkConfig& other) { other.projection = attn::Projection::fused_by_head; });
    }
    const bool square = query != nullptr && query->dimension() == 2 &&
                        query->shape().front() == query->shape().back();
    if (!arguments.has("--weight-layout") && square && !config.weight_layout) {
        add("--weight-layout in-out",
            [](attn::WalkConfig& other) { other.weight_layout = attn::WeightLayout::in_out; });
    }
    return others;
}

}  // namespace app
