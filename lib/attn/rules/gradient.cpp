#include "attn/rules/gradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "attn/rules/indices.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Outlines = std::function<Outline(const std::string&)>;

/// The expression with a mark on the names of its indices, so that they are told from those of the
/// gradient; each reduction with an index of its own.
class Marker {
public:
    explicit Marker(const std::vector<std::string>& indices) {
        for (const std::string& index : indices) names_[index] = mark(index);
    }

    std::string mark(const std::string& index) {
        std::string name = index + "'";
        while (taken_.contains(name)) name += "'";
        taken_.insert(name);
        return name;
    }
    const std::string& marked(const std::string& index) const { return names_.at(index); }

    RuleTree tree(const RuleTree& tree) {
        RuleNode node = *tree;
        const auto known = names_.find(node.word);
        if (node.kind == Kind::name && known != names_.end()) node.word = known->second;
        if (node.kind != Kind::reduce) {
            for (RuleTree& part : node.parts) part = this->tree(part);
            return tree_of(std::move(node));
        }
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i)
            node.parts[i] = this->tree(node.parts[i]);
        const std::map<std::string, std::string> outside = names_;
        names_[node.index] = mark(node.index);
        node.index = names_[node.index];
        node.parts.back() = this->tree(node.parts.back());
        names_ = outside;
        return tree_of(std::move(node));
    }

private:
    std::map<std::string, std::string> names_;
    std::set<std::string> taken_;
};

/// Goes down to each cell of the tensor and collects what its derivative is multiplied with.
class Differentiator {
public:
    Differentiator(const Rule& rule, const std::string& tensor,
                   const std::vector<std::string>& indices, const Outlines& outline)
        : tensor_(tensor),
          indices_(indices),
          outline_(outline),
          upstream_("d_" + rule.step),
          marker_(rule.indices) {
        const Shape made = outline(rule.step).shape;
        std::vector<RuleTree> own;
        std::vector<GradientLoop> loops;
        for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
            const std::string& name = marker_.marked(rule.indices[axis]);
            own.push_back(name_node(name));
            loops.push_back({name, number_node(0), number_node(static_cast<double>(made[axis]))});
            span(name, 0, static_cast<double>(made[axis]));
        }
        const Shape wanted = outline(tensor).shape;
        for (std::size_t axis = 0; axis < indices.size(); ++axis) {
            span(indices[axis], 0, static_cast<double>(wanted[axis]));
        }
        root_ = marker_.tree(rule.value);
        bound(*root_);
        made_ = cell_node(rule.step, own);
        GradientTerm term;
        if (!own.empty()) term.over.push_back(cell_node(upstream_, own));
        term.loops = std::move(loops);
        visit(root_, std::move(term));
    }

    RuleTree tree() {
        return sum_of(terms_, indices_, [&](const std::string& name) {
            return name == upstream_ ? outline_(name.substr(2)) : outline_(name);
        });
    }

