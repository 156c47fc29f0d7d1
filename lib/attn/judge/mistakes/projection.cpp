#include <array>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Biases that are left out.

namespace attn {
namespace {

constexpr std::array<const char*, 3> part_names{"query", "key", "value"};

/// Leaves out the bias of one part, or of all three if they have one.
TableEdit without_bias(std::size_t part) {
    const auto name = [part](const Plan& plan) {
        return std::string("b_") + (plan.one_weight() ? "qkv" : part_names[part]);
    };
    return reads(projecting_steps, name, [=](const Plan& plan) -> std::string {
        if (!plan.one_weight()) return name(plan) + "[f] = 0";
        const Projected& projected = query_key_value()[part];
        const bool by_head = plan.config.projection == Projection::fused_by_head;
        const std::size_t first = plan.fused_features(part).front();
        const std::size_t count = by_head ? projected.width(plan) : projected.all_features(plan);
        const std::string feature = by_head ? "o % (2 * D + Dv)" : "o";
        return "b_qkv[o] = if " + feature + " >= " + std::to_string(first) + " and " + feature +
               " < " + std::to_string(first + count) + " then 0 else b_qkv[o]";
    });
}

/// Returns the index of query, key or value.
std::size_t part_called(std::string_view name) { return projected_of(name.front()).number; }

}  // namespace

/// Sets the biases of these parts to 0.
TableEdit leave_biases_out(const std::string& parts) {
    std::vector<TableEdit> edits;
    for (std::string_view rest = parts; !rest.empty();) {
        edits.push_back(without_bias(part_called(next_token(rest))));
    }
    return all_of(edits);
}

}  // namespace attn
