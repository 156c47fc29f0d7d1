#include "attn/mistakes/change.hpp"

// The mistake that lets one small weight serve all heads.

namespace attn {
namespace {

/// Where the features of head 0 begin, how many there are, and where the features of the last
/// head end, in the weight of one part.
struct Blocks {
    std::size_t first, width, end;
};

std::vector<Blocks> blocks_of(const Plan& plan, std::size_t part) {
    const auto block = [&](std::size_t first, std::size_t width) -> Blocks {
        return {first, width, first + plan.heads * width};
    };
    if (!plan.one_weight()) return {block(0, part == 2 ? plan.value_dim : plan.head_dim)};
    if (plan.config.projection == Projection::fused_by_head) {
        return {block(0, 2 * plan.head_dim + plan.value_dim)};
    }
    const std::size_t queries = plan.heads * plan.head_dim;
    return {block(0, plan.head_dim), block(queries, plan.head_dim),
            block(2 * queries, plan.value_dim)};
}

/// The block of head 0 once for each head, and zeros around it; `bias`: repeated.
std::string one_block(const Plan& plan, std::size_t part, bool bias) {
    const std::string name = plan.one_weight() ? "qkv" : part_names[part];
    const std::size_t in = part == 0 ? plan.embed_dim : plan.memory_dim;
    const std::string wide = std::to_string(in / plan.heads);
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    std::string rule =
        bias ? "b_" + name + "[o] = " : "w_" + name + (out_in ? "[o,i] = " : "[i,o] = ");
    for (const Blocks& block : blocks_of(plan, part)) {
        const std::string place =
            block.first == 0 ? "o" : "(o - " + std::to_string(block.first) + ")";
        const std::string width = std::to_string(block.width);
        const std::string row = std::to_string(block.first) + " + " + place + " % " + width;
        const std::string column = "i % " + wide;
        if (block.first > 0) rule += " else ";
        const bool is_last = block.end == blocks_of(plan, part).back().end;
        if (!is_last) rule += "if o < " + std::to_string(block.end) + " then ";
        rule += bias ? "b_" + name + "[" + row + "]"
                     : "(if floor(" + place + " / " + width + ") == floor(i / " + wide +
                           ") then w_" + name + "[" +
                           (out_in ? row + ", " + column : column + ", " + row) + "] else 0)";
    }
    return rule;
}

TableEdit share_one_block() {
    std::vector<TableEdit> edits;
    for (std::size_t part = 0; part < 3; ++part) {
        for (const bool bias : {false, true}) {
            const auto name = [=](const Plan& plan) {
                // One weight of all three is shared once.
                if (plan.one_weight() && part > 0) return std::string("none");
                return std::string(bias ? "b_" : "w_") +
                       (plan.one_weight() ? "qkv" : part_names[part]);
            };
            edits.push_back(reads(projecting_steps(), name,
                                  [=](const Plan& plan) { return one_block(plan, part, bias); }));
        }
    }
    return all_of(std::move(edits));
}

}  // namespace

Mistake shared_head_weight() {
    return entry("shared-head-weight", "projected_query",
                 "x was cut into heads first and one small weight served all of them",
                 "each head sees only its own slice of x; here the small weight is head 0's first "
                 "block",
                 "q = nn.Linear(C, C)(x).view(B, T, H, D)", "q = (x @ w_query).reshape(B, T, H, D)",
                 "Project first, split afterwards: each head has to see all of the embedding.", "",
                 first_of({unless(
                               [](const Plan& plan) {
                                   return projects_x(plan) && plan.heads > 1 &&
                                          !plan.head_axis_on_weight() &&
                                          plan.value_heads() == plan.heads;
                               },
                               "there is no weight that makes several heads at once"),
                           unless(
                               [](const Plan& plan) {
                                   return plan.embed_dim % plan.heads == 0 &&
                                          plan.memory_dim % plan.heads == 0;
                               },
                               "x does not divide into heads")}),
                 share_one_block());
}

}  // namespace attn