private:
    void span(const std::string& index, double first, double end) {
        spans_[index] = {first, std::max(first, end - 1)};
    }

    /// The node, or the cell of the result where it is all of the rule.
    RuleTree value_of(const RuleTree& node) const { return node == root_ ? made_ : node; }

    bool reads(const RuleNode& node) const {
        if (node.kind == Kind::cell) return node.word == tensor_;
        return std::ranges::any_of(node.parts, [&](const RuleTree& part) { return reads(*part); });
    }

    void visit(const RuleTree& node, GradientTerm term) {
        if (!reads(*node)) return;
        switch (node->kind) {
            case Kind::cell:
                if (std::optional<GradientTerm> found = solved(
                        std::move(term), node->parts, indices_, outline_(tensor_).shape, spans_)) {
                    terms_.push_back(*std::move(found));
                }
                break;
            case Kind::operate:
                operation(node, std::move(term));
                break;
            case Kind::call:
                call(node, std::move(term));
                break;
            case Kind::choose:
                visit(node->parts[1], term.where(node->parts[0]));
                visit(node->parts[2], term.where(opposite_of(node->parts[0])));
                break;
            case Kind::reduce:
                reduction(node, std::move(term));
                break;
            default:
                break;
        }
    }

    void operation(const RuleTree& node, const GradientTerm& term) {
        const std::string& word = node->word;
        const RuleTree& left = node->parts[0];
        if (node->parts.size() == 1) return visit(left, term.minus());
        const RuleTree& right = node->parts[1];
        if (word == "+" || word == "-") {
            visit(left, term);
            visit(right, word == "-" ? term.minus() : term);
        } else if (word == "*") {
            visit(left, term.times(right));
            visit(right, term.times(left));
        } else if (word == "/") {
            visit(left, term.over_by(right));
            if (!reads(*right)) return;
            if (node == root_) return visit(right, term.minus().times(made_).over_by(right));
            visit(right, term.minus().times(left).over_by(right).over_by(right));
        } else if (word == "%") {
            visit(left, term);
        } else if (word == "^") {
            const RuleTree less = right->kind == Kind::number
                                      ? number_node(right->number - 1)
                                      : operate_node("-", {right, number_node(1)});
            const bool plain = less->kind == Kind::number && less->number == 1;
            visit(left, term.times(right).times(plain ? left : operate_node("^", {left, less})));
            visit(right, term.times(value_of(node)).times(call_node("log", {left})));
        }
    }

    void call(const RuleTree& node, const GradientTerm& term) {
        const std::string& word = node->word;
        const RuleTree& x = node->parts[0];
        const RuleTree value = value_of(node);
        const auto under_zero = [&](const char* sign) {
            return operate_node(sign, {x, number_node(0)});
        };
        if (word == "exp") return visit(x, term.times(value));
        if (word == "log") return visit(x, term.over_by(x));
        if (word == "sqrt") return visit(x, term.over_by(number_node(2)).over_by(value));
        if (word == "sin") return visit(x, term.times(call_node("cos", {x})));
        if (word == "cos") return visit(x, term.minus().times(call_node("sin", {x})));
        if (word == "relu") return visit(x, term.where(under_zero(">")));
        if (word == "abs") {
            visit(x, term.where(under_zero(">")));
            return visit(x, term.minus().where(under_zero("<")));
        }
        if (word == "tanh") {
            const RuleTree square = operate_node("^", {value, number_node(2)});
            return visit(x, term.times(operate_node("-", {number_node(1), square})));
        }
        if (word == "sigmoid") {
            return visit(x, term.times(value).times(operate_node("-", {number_node(1), value})));
        }
        if (word == "floor") return;
        if (word == "half") return visit(x, term);
        // The larger or smaller of two; equal ones share it, as in PyTorch.
        const char* const sign = word == "max" ? ">" : "<";
        for (const std::size_t i : {0U, 1U}) {
            const RuleTree& one = node->parts[i];
            const RuleTree& other = node->parts[1 - i];
            const bool clamps = other->kind == Kind::number;
            const std::string wins = sign + std::string(clamps ? "=" : "");
            visit(one, term.where(operate_node(wins, {one, other})));
            if (clamps) continue;
            visit(one, term.over_by(number_node(2)).where(operate_node("==", {one, other})));
        }
    }

    void reduction(const RuleTree& node, GradientTerm term) {
        const RuleTree& body = node->parts.back();
        const GradientLoop loop = loop_of(*node);
        if (node->word == "mean") {
            const auto first = Linear::of(*loop.first, spans_, true);
            const auto end = Linear::of(*loop.end, spans_, true);
            term = term.over_by(first && end ? end->plus(*first, -1).tree(false)
                                             : operate_node("-", {loop.end, loop.first}));
        }
        if (node->word == "max" || node->word == "min") {
            // The largest ones share it.
            const RuleTree most = value_of(node);
            RuleNode count = *node;
            count.word = "sum";
            const RuleTree equal = operate_node("==", {body, most});
            count.parts.back() = choose_node(equal, number_node(1), number_node(0));
            const std::string own = marker_.mark(node->index);
            spans_[own] = spans_[node->index];
            count.parts.back() =
                substituted(count.parts.back(), {{node->index, name_node(own)}}, spans_);
            count.index = own;
            term = term.over_by(tree_of(std::move(count))).where(equal);
        }
        term.loops.push_back(loop);
        visit(body, std::move(term));
    }

    GradientLoop loop_of(const RuleNode& node) const {
        if (node.parts.size() == 3) return {node.index, node.parts[0], node.parts[1]};
        const std::size_t length = length_of(*node.parts.back(), node.index);
        return {node.index, number_node(0), number_node(static_cast<double>(length))};
    }

    /// Notes how far the indices of reductions go.
    void bound(const RuleNode& node) {
        if (node.kind == Kind::reduce) {
            const GradientLoop loop = loop_of(node);
            const auto first = Linear::of(*loop.first, spans_, true);
            const auto end = Linear::of(*loop.end, spans_, true);
            if (first && end) span(loop.index, first->span(spans_).first, end->span(spans_).last);
        }
        for (const RuleTree& part : node.parts) bound(*part);
    }

    /// The length of the first axis that an index goes over by itself.
    std::size_t length_of(const RuleNode& node, const std::string& index) const {
        std::size_t length = 0;
        for (std::size_t i = 0; node.kind == Kind::cell && i < node.parts.size(); ++i) {
            const RuleNode& part = *node.parts[i];
            if (part.kind == Kind::name && part.word == index) {
                length = std::max(length, outline_(node.word).shape[i]);
            }
        }
        for (const RuleTree& part : node.parts) length = std::max(length, length_of(*part, index));
        return length;
    }

    const std::string& tensor_;
    const std::vector<std::string>& indices_;
    const Outlines& outline_;
    std::string upstream_;
    Marker marker_;
    IndexSpans spans_;
    RuleTree root_;
    RuleTree made_;  ///< the cell that the rule makes
    std::vector<GradientTerm> terms_;
};

}  // namespace

RuleTree gradient_of(const Rule& rule, const std::string& tensor,
                     const std::vector<std::string>& indices, const Outlines& outline) {
    return Differentiator(rule, tensor, indices, outline).tree();
}

}  // namespace attn
