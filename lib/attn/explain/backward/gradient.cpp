#include "attn/explain/backward/gradient.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/explain/codegen/python_frame.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Outlines = std::function<Outline(const std::string&)>;

/// Marks the names of an expression's indices, to distinguish them from those of the gradient; each
/// reduction gets an index of its own.
class Marker {
public:
    explicit Marker(const std::vector<std::string>& indices) {
        for (const std::string& index : indices) names_[index] = mark(index);
    }

    std::string mark(const std::string& index) {
        std::string name = index + "'";
        while (used_names_.contains(name)) name += "'";
        used_names_.insert(name);
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
    std::set<std::string> used_names_;
};

/// Returns the parsed derivative in the table of functions.
const RuleTree& parsed(const char* text) {
    static std::map<std::string, RuleTree> known;
    RuleTree& tree = known[text];
    if (tree == nullptr) tree = parse_rule(std::string("d[] = ") + text).value;
    return tree;
}

/// Substitutes the parts of the node for x and y, and its value for v.
RuleTree meant(const RuleTree& by, const RuleNode& node, const RuleTree& value) {
    if (by->kind == Kind::name)
        return by->word == "v" ? value : node.parts[by->word == "x" ? 0 : 1];
    RuleNode copy = *by;
    for (RuleTree& part : copy.parts) part = meant(part, node, value);
    const bool has_number = copy.parts.size() == 2 && copy.parts[1]->kind == Kind::number;
    if (has_number && copy.word == "-" && copy.parts[0]->kind == Kind::number) {
        return number_node(copy.parts[0]->number - copy.parts[1]->number);
    }
    if (has_number && copy.word == "^" && copy.parts[1]->number == 1) return copy.parts[0];
    if (copy.kind == Kind::choose) {
        if (const auto known = known_truth(*copy.parts[0])) return copy.parts[*known ? 1 : 2];
    }
    for (const std::size_t i : {0U, 1U}) {
        if (copy.word != "or") break;
        if (const auto known = known_truth(*copy.parts[i])) return copy.parts[*known ? i : 1 - i];
    }
    RuleTree tree = tree_of(std::move(copy));
    const auto known = gives_truth(*tree) ? python::number_of(*tree) : std::nullopt;
    return known ? number_node(*known) : tree;
}

/// Visits each cell of the tensor in a rule, and collects the factors of its derivative.
class Differentiator {
public:
    Differentiator(const Rule& rule, const std::string& tensor,
                   const std::vector<std::string>& indices, const Outlines& outline)
        : tensor_(tensor), indices_(indices), outline_(outline), marker_(rule.indices) {
        const Outline result_outline = outline(rule.step);
        std::vector<RuleTree> own;
        std::vector<GradientLoop> loops;
        for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
            const std::string& name = marker_.marked(rule.indices[axis]);
            const auto length = static_cast<double>(result_outline.shape[axis]);
            own.push_back(name_node(name));
            loops.push_back({name, number_node(0), number_node(length)});
            spans_[name] = {0, std::max(length - 1, 0.0)};
        }
        const Shape wanted = outline(tensor).shape;
        for (std::size_t axis = 0; axis < indices.size(); ++axis) {
            spans_[indices[axis]] = {0, std::max(static_cast<double>(wanted[axis]) - 1, 0.0)};
        }
        root_ = marker_.tree(rule.value);
        note_spans(*root_);
        result_ = computed_cell(rule.step, result_outline, own);
        GradientTerm term;
        if (!own.empty()) term.over.push_back(computed_cell("d_" + rule.step, result_outline, own));
        term.loops = std::move(loops);
        visit(root_, std::move(term));
    }

    RuleTree tree() { return sum_of(terms_, indices_, spans_); }

private:
    static RuleTree computed_cell(const std::string& name, const Outline& result_outline,
                                  const std::vector<RuleTree>& indices) {
        return tree_of({.kind = Kind::cell,
                        .word = name,
                        .parts = indices,
                        .outline = std::make_shared<const Outline>(result_outline)});
    }

    /// Returns the node, or the cell of the result if it is the whole rule.
    RuleTree value_of(const RuleTree& node) const { return node == root_ ? result_ : node; }

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
            case Kind::call:
                follow(node, term);
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

    /// Differentiates a function or an operator by each of its arguments.
    void follow(const RuleTree& node, const GradientTerm& term) {
        const RuleFunction& function = *find_rule_function(node->word, node->parts.size());
        for (const std::size_t i : {0U, 1U}) {
            if (i == node->parts.size() || !reads(*node->parts[i])) continue;
            const std::vector<const char*>& terms = i == 0 ? function.by_x : function.by_y;
            // A clamp by a constant still has a gradient at the bound, as in PyTorch.
            const bool is_largest = node->word == "max" || node->word == "min";
            const bool clamps = is_largest && python::number_of(*node->parts[1 - i]).has_value();
            for (std::size_t each = 0; each < (clamps ? 1 : terms.size()); ++each) {
                RuleTree by = parsed(terms[each]);
                if (clamps) {
                    RuleNode loose = *by->parts[0];
                    loose.word += "=";
                    by = choose_node(tree_of(std::move(loose)), by->parts[1], by->parts[2]);
                }
                visit(node->parts[i], times(term, *by, node, false));
            }
        }
    }

