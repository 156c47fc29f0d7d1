#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/rules/nodes.hpp"

namespace attn {

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
