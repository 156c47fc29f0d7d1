#include "attn/core/walk/feature_names.hpp"

#include <algorithm>
#include <string_view>

#include "attn/core/plan/plan.hpp"

namespace attn {
namespace {

/// Returns the part of the walk whose features these are: x, query, key, value or output.
std::string features_of(const PlannedStep& of, const std::string& axis) {
    const std::string& name = of.step.gradient_of.empty() ? of.step.name : of.step.gradient_of;
    const Step& step = of.step.gradient_of.empty() ? of.step : find_step(of.table, name);
    const bool is_matrix = name.starts_with("w_") || name.starts_with("b_");
    if (is_matrix && axis == "out") return name.substr(2);
    if (is_matrix) return name == "w_output" ? "value" : "x";
    if (axis != "feature" || step.mixes_features || name == "output") return "";
    constexpr std::string_view projected = "projected_";  // all heads side by side
    if (name.starts_with(projected)) return name.substr(projected.size());
    // A rotation mixes the features of a pair.
    const bool is_rotated = of.plan.rotates() && name != "query" && name != "key";
    switch (step.chain) {
        case Chain::queries:
            return is_rotated ? "" : "query";
        case Chain::keys:
            return is_rotated ? "" : "key";
        case Chain::values:
        case Chain::contexts:
            return "value";
        default:
            return name == "x" || name == "normed_x" ? "x" : "";
    }
}

}  // namespace

FeatureNames feature_names(const PlannedStep& of, const Tensor& tensor, std::size_t axis) {
    const auto& all = of.plan.config.feature_names;
    if (all.empty()) return {};
    const auto found = all.find(features_of(of, tensor.axes()[axis]));
    if (found == all.end()) return {};
    const std::vector<std::string>& names = found->second;
    const std::size_t length = tensor.shape()[axis];
    if (names.size() == length) return {names};
    // Names of several heads: one list per head, which repeated heads share.
    if (!tensor.has_axis("head") || length == 0 || names.size() % length != 0) return {};
    const std::size_t heads = tensor.extent("head"), lists = names.size() / length;
    FeatureNames by_head;
    for (std::size_t head = 0; head < heads; ++head) {
        const auto first = names.begin() + std::ptrdiff_t(head * lists / heads * length);
        by_head.emplace_back(first, first + std::ptrdiff_t(length));
    }
    return by_head;
}

}  // namespace attn
