#include <algorithm>
#include <optional>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/indices.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Facts about the place of a cell: the enclosing sums, and the conditions of the enclosing
/// branches of `if`.
struct Known {
    std::vector<const RuleNode*> sums;
    std::vector<RuleTree> conditions;
};

/// A cell of the rule's own step.
struct OwnCell {
    const RuleNode* cell;
    Known known;
};

void add_condition(const RuleTree& condition, std::vector<RuleTree>& all) {
    if (is_operation(*condition, "and")) {
        for (const RuleTree& part : condition->parts) add_condition(part, all);
    } else {
        all.push_back(condition);
    }
}

void add_own(const RuleNode& node, const std::string& step, const Known& known,
             std::vector<OwnCell>& found) {
    if (node.kind == Kind::cell && node.word == step) found.push_back({&node, known});
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        Known inside = known;
        if (node.kind == Kind::choose && i > 0) {
            const RuleTree& requested = node.parts[0];
            add_condition(i == 1 ? requested : opposite_of(requested), inside.conditions);
        }
        if (node.kind == Kind::reduce && i + 1 == node.parts.size()) inside.sums.push_back(&node);
        add_own(*node.parts[i], step, inside, found);
    }
}

/// Compares places along an axis with the place that is being computed.
class Places {
public:
    Places(const Known& known, IndexSpans spans) : known_(known), spans_(std::move(spans)) {}

    /// True if it is certainly negative; substitutes at most `deep` bounds for indices.
    bool is_negative(const Linear& number, int deep = 4) const {
        if (number.span(spans_).last < 0) return true;
        if (deep == 0) return false;
        for (const Linear::Part& part : number.parts()) {
            if (part.atom->kind != Kind::name) continue;
            for (const Linear& bound : bounds(part.atom->word, part.factor > 0)) {
                const Linear rest = number.plus(Linear(part.atom), -part.factor);
                if (is_negative(rest.plus(bound, part.factor), deep - 1)) return true;
            }
        }
        return false;
    }

private:
    /// Returns upper bounds of an index, or lower ones.
    std::vector<Linear> bounds(const std::string& index, bool most) const {
        std::vector<Linear> all;
        const auto add = [&](const RuleNode& node, double more) {
            const auto bound = Linear::of(node, spans_);
            if (bound) all.push_back(bound->plus(Linear(more)));
        };
        for (const RuleNode* sum : known_.sums) {
            if (sum->index == index && sum->parts.size() == 3)
                add(*sum->parts[most], most ? -1 : 0);
        }
        for (const RuleTree& requested : known_.conditions) {
            if (requested->kind != Kind::operate || requested->parts.size() != 2) continue;
            const std::string& word = requested->word;
            for (const std::size_t side : {0U, 1U}) {
                const bool is_it = requested->parts[side]->kind == Kind::name &&
                                   requested->parts[side]->word == index;
                // `r < t` and `t > r` are upper bounds of r.
                const bool bounds_so = word[0] == ((side == 0) == most ? '<' : '>');
                const double more = word.size() == 2 ? 0 : most ? -1 : 1;
                if (is_it && bounds_so) add(*requested->parts[1 - side], more);
            }
        }
        return all;
    }

    const Known& known_;
    IndexSpans spans_;
};

/// Returns the axis in whose order these cells are computed before they are read.
std::optional<RuleOrder> order_in(const Rule& rule, const std::vector<OwnCell>& own) {
    const Shape& shape = own.front().cell->outline->shape;
    if (shape.size() != rule.indices.size()) return std::nullopt;  // the right one, for a mistake
    IndexSpans spans;
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        spans[rule.indices[axis]] = {0, static_cast<double>(shape[axis]) - 1};
    }
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        for (const bool backwards : {false, true}) {
            const bool holds = std::ranges::all_of(own, [&](const OwnCell& each) {
                if (each.cell->parts.size() != rule.indices.size()) return false;
                const auto there = Linear::of(*each.cell->parts[axis], spans);
                if (!there) return false;
                const Linear here(name_node(rule.indices[axis]));
                return Places(each.known, spans)
                    .is_negative(backwards ? here.plus(*there, -1) : there->plus(here, -1));
            });
            if (holds) return RuleOrder{axis, backwards};
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<RuleOrder> orders_of(const Rule& rule) {
    std::vector<OwnCell> own;
    add_own(*rule.value, rule.step, {}, own);
    if (own.empty() || own.front().cell->outline == nullptr) return {};
    if (const std::optional<RuleOrder> one = order_in(rule, own)) return {*one};
    // Otherwise one sequence after another, with an order of the cells within each.
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        const RuleTree here = name_node(rule.indices[axis]);
        std::vector<OwnCell> within, before;
        for (const OwnCell& each : own) {
            if (each.cell->parts.size() != rule.indices.size()) return {};
            (same_tree(*each.cell->parts[axis], *here) ? within : before).push_back(each);
        }
        if (within.empty() || before.empty()) continue;
        const std::optional<RuleOrder> outer = order_in(rule, before),
                                       inner = order_in(rule, within);
        if (outer && inner && outer->axis == axis) return {*outer, *inner};
    }
    return {};
}

std::optional<RuleOrder> order_of(const Rule& rule) {
    const std::vector<RuleOrder> orders = orders_of(rule);
    return orders.size() == 1 ? std::optional(orders.front()) : std::nullopt;
}

std::vector<std::size_t> distinguished_axes(const Rule& rule) {
    std::vector<OwnCell> own;
    add_own(*rule.value, rule.step, {}, own);
    std::vector<std::size_t> axes;
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        const RuleTree here = name_node(rule.indices[axis]);
        const bool is_separate = std::ranges::all_of(own, [&](const OwnCell& each) {
            return each.cell->parts.size() == rule.indices.size() &&
                   same_tree(*each.cell->parts[axis], *here);
        });
        if (is_separate) axes.push_back(axis);
    }
    return axes;
}

void require_order(const Rule& rule) {
    std::vector<OwnCell> own;
    add_own(*rule.value, rule.step, {}, own);
    if (own.empty()) return;
    const std::optional<RuleOrder> order = order_of(rule);
    const RuleNode& cell = *own.front().cell;
    if (!order) {
        refuse_rule(rule, cell.at,
                    rule.step +
                        " would depend on itself: a step may read only its cells with a smaller "
                        "index, as " +
                        rule.step + "[t - 1] in if t == 0 then ... else");
    }
    for (const OwnCell& each : own) {
        const RuleNode& place = *each.cell->parts[order->axis];
        const double length = static_cast<double>(each.cell->outline->shape[order->axis]);
        IndexSpans spans{{rule.indices[order->axis], {0, length - 1}}};
        const IndexSpan span = span_of(place, spans);
        const bool is_plain = place.kind == Kind::name;  // of a sum, which may be empty
        if (is_plain || !each.known.conditions.empty() || (span.first >= 0 && span.last < length)) {
            continue;
        }
        refuse_rule(rule, each.cell->at,
                    "the first " + rule.indices[order->axis] +
                        " has none before it: test first, as in if " + rule.indices[order->axis] +
                        " == 0 then 0 else ...");
    }
}

}  // namespace attn
