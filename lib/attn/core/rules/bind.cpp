#include <algorithm>

#include "attn/core/rules/bound.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

class Binder {
public:
    Binder(const Rule& rule, const RuleScope& scope) : rule_(rule), scope_(scope) {
        for (const std::string& index : rule.indices) indices_.push_back({index, all_++});
    }

    BoundTree tree(const Shape& shape) {
        BoundRule root = bound(*rule_.value);
        return {std::move(root), shape, all_, scope_.other_forms};
    }

private:
    struct Index {
        std::string name;
        std::size_t number;
    };

    BoundRule bound(const RuleNode& node) {
        BoundRule result;
        result.node = &node;
        if (node.kind == Kind::number) {
            result.is_constant = true;
            result.number = node.number;
        } else if (node.kind == Kind::name) {
            const Index* const index = find(node.word);
            if (index == nullptr) refuse(node.at, "nothing binds '" + node.word + "'");
            result.index = index->number;
        } else if (node.kind == Kind::reduce) {
            bind_reduction(node, result);
        } else {
            if (node.kind != Kind::cell && node.kind != Kind::choose) {
                result.function = find_rule_function(node.word, node.parts.size());
            }
            for (const RuleTree& part : node.parts) result.parts.push_back(bound(*part));
            if (node.kind == Kind::cell) bind_cell(node, result);
        }
        result.reads =
            result.tensor != nullptr || std::ranges::any_of(result.parts, &BoundRule::reads);
        for (const BoundRule& part : result.parts) result.uses |= part.uses;
        if (node.kind == Kind::name) result.uses = index_bit(result.index);
        if (node.kind == Kind::reduce && result.index < 63) result.uses &= ~index_bit(result.index);
        return result;
    }

    void bind_cell(const RuleNode& node, BoundRule& result) {
        const Tensor& tensor = scope_.tensor(node.word);
        const Shape shape = tensor.shape();
        result.tensor = &tensor;
        if (shape.size() != node.parts.size()) {
            refuse(node.at, node.word + " has " + described(tensor.axes(), shape) + ", and here " +
                                std::to_string(node.parts.size()) + " indices");
        }
        for (std::size_t axis = 0, stride = tensor.size(); axis < shape.size(); ++axis) {
            stride /= std::max<std::size_t>(shape[axis], 1);
            BoundRule::Place place{shape[axis], stride, axis, {}};
            const BoundRule& part = result.parts[axis];
            if (part.node->kind == Kind::name) place.index = part.index;
            result.places.push_back(place);
        }
    }

    void bind_reduction(const RuleNode& node, BoundRule& result) {
        if (node.parts.size() != 3) refuse(node.at, "the range of " + node.index + " is unknown");
        result.parts.push_back(bound(*node.parts[0]));
        result.parts.push_back(bound(*node.parts[1]));
        result.index = all_++;
        indices_.push_back({node.index, result.index});
        result.parts.push_back(bound(*node.parts[2]));
        indices_.pop_back();
    }

    /// Finds the index with that name, the innermost first.
    const Index* find(const std::string& name) const {
        const auto found = std::find_if(indices_.rbegin(), indices_.rend(),
                                        [&](const Index& each) { return each.name == name; });
        return found == indices_.rend() ? nullptr : &*found;
    }

    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        refuse_rule(rule_, at, message);
    }

    const Rule& rule_;
    const RuleScope& scope_;
    std::vector<Index> indices_;  ///< those of the result, then those of enclosing sums
    std::size_t all_ = 0;
};

}  // namespace

BoundTree bind_rule(const Rule& rule, const Axes& axes, const Shape& shape,
                    const RuleScope& scope) {
    require_whole_rule(rule);
    if (!scope.tensor) throw ConfigError("a rule is bound to tensors by a function of their names");
    if (axes.size() != shape.size() || rule.indices.size() != shape.size()) {
        throw ShapeError(rule.step + " has " + std::to_string(rule.indices.size()) +
                         " indices, and here " + std::to_string(axes.size()) + " axes and " +
                         std::to_string(shape.size()) + " lengths");
    }
    return Binder(rule, scope).tree(shape);
}

}  // namespace attn
