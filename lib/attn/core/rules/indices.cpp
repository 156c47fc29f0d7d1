#include "attn/core/rules/indices.hpp"

#include <cmath>
#include <limits>

#include "attn/ground/text/number_text.hpp"

namespace attn {

namespace {
using Kind = RuleNode::Kind;
}

std::size_t RuleIndices::place_in(const BoundRule& node) {
    std::size_t at = 0;
    for (const BoundRule::Place& place : node.places) {
        const Index i = place.index ? index_[*place.index] : whole(node.parts[place.part]);
        if (i < 0 || i >= static_cast<Index>(place.length)) refuse_place(node, place, i);
        at += static_cast<std::size_t>(i) * place.stride;
    }
    return at;
}

void RuleIndices::refuse_place(const BoundRule& node, const BoundRule::Place& place,
                               Index i) const {
    const auto axis = static_cast<std::size_t>(&place - node.places.data());
    if (node.parts[place.part].node->kind == Kind::cell) {  // looked up: `table[positions[t], c]`
        refuse(node, node.tensor->axes()[axis] + " " + std::to_string(i) + " has no row in " +
                         node.node->word + ", which has " + std::to_string(place.length));
    }
    refuse(node, "there is no " + node.tensor->axes()[axis] + " " + std::to_string(i) + " in " +
                     node.node->word + ", which has " + std::to_string(place.length) +
                     (node.parts[place.part].is_constant
                          ? ""
                          : ": test first, as in if t >= 2 then ...[t - 2] else 0"));
}

RuleIndices::Index RuleIndices::whole(const BoundRule& node) {
    if (node.node->kind == Kind::name) return index_[node.index];
    const double number = value(node);
    if (number == std::floor(number) && std::abs(number) < 1e15) return static_cast<Index>(number);
    refuse(node, "an index must be a whole number below 1e15, not " + brief(number));
}

double RuleIndices::value(const BoundRule& node) {
    if (node.is_constant) return node.number;
    switch (node.node->kind) {
        case Kind::number:
            return node.node->number;
        case Kind::name:
            return static_cast<double>(index_[node.index]);
        case Kind::cell:
            return node.tensor->at(place_in(node));
        case Kind::choose:
            return value(node.parts[value(node.parts[0]) != 0 ? 1 : 2]);
        case Kind::reduce:
            return last_sum(node);
        default:
            break;
    }
    const double left = value(node.parts[0]);
    if (node.parts.size() == 1) return node.function->value(left, left);
    // The right side of `and` may depend on the condition on the left.
    const bool is_known = node.function->kind == RuleFunction::Kind::logic &&
                          (left != 0) == (node.node->word == "or");
    return is_known ? left : node.function->value(left, value(node.parts[1]));
}

std::vector<RuleIndices::Index> RuleIndices::others_of(std::uint64_t uses) const {
    std::vector<Index> indices;
    for (std::size_t i = 0; i < index_.size(); ++i) {
        if ((uses & index_bit(i)) != 0) indices.push_back(index_[i]);
    }
    return indices;
}

double RuleIndices::last_sum(const BoundRule& node) {
    std::vector<Index> indices = others_of(node.uses);
    LastSum& last = last_sums_[&node];
    if (!last.is_known || last.indices != indices) {
        const double number = reduced(node);
        last = {true, std::move(indices), number};
    }
    return last.number;
}

double RuleIndices::reduced(const BoundRule& node) {
    const std::string& word = node.node->word;
    const Index first = whole(node.parts[0]);
    const Index end = whole(node.parts[1]);
    const bool finds = word == "argmax";
    const RuleFunction& join = joins(finds ? "max" : word);
    double result = start_of(finds ? "max" : word);
    Index place = -1;
    for (Index i = first; i < end; ++i) {
        index_[node.index] = i;
        const double next = value(node.parts[2]);
        const double joined = join.value(next, result);
        if (place < 0 || joined > result || (std::isnan(joined) && !std::isnan(result))) place = i;
        result = joined;
    }
    if (finds) return static_cast<double>(place);
    return word == "mean" ? result / static_cast<double>(std::max(end - first, Index{0})) : result;
}

double start_of(const std::string& reduction) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (reduction == "max") return -infinity;
    if (reduction == "min") return infinity;
    return reduction == "prod" ? 1 : reduction == "argmax" ? -1 : 0;
}

const RuleFunction& joins(const std::string& reduction) {
    const bool adds = reduction == "sum" || reduction == "mean";
    return *find_rule_function(adds ? "+" : reduction == "prod" ? "*" : reduction, 2);
}

}  // namespace attn
