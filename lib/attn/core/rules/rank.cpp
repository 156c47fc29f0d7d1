#include "attn/core/rules/rank.hpp"

#include <string>

namespace attn {

using Kind = RuleNode::Kind;

RuleNode written_out_rank(RuleNode rank, const std::string& other_index) {
    const RuleTree own = rank.parts.back(), place = name_node(rank.index);
    const RuleTree other_place = name_node(other_index);
    const RuleTree other = changed(own, [&](const RuleNode& each) -> RuleTree {
        return each.kind == Kind::name && each.word == rank.index ? other_place : nullptr;
    });
    const RuleTree tie = operate_node(
        "and", {operate_node("==", {other, own}), operate_node("<", {other_place, place})});
    rank.word = "sum";
    rank.index = other_index;
    rank.parts.back() = choose_node(operate_node("or", {operate_node(">", {other, own}), tie}),
                                    number_node(1), number_node(0));
    return rank;
}

std::optional<RankedBy> ranked_by(const BoundRule& sum) {
    const BoundRule& body = sum.parts.back();
    if (sum.node->word != "sum" || body.node->kind != Kind::choose) return std::nullopt;
    const BoundRule& either = body.parts[0];
    if (!is_operation(*either.node, "or") || !is_operation(*either.node->parts[0], ">") ||
        !is_operation(*either.node->parts[1], "and") ||
        !is_operation(*either.node->parts[1]->parts[1], "<")) {
        return std::nullopt;
    }
    const BoundRule& place = either.parts[1].parts[1].parts[1];
    if (place.node->kind != Kind::name) return std::nullopt;
    // Verify by building the same sum for the supposed rank.
    RuleNode rank = *sum.node;
    rank.index = place.node->word;
    rank.parts.back() = either.node->parts[0]->parts[1];
    if (!same_tree(written_out_rank(rank, sum.node->index), *sum.node)) return std::nullopt;
    return RankedBy{&either.parts[0].parts[0], &place};
}

}  // namespace attn
