#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "attn/core/rules/evaluate.hpp"

namespace attn {

/// A node whose names are known: indices by their place in a list, tensors, settings by their
/// number.
struct BoundRule {
    /// An axis of a tensor and the index that it takes there.
    struct Place {
        std::size_t length = 0, stride = 0;
        std::size_t part = 0;              ///< of the node
        std::optional<std::size_t> index;  ///< where it is a plain one
    };
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    const RuleNode* node = nullptr;
    const RuleFunction* function = nullptr;  ///< of a call or an operator
    bool reads = false;                      ///< whether a cell is in it
    bool is_constant = false;
    double number = 0;
    std::size_t index = none;  ///< of a name, or of a reduction
    const Tensor* tensor = nullptr;
    std::vector<Place> places{};
    std::vector<BoundRule> parts{};
    std::uint64_t uses = 0;  ///< a bit for each index that it needs from outside: index_bit
};

/// The bit of an index: those beyond the sixty-third share one.
inline std::uint64_t index_bit(std::size_t index) {
    return std::uint64_t{1} << std::min<std::size_t>(index, 63);
}

/// Whether a sum, product or extreme is in it.
inline bool has_sum(const BoundRule& node) {
    return node.node->kind == RuleNode::Kind::reduce || std::ranges::any_of(node.parts, has_sum);
}

/// A rule with all names known, and the lengths of its indices.
struct BoundTree {
    BoundRule root;
    std::vector<std::size_t> lengths;  ///< of the axes of the result, which are the first indices
    std::size_t indices = 0;           ///< how many there are with those of the reductions
    std::string other_forms;           ///< as in RuleScope
};

/// Finds out what each name of a completed rule is.
///
/// Errors  ConfigError for names that nothing binds, and for other numbers of indices than axes.
BoundTree bind_rule(const Rule& rule, const Axes& axes, const Shape& shape, const RuleScope& scope);

}  // namespace attn
