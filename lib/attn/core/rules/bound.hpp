#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "attn/core/rules/evaluate.hpp"

namespace attn {

/// A node with resolved names: indices by their place in a list, tensors, settings by their number.
struct BoundRule {
    /// An axis of a tensor and the index for it.
    struct Place {
        std::size_t length = 0, stride = 0;
        std::size_t part = 0;              ///< index of a part of the node
        std::optional<std::size_t> index;  ///< if it is a plain index
    };
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    const RuleNode* node = nullptr;
    const RuleFunction* function = nullptr;  ///< for a call or an operator
    bool reads = false;                      ///< true if it contains a cell
    bool is_constant = false;
    double number = 0;
    std::size_t index = none;  ///< for a name or a reduction
    const Tensor* tensor = nullptr;
    std::vector<Place> places{};
    std::vector<BoundRule> parts{};
    std::uint64_t uses = 0;  ///< a bit (index_bit) for each index from outside that it depends on
};

/// Returns the bit of an index: indices from 63 on share one.
inline std::uint64_t index_bit(std::size_t index) {
    return std::uint64_t{1} << std::min<std::size_t>(index, 63);
}

/// True if the node contains a sum, product or extreme.
inline bool has_sum(const BoundRule& node) {
    return node.node->kind == RuleNode::Kind::reduce || std::ranges::any_of(node.parts, has_sum);
}

/// A rule with all names resolved, and the lengths of its indices.
struct BoundTree {
    BoundRule root;
    std::vector<std::size_t> lengths;  ///< of the result's axes, which are the first indices
    std::size_t indices = 0;           ///< number of indices, including those of reductions
    std::string other_forms;           ///< as in RuleScope
};

/// Resolves the names of a completed rule.
///
/// Errors  ConfigError for unbound names, and if the numbers of indices and axes differ.
BoundTree bind_rule(const Rule& rule, const Axes& axes, const Shape& shape, const RuleScope& scope);

}  // namespace attn
