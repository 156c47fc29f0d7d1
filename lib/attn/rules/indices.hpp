#pragma once
#include <cstdint>
#include <vector>

#include "attn/rules/arithmetic.hpp"
#include "attn/rules/bound.hpp"

namespace attn {

/// The indices of a cell, and of the sums around a node, and what is counted with them.
class RuleIndices {
public:
    using Index = std::int64_t;

    RuleIndices(const Rule& rule, std::size_t count) : index_(count, 0), rule_(rule) {}

protected:
    /// Where a cell that the rule reads lies in its tensor.  Errors  ConfigError outside of it.
    std::size_t place_in(const BoundRule& cell);
    /// An index: whole numbers, `/` and `%` rounding down; any number in `floor(...)`.
    /// Errors  ConfigError for anything else.
    Index whole(const BoundRule& node);
    /// A truth of whole numbers, in an index.
    bool holds(const BoundRule& node);
    /// What a node that is no reduction comes to for one cell: `value` and `truth` say it of its
    /// parts.
    template <class Value, class Truth>
    double made_of(const BoundRule& node, const Value& value, const Truth& truth);
    [[noreturn]] void refuse(const BoundRule& node, const std::string& message) const {
        refuse_rule(rule_.text, node.node->at, message);
    }

    std::vector<Index> index_;

private:
    Index whole_of_two(const BoundRule& node);
    Index floor_of(const BoundRule& node);
    double number(const BoundRule& node);
    [[noreturn]] void refuse_place(const BoundRule& cell, const BoundRule::Place& place,
                                   Index i) const;

    const Rule& rule_;
};

template <class Value, class Truth>
double RuleIndices::made_of(const BoundRule& node, const Value& value, const Truth& truth) {
    if (node.is_constant) return node.number;
    const std::string& word = node.node->word;
    switch (node.node->kind) {
        case RuleNode::Kind::number:
            return node.node->number;
        case RuleNode::Kind::name:
            return static_cast<double>(index_[node.index]);
        case RuleNode::Kind::cell:
            return node.tensor->at(place_in(node));
        case RuleNode::Kind::choose:
            return value(node.parts[truth(node.parts[0]) ? 1 : 2]);
        default:
            break;
    }
    const double left = value(node.parts[0]);
    if (node.parts.size() == 1) {
        const bool negates = node.node->kind == RuleNode::Kind::operate;
        return negates ? -left : rule_arithmetic::called(word, left);
    }
    const double right = value(node.parts[1]);
    if (word == "max") return rule_arithmetic::larger(left, right);
    return word == "min" ? rule_arithmetic::smaller(left, right)
                         : rule_arithmetic::operated(word, left, right);
}

}  // namespace attn