    /// Multiplies the term by a derivative, factor by factor, or divides by it.
    GradientTerm times(const GradientTerm& term, const RuleNode& by, const RuleTree& node,
                       bool is_under) {
        if (by.kind == Kind::operate && by.parts.size() == 1) {
            return times(term.minus(), *by.parts[0], node, is_under);
        }
        if (is_operation(by, "*") || is_operation(by, "/")) {
            const bool turns = by.word == "/" ? !is_under : is_under;
            return times(times(term, *by.parts[0], node, is_under), *by.parts[1], node, turns);
        }
        if (by.kind == Kind::choose) {
            const RuleTree requested = meant(by.parts[0], node);
            const bool is_known = known_truth(*requested).value_or(false);
            return times(is_known ? term : term.where(requested), *by.parts[1], node, is_under);
        }
        if (is_number(by, 1)) return term;
        const bool is_quotient = by.word == "v" && node != root_ && is_operation(*node, "/");
        if (is_quotient) return term.times(node->parts[0]).over_by(node->parts[1]);
        const RuleTree factor = meant(tree_of(by), node);
        return is_under ? term.over_by(factor) : term.times(factor);
    }

    RuleTree meant(const RuleTree& by, const RuleTree& node) const {
        return attn::meant(by, *node, value_of(node));
    }

    void reduction(const RuleTree& node, GradientTerm term) {
        const RuleTree& body = node->parts.back();
        const GradientLoop loop{node->index, node->parts[0], node->parts[1]};
        if (node->word == "argmax") return;
        // The mean over an empty range has no terms: avoid a division by 0.
        if (node->word == "mean") term = term.over_by(places_in(loop, spans_, 1));
        const std::string own = marker_.mark(node->index);
        spans_[own] = spans_.at(node->index);
        const auto over_all = [&](const char* word, const RuleTree& each) {
            return reduce_node(word, own, loop.first, loop.end,
                               substituted(each, {{node->index, name_node(own)}}, spans_));
        };
        if (node->word == "max" || node->word == "min") {
            // The largest ones share the gradient.
            const RuleTree equal = operate_node("==", {body, value_of(node)});
            const RuleTree one = choose_node(equal, number_node(1), number_node(0));
            RuleTree count = over_all("sum", one);
            // An empty range has no largest number: avoid a division by 0.
            const bool may_be_empty = places_in(loop, spans_, 1)->kind == Kind::call;
            if (may_be_empty) count = call_node("max", {count, number_node(1)});
            term = term.over_by(count).where(equal);
        }
        if (node->word == "prod") {
            // The product of the other factors, which is defined even if one factor is 0.
            const std::string here = marker_.mark(node->index);
            spans_[here] = spans_.at(node->index);
            const RuleTree is_it = operate_node("==", {name_node(node->index), name_node(here)});
            const RuleTree others = over_all("prod", choose_node(is_it, number_node(1), body));
            term = term.times(substituted(others, {{here, name_node(node->index)}}, spans_));
        }
        term.loops.push_back(loop);
        visit(body, std::move(term));
    }

    /// Records the ranges of the indices of reductions.
    void note_spans(const RuleNode& node) {
        if (node.kind == Kind::reduce) {
            const IndexSpan first = span_of(*node.parts[0], spans_);
            const IndexSpan end = span_of(*node.parts[1], spans_);
            spans_[node.index] = {first.first, std::max(first.first, end.last - 1)};
        }
        for (const RuleTree& part : node.parts) note_spans(*part);
    }

    const std::string& tensor_;
    const std::vector<std::string>& indices_;
    const Outlines& outline_;
    Marker marker_;
    IndexSpans spans_;
    RuleTree root_;
    RuleTree result_;  ///< a cell of the rule's result
    std::vector<GradientTerm> terms_;
};

}  // namespace

void require_completed(const RuleNode& node) {
    if (node.kind == Kind::cell
            ? node.outline == nullptr || node.outline->shape.size() != node.parts.size()
            : node.kind == Kind::reduce && node.parts.size() != 3) {
        throw ConfigError("a rule is completed first: " + expression_text(node) + " is not");
    }
    for (const RuleTree& part : node.parts) require_completed(*part);
}

RuleTree derivative_term(const char* term, const RuleTree& node, const RuleTree& value) {
    return meant(parsed(term), *node, value);
}

RuleTree gradient_of(const Rule& rule, const std::string& tensor,
                     const std::vector<std::string>& indices, const Outlines& outline) {
    require_whole_rule(rule);
    require_completed(*rule.value);
    if (!outline) throw ConfigError("a rule is differentiated with the outlines of its tensors");
    const std::size_t axes = outline(tensor).shape.size();
    if (axes != indices.size() || outline(rule.step).shape.size() != rule.indices.size()) {
        throw ShapeError("d_" + tensor + " has " + std::to_string(axes) + " axes, and here " +
                         std::to_string(indices.size()) + " indices, or " + rule.step +
                         " has other axes than its rule");
    }
    return Differentiator(rule, tensor, indices, outline).tree();
}

}  // namespace attn
