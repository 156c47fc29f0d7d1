#include "attn/plan/differential.hpp"

#include <cmath>

#include "attn/tensor/error.hpp"
#include "attn/text/told.hpp"

namespace attn {

void check_differential(const Plan& plan) {
    if (!plan.differs()) return;
    const WalkConfig& config = plan.config;
    const auto require = [](bool fine, const std::string& message) {
        if (!fine) throw ConfigError("$differential "_told + message);
    };
    require(*config.differential.depth >= 0, "counts layers from 0: pass 0 or more");
    const bool splits = config.projection == Projection::split ||
                        config.projection == Projection::fused ||
                        (config.projection == Projection::none && !plan.has_x());
    require(splits,
            "has twice as many heads of query and key as of value: use $projection split or "
            "fused"_told);
    require(!plan.fused(),
            "takes one softmax from another, which no block of keys can: leave $variant fused "
            "out"_told);
    require(config.softmax_axis == SoftmaxAxis::key,
            "needs softmax over the keys: leave $softmax-axis out"_told);
}

double Plan::lambda_init() const {
    return 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(*config.differential.depth));
}

}  // namespace attn
