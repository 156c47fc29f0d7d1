#include <algorithm>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Parts = std::vector<RuleTree>;

/// Returns the kind of things that an axis counts.
std::string counted_by(const std::string& axis) {
    if (is_token_axis(axis)) return "positions";
    if (axis == "in" || axis == "out" || axis == "feature") return "features";
    return axis;
}

class Remarks {
public:
    Remarks(const Rule& rule, const Outline& outline, bool in_float32) : in_float32_(in_float32) {
        for (std::size_t axis = 0; axis < outline.axes.size(); ++axis) {
            look_at_axes(*rule.value, rule.indices[axis], outline.axes[axis], rule.step);
        }
        visit(*rule.value);
    }

    std::vector<std::string> all() { return std::move(all_); }

private:
    void add(const std::string& remark) {
        if (std::ranges::count(all_, remark) == 0) all_.push_back(remark);
    }

    /// Finds an index that runs over different kinds of axes of the same length.
    void look_at_axes(const RuleNode& node, const std::string& index, std::string known,
                      std::string known_from) {
        for (const RuleAxis& axis : axes_of(node, index)) {
            if (known.empty()) known = axis.name(), known_from = axis.cell->word;
            if (counted_by(axis.name()) == counted_by(known)) continue;
            return add(index + " goes over axis " + known + " in " + known_from +
                       " and over axis " + axis.name() + " in " + axis.cell->word +
                       ", which only happen to be " + std::to_string(axis.length()) + " each.");
        }
    }

    static bool names_index(const RuleNode& node) {
        return node.kind == Kind::name ||
               (node.kind != Kind::cell && node.kind != Kind::reduce &&
                std::ranges::any_of(node.parts,
                                    [](const RuleTree& part) { return names_index(*part); }));
    }
    /// True for `q / 2`, which is 0.5 for q = 1.
    static bool is_quotient(const RuleNode& node) {
        return is_operation(node, "/") && node.parts[0]->type == RuleType::whole &&
               node.parts[1]->type == RuleType::whole && names_index(node);
    }

    void look_at_comparison(const RuleNode& node) {
        const RuleNode &left = *node.parts[0], &right = *node.parts[1];
        const bool both = is_quotient(left) && is_quotient(right);
        const bool equals = node.word == "==" || node.word == "!=";
        const auto beside = [](const RuleNode& one, const RuleNode& other) {
            return is_quotient(one) && other.type == RuleType::whole && names_index(other);
        };
        if (!both && !(equals && (beside(left, right) || beside(right, left)))) return;
        const RuleNode& first = is_quotient(left) ? left : right;
        add(expression_text(first) + " does not round down outside of [...]: write " +
            expression_text(*first.parts[0]) + " // " + expression_text(*first.parts[1]) +
            " to round down.");
    }

    void visit(const RuleNode& node) {
        if (node.kind == Kind::reduce) {
            look_at_axes(*node.parts[2], node.index, "", "");
            constexpr double exact = 16777216;
            const IndexSpan first = span_of(*node.parts[0], {}), end = span_of(*node.parts[1], {});
            const bool adds = node.word == "sum" || node.word == "mean";
            if (in_float32_ && adds && end.last - first.first > exact &&
                end.last - first.first < 1e15) {
                add("A sum of more than 16777216 numbers stops growing in float32: use float64.");
            }
        }
        const RuleFunction* const function =
            node.kind == Kind::operate ? find_rule_function(node.word, node.parts.size()) : nullptr;
        if (function != nullptr && function->kind == RuleFunction::Kind::comparison) {
            look_at_comparison(node);
        }
        for (const RuleTree& part : node.parts) visit(*part);
    }

    bool in_float32_;
    std::vector<std::string> all_;
};

}  // namespace

std::vector<std::string> remarks_on(const Rule& rule, const Outline& outline, bool in_float32) {
    require_whole_rule(rule);
    if (rule.indices.size() != outline.axes.size()) {
        throw ShapeError(rule.step + " has other axes than its rule");
    }
    return Remarks(rule, outline, in_float32).all();
}

}  // namespace attn
