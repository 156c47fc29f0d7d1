#include "attn/rules/indices.hpp"

#include <cmath>

namespace attn {

using namespace rule_arithmetic;
using Kind = RuleNode::Kind;

std::size_t RuleIndices::place_in(const BoundRule& node) {
    std::size_t at = 0;
    for (const BoundRule::Place& place : node.places) {
        const Index i = place.index ? index_[*place.index] : whole(node.parts[place.part]);
        if (place.index && place.length == 1) continue;
        if (i < 0 || i >= static_cast<Index>(place.length)) refuse_place(node, place, i);
        at += static_cast<std::size_t>(i) * place.stride;
    }
    return at;
}

void RuleIndices::refuse_place(const BoundRule& node, const BoundRule::Place& place,
                               Index i) const {
    const auto axis = static_cast<std::size_t>(&place - node.places.data());
    refuse(node, "there is no " + node.tensor->axes()[axis] + " " + std::to_string(i) + " in " +
                     node.node->word + ", which has " + std::to_string(place.length) +
                     ": ask first, as in if t >= 2 then ...[t - 2] else 0");
}

RuleIndices::Index RuleIndices::whole(const BoundRule& node) {
    const std::string& word = node.node->word;
    if (node.is_constant) {
        if (node.number == std::floor(node.number) && std::abs(node.number) < 1e15) {
            return static_cast<Index>(node.number);
        }
        refuse(node, "an index must be a whole number");
    }
    switch (node.node->kind) {
        case Kind::name:
            return index_[node.index];
        case Kind::cell:
            if (node.tensor->dtype() != DType::int64) break;
            return node.tensor->as<Index>().data()[place_in(node)];
        case Kind::operate:
            if (word.front() == '^' || node.parts.size() > 2) break;
            return node.parts.size() == 1 ? -whole(node.parts[0]) : whole_of_two(node);
        case Kind::call:
            if (word == "floor") return floor_of(node.parts[0]);
            if (word == "abs") return std::abs(whole(node.parts[0]));
            if (word == "min") return std::min(whole(node.parts[0]), whole(node.parts[1]));
            if (word == "max") return std::max(whole(node.parts[0]), whole(node.parts[1]));
            break;
        case Kind::choose:
            return whole(node.parts[holds(node.parts[0]) ? 1 : 2]);
        default:
            break;
    }
    refuse(node,
           "an index is made of whole numbers, + - * / %, floor, abs, min, max and cells "
           "of whole numbers such as ids[t]");
}

RuleIndices::Index RuleIndices::whole_of_two(const BoundRule& node) {
    const Index a = whole(node.parts[0]);
    const Index b = whole(node.parts[1]);
    const char word = node.node->word.front();
    if ((word == '/' || word == '%') && b == 0) {
        refuse(node, "an index is divided by 0");
    }
    Index result = 0;
    const bool overflows = word == '+'   ? __builtin_add_overflow(a, b, &result)
                           : word == '-' ? __builtin_sub_overflow(a, b, &result)
                           : word == '*' ? __builtin_mul_overflow(a, b, &result)
                                         : b == -1 && a == std::numeric_limits<Index>::min();
    if (overflows) refuse(node, "this index is too large");
    if (word == '/') return floor_divided(a, b);
    if (word == '%') return a - floor_divided(a, b) * b;
    return result;
}

RuleIndices::Index RuleIndices::floor_of(const BoundRule& node) {
    const double floor = std::floor(number(node));
    if (!(std::abs(floor) < 1e15)) refuse(node, "an index must be a number that is not too large");
    return static_cast<Index>(floor);
}

double RuleIndices::number(const BoundRule& node) {
    if (node.node->kind == Kind::reduce) return static_cast<double>(whole(node));
    return made_of(
        node, [this](const BoundRule& part) { return number(part); },
        [this](const BoundRule& part) { return holds(part); });
}

bool RuleIndices::holds(const BoundRule& node) {
    const std::string& word = node.node->word;
    if (node.node->kind == Kind::cell) return node.tensor->at(place_in(node)) != 0;
    if (node.node->kind == Kind::choose) return holds(node.parts[holds(node.parts[0]) ? 1 : 2]);
    if (word == "not") return !holds(node.parts[0]);
    if (word == "and") return holds(node.parts[0]) && holds(node.parts[1]);
    if (word == "or") return holds(node.parts[0]) || holds(node.parts[1]);
    return compared(word, whole(node.parts[0]), whole(node.parts[1]));
}

}  // namespace attn
