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

/// The indices of a cell and of the sums around a node, and expressions of them.
class RuleIndices {
public:
    using Index = std::int64_t;

    /// Requires a rule that outlives it.
    RuleIndices(const Rule& rule, std::size_t count) : index_(count, 0), rule_(rule) {}

protected:
    /// Returns the flat index of a cell in its tensor.  Errors  ConfigError if out of range.
    std::size_t place_in(const BoundRule& cell);
    /// Evaluates a node for the current indices, in float64; 1 or 0 for a boolean.
    double value(const BoundRule& node);
    /// Evaluates an index.  Errors  ConfigError if it is not an integer.
    Index whole(const BoundRule& node);
    [[noreturn]] void refuse(const BoundRule& node, const std::string& message) const {
        refuse_rule(rule_, node.node->at, message);
    }

    /// Returns the current indices that have a bit in `uses`.
    std::vector<Index> others_of(std::uint64_t uses) const;

    std::vector<Index> index_;

private:
    /// The last value of a sum, and the enclosing indices that it was computed for: the mean in a
    /// variance is one number for the whole row.
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

/// Returns the value of a sum, product, maximum, minimum or argmax over nothing.
double start_of(const std::string& reduction);
/// Returns the function that adds the next number to a sum, or updates an extreme.
const RuleFunction& joins(const std::string& reduction);

/// The range of an index.
struct IndexSpan {
    double first = 0, last = 0;
};
using IndexSpans = std::map<std::string, IndexSpan>;

/// An index expression as integer multiples of indivisible terms, and a constant: `h * 4 + f - 1`.
class Linear {
public:
    struct Part {
        RuleTree atom;  ///< an index, an integer cell, `x // n`, `x % n`, `max(x, y)`
        double factor = 1;
    };

    Linear() = default;
    explicit Linear(double constant) : constant_(constant) {}
    explicit Linear(RuleTree atom);

    /// Decomposes an integer expression; nullopt for other numbers.
    static std::optional<Linear> of(const RuleNode& node, const IndexSpans& spans);

    const std::vector<Part>& parts() const { return parts_; }
    double constant() const { return constant_; }
    Linear plus(const Linear& other, double times = 1) const;
    /// Returns the quotient, rounded down, and the remainder, for n > 0.
    Linear divided(double n, const IndexSpans& spans) const;
    Linear modulo(double n, const IndexSpans& spans) const;
    IndexSpan span(const IndexSpans& spans) const;
    RuleTree tree() const;

private:
    void add(const Part& part);
    void join_remainders();
    std::pair<Linear, Linear> split(double n, const IndexSpans& spans) const;

    std::vector<Part> parts_;  ///< in the order of their appearance
    double constant_ = 0;
};

/// Returns a comparison of integers, `k > q + 2`, or a constant if it is always true or always
/// false.
RuleTree compared_indices(const std::string& word, const Linear& left, const Linear& right,
                          const IndexSpans& spans);
/// Returns the bounds of an integer expression: infinite if unknown.
IndexSpan span_of(const RuleNode& node, const IndexSpans& spans);
/// True if a node is the number 1, false if it is 0, as compared_indices returns; else nullopt.
std::optional<bool> known_truth(const RuleNode& condition);
/// Returns the negation of a condition.
RuleTree opposite_of(const RuleTree& condition);

/// Substitutes expressions for indices, and simplifies the indices of the result.
RuleTree substituted(const RuleTree& tree, const std::map<std::string, RuleTree>& by,
                     const IndexSpans& spans);

}  // namespace attn
