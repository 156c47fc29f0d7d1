#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/rules/arithmetic.hpp"
#include "attn/rules/bound.hpp"
#include "attn/rules/rule.hpp"

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
    /// The value of a node that is no reduction, for one cell: `value` and `truth` say it of its
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

/// The whole numbers that an index can be.
struct IndexSpan {
    double first = 0, last = 0;
};
using IndexSpans = std::map<std::string, IndexSpan>;

/// An index expression as whole multiples of what can not be taken apart, and a constant:
/// `h * 4 + f - 1`.
class Linear {
public:
    struct Part {
        RuleTree atom;  ///< an index, a cell of whole numbers, `x / n` or `x % n`
        double factor = 1;
    };

    Linear() = default;
    explicit Linear(double constant) : constant_(constant) {}
    explicit Linear(RuleTree atom);

    /// Takes an index expression apart, where `/` rounds down; with `whole` false a number made of
    /// indices, where it does not. Nothing where it is no whole arithmetic.
    static std::optional<Linear> of(const RuleNode& node, const IndexSpans& spans, bool whole);

    const std::vector<Part>& parts() const { return parts_; }
    double constant() const { return constant_; }
    Linear plus(const Linear& other, double times = 1) const;
    /// Rounded down, and what is left of it, for n > 0.
    Linear divided(double n, const IndexSpans& spans) const;
    Linear modulo(double n, const IndexSpans& spans) const;
    IndexSpan span(const IndexSpans& spans) const;
    /// `whole`: as an index, where `/` rounds down; else as a number, which needs `floor`.
    RuleTree tree(bool whole) const;

private:
    void add(const Part& part);
    void join_remainders();
    std::pair<Linear, Linear> split(double n, const IndexSpans& spans) const;

    std::vector<Part> parts_;  ///< in the order in which they came
    double constant_ = 0;
};

/// A comparison of whole numbers, `k > q + 2`, or true or false where it is always so.
RuleTree compared_indices(const std::string& word, const Linear& left, const Linear& right,
                          const IndexSpans& spans, bool whole = false);
/// Whether a node is the number 1 (true) or 0 (false), as compared_indices makes them.
std::optional<bool> known_truth(const RuleNode& condition);
/// The opposite of a condition.
RuleTree opposite_of(const RuleTree& condition);

/// The expression with other expressions in the place of indices, and its indices simplified.
RuleTree substituted(const RuleTree& tree, const std::map<std::string, RuleTree>& by,
                     const IndexSpans& spans, bool whole = false);

}  // namespace attn
