#include <array>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Biases that are left out, and weights that heads share.

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

/// Returns the weight, or bias, of one part with the block of head 0 repeated for each head, and
/// zeros around it. `{first}` is the first feature of the part, `{width}` the number of features
/// per head.
std::string one_block(const Plan& plan, std::size_t part, bool bias) {
    const bool by_head = plan.config.projection == Projection::fused_by_head;
    const bool of_all = plan.one_weight() && !by_head;
    const std::string first = "(if o < 2 * H * D then o - o % (H * D) else 2 * H * D)";
    const std::string width = by_head     ? "(2 * D + Dv)"
                              : of_all    ? "(if o < 2 * H * D then D else Dv)"
                              : part == 2 ? "Dv"
                                          : "D";
    const std::string name = plan.one_weight() ? "qkv" : part_names[part];
    const std::size_t in = part == 0 ? plan.embed_dim : plan.memory_dim;
    std::string rule = "b_" + name + "[o] = b_" + name + "[{first} + {place} % {width}]";
    if (!bias) {
        const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
        rule = "w_" + name + (out_in ? "[o,i]" : "[i,o]") +
               " = if floor({place} / {width}) == floor(i / {in}) then w_" + name +
               (out_in ? "[{first} + {place} % {width}, i % {in}]"
                       : "[i % {in}, {first} + {place} % {width}]") +
               " else 0";
    }
    return filled(rule, {{"first", of_all ? first : "0"},
                         {"place", of_all ? "(o - " + first + ")" : "o"},
                         {"width", width},
                         {"in", std::to_string(in / plan.heads)}});
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

TableEdit share_one_block(const std::string&) {
    std::vector<TableEdit> edits;
    for (std::size_t part = 0; part < 3; ++part) {
        for (const bool bias : {false, true}) {
            const auto name = [=](const Plan& plan) {
                // A joint weight is shared once.
                if (plan.one_weight() && part > 0) return std::string("none");
                return std::string(bias ? "b_" : "w_") +
                       (plan.one_weight() ? "qkv" : part_names[part]);
            };
            edits.push_back(reads(projecting_steps, name,
                                  [=](const Plan& plan) { return one_block(plan, part, bias); }));
        }
    }
    return all_of(edits);
}

}  // namespace attn
