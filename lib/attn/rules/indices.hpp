#pragma once
#include <cstdint>
#include <vector>

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

}  // namespace attn
