#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/core/rules/bound.hpp"
#include "attn/core/rules/rule.hpp"

namespace attn {

/// The indices of a cell, and of the sums around a node, and what is counted with them.
class RuleIndices {
public:
    using Index = std::int64_t;

    /// For a rule that outlives it.
    RuleIndices(const Rule& rule, std::size_t count) : index_(count, 0), rule_(rule) {}

protected:
    /// Where a cell that the rule reads lies in its tensor.  Errors  ConfigError outside of it.
    std::size_t place_in(const BoundRule& cell);
    /// The number of a node for the present indices, in float64; 1 or 0 for a truth.
    double value(const BoundRule& node);
    /// That of an index.  Errors  ConfigError for what is no whole number.
    Index whole(const BoundRule& node);
    [[noreturn]] void refuse(const BoundRule& node, const std::string& message) const {
        refuse_rule(rule_, node.node->at, message);
    }

    /// Those of the present indices that have a bit here.
    std::vector<Index> others_of(std::uint64_t uses) const;

    std::vector<Index> index_;

private:
    /// The last number of a sum, and the indices around it that it was worked out for: the mean in
    /// a variance is one number for the whole row.
    struct LastSum {
        bool is_known = false;
        std::vector<Index> indices{};
        double number = 0;
    };

    double last_sum(const BoundRule& node);
    double reduced(const BoundRule& node);
    [[noreturn]] void refuse_place(const BoundRule& cell, const BoundRule::Place& place,
                                   Index i) const;

    const Rule& rule_;
    std::map<const BoundRule*, LastSum> last_sums_;
};

/// What a sum over nothing is, a product, the largest and the smallest of nothing, and its place.
double start_of(const std::string& reduction);
/// The next number of a sum, or of what is the largest or smallest so far.
const RuleFunction& joins(const std::string& reduction);

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
        RuleTree atom;  ///< an index, a cell of whole numbers, `x // n`, `x % n`, `max(x, y)`
        double factor = 1;
    };

    Linear() = default;
    explicit Linear(double constant) : constant_(constant) {}
    explicit Linear(RuleTree atom);

    /// Takes an expression of whole numbers apart; nothing for other numbers.
    static std::optional<Linear> of(const RuleNode& node, const IndexSpans& spans);

    const std::vector<Part>& parts() const { return parts_; }
    double constant() const { return constant_; }
    Linear plus(const Linear& other, double times = 1) const;
    /// Rounded down, and what is left of it, for n > 0.
    Linear divided(double n, const IndexSpans& spans) const;
    Linear modulo(double n, const IndexSpans& spans) const;
    IndexSpan span(const IndexSpans& spans) const;
    RuleTree tree() const;

private:
    void add(const Part& part);
    void join_remainders();
    std::pair<Linear, Linear> split(double n, const IndexSpans& spans) const;

    std::vector<Part> parts_;  ///< in the order in which they came
    double constant_ = 0;
};

/// A comparison of whole numbers, `k > q + 2`, or true or false where it is always so.
RuleTree compared_indices(const std::string& word, const Linear& left, const Linear& right,
                          const IndexSpans& spans);
/// The bounds of an expression of whole numbers: infinite where nothing says them.
IndexSpan span_of(const RuleNode& node, const IndexSpans& spans);
/// Whether a node is the number 1 (true) or 0 (false), as compared_indices makes them.
std::optional<bool> known_truth(const RuleNode& condition);
/// The opposite of a condition.
RuleTree opposite_of(const RuleTree& condition);

/// The expression with other expressions in the place of indices, and its indices simplified.
RuleTree substituted(const RuleTree& tree, const std::map<std::string, RuleTree>& by,
                     const IndexSpans& spans);

}  // namespace attn
