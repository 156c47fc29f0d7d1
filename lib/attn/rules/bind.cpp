#include <algorithm>

#include "attn/rules/bound.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

class Binder {
public:
    Binder(const Rule& rule, const Axes& axes, const Shape& shape, const RuleScope& scope)
        : rule_(rule), scope_(scope) {
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            indices_.push_back({rule.indices[axis], shape[axis], true});
        }
        all_ = indices_.size();
    }

    BoundTree tree(const Shape& shape) {
        BoundRule root = bound(*rule_.value);
        return {std::move(root), shape, all_};
    }

private:
    struct Index {
        std::string name;
        std::size_t length;  ///< known from the result, or from a tensor that it goes over
        bool is_known;
        std::string known_from{};  ///< empty for the result
        bool is_range = false;     ///< of a sum that says how far it goes
    };

    BoundRule bound(const RuleNode& node) {
        BoundRule result;
        result.node = &node;
        switch (node.kind) {
            case Kind::number:
                result.is_constant = true;
                result.number = node.number;
                break;
            case Kind::name:
                bind_name(node, result);
                break;
            case Kind::cell:
                bind_cell(node, result);
                break;
            case Kind::reduce:
                bind_reduction(node, result);
                break;
            case Kind::call:
                for (const RuleTree& part : node.parts) result.parts.push_back(number(*part));
                break;
            case Kind::operate:
                bind_operation(node, result);
                break;
            case Kind::choose:
                result.parts.push_back(truth(*node.parts[0]));
                ++conditions_;
                result.parts.push_back(bound(*node.parts[1]));
                result.parts.push_back(bound(*node.parts[2]));
                --conditions_;
                result.type = result.parts[1].type;
                if (result.parts[2].type != result.type) {
                    refuse(node.at, "one side of this if is a number, the other a truth");
                }
                break;
        }
        result.reads =
            result.tensor != nullptr || std::ranges::any_of(result.parts, &BoundRule::reads);
        return result;
    }

    BoundRule number(const RuleNode& node) {
        BoundRule part = bound(node);
        if (part.type != RuleType::number) refuse(node.at, "here must stand a number, not a truth");
        return part;
    }

    BoundRule truth(const RuleNode& node) {
        BoundRule part = bound(node);
        if (part.type != RuleType::truth) {
            refuse(node.at, "here must stand a truth, such as k > q, not a number");
        }
        return part;
    }

    void bind_operation(const RuleNode& node, BoundRule& result) {
        const std::string& word = node.word;
        const bool logical = word == "and" || word == "or" || word == "not";
        const bool compares = word[0] == '<' || word[0] == '>' || word[0] == '=' || word[0] == '!';
        for (const RuleTree& part : node.parts) {
            result.parts.push_back(logical ? truth(*part) : number(*part));
        }
        if (logical || compares) result.type = RuleType::truth;
    }

    void bind_name(const RuleNode& node, BoundRule& result) {
        if (Index* index = find(node.word)) {
            result.index = place_of(*index);
            return;
        }
        std::vector<std::string> known;
        for (const auto& [name, number] : scope_.settings) known.push_back(name);
        const std::string meant = called_here(node.word, known);
        refuse(node.at, "nothing binds '" + node.word + "': it is not an index of " + rule_.step +
                            " nor of a sum around it" +
                            (known.empty() ? "" : ", and the settings are " + joined(known, " ")) +
                            (meant.empty() ? "" : "; did you mean " + meant + "?"));
    }

    void bind_cell(const RuleNode& node, BoundRule& result) {
        const Tensor& tensor = scope_.tensor(node.word);
        const Shape shape = tensor.shape();
        result.tensor = &tensor;
        if (tensor.dtype() == DType::boolean) result.type = RuleType::truth;
        for (std::size_t axis = 0, stride = tensor.size(); axis < shape.size(); ++axis) {
            stride /= std::max<std::size_t>(shape[axis], 1);
            BoundRule::Place place{shape[axis], stride, axis, {}};
            bind_index(node, *node.parts[axis], tensor, axis, place, result);
            result.places.push_back(place);
        }
    }

    void bind_index(const RuleNode& cell, const RuleNode& part, const Tensor& tensor,
                    std::size_t axis, BoundRule::Place& place, BoundRule& result) {
        result.parts.push_back(number(part));
        if (part.kind != Kind::name) return;
        Index* index = find(part.word);
        if (index == nullptr) return;
        const std::size_t length = tensor.shape()[axis];
        if (index->is_range) {
            // Where it leaves the axis is seen when it does.
        } else if (!index->is_known) {
            index->length = length;
            index->is_known = true;
            index->known_from = cell.word;
        } else if (index->length != length && length != 1) {
            // One side of an if may read where the index is still, or already, within the axis.
            if (conditions_ > 0) return;
            refuse(part.at, part.word + " is " + std::to_string(index->length) + " in " +
                                (index->known_from.empty() ? rule_.step : index->known_from) +
                                " and " + std::to_string(length) + " in " + cell.word);
        }
        place.index = place_of(*index);
    }

    void bind_reduction(const RuleNode& node, BoundRule& result) {
        if (find(node.index) != nullptr) {
            refuse(node.at, "the index " + node.index + " is taken here: choose another letter");
        }
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
            result.parts.push_back(number(*node.parts[i]));
        }
        const bool is_range = node.parts.size() == 3;
        indices_.push_back({node.index, 0, is_range, "", is_range});
        result.index = all_++;
        reductions_.push_back(result.index);
        result.parts.push_back(number(*node.parts.back()));
        if (!indices_.back().is_known) {
            refuse(node.at, "how far " + node.index + " goes is not known: no tensor has " +
                                node.index + " by itself as an index; say it, as in " + node.word +
                                " " + node.index + " in 0..4: ...");
        }
        result.length = indices_.back().length;
        indices_.pop_back();
        reductions_.pop_back();
    }

    /// The index of that name, the innermost first.
    Index* find(const std::string& name) {
        for (std::size_t i = indices_.size(); i-- > 0;) {
            if (indices_[i].name == name) return &indices_[i];
        }
        return nullptr;
    }

    std::size_t place_of(const Index& index) const {
        const auto at = static_cast<std::size_t>(&index - indices_.data());
        const std::size_t outer = indices_.size() - reductions_.size();
        return at < outer ? at : reductions_[at - outer];
    }

    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        refuse_rule(rule_.text, at, message);
    }

    const Rule& rule_;
    const RuleScope& scope_;
    std::vector<Index> indices_;           ///< those of the result, then those of sums around
    std::vector<std::size_t> reductions_;  ///< the numbers of the latter
    std::size_t all_ = 0;
    std::size_t conditions_ = 0;  ///< how many ifs there are around
};

}  // namespace

BoundTree bind_rule(const Rule& rule, const Axes& axes, const Shape& shape,
                    const RuleScope& scope) {
    return Binder(rule, axes, shape, scope).tree(shape);
}

}  // namespace attn
