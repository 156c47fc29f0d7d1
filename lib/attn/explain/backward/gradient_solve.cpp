#include <algorithm>
#include <cmath>

#include "attn/explain/backward/gradient.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Solves `index of the tensor = expression` for the indices of the rule.
class Solver {
public:
    Solver(GradientTerm term, IndexSpans spans)
        : term_(std::move(term)), spans_(std::move(spans)) {}

    void equal(const RuleTree& part, const std::string& index) {
        equations_.push_back({part, Linear(name_node(index))});
    }

    std::optional<GradientTerm> result() {
        while (solve_one()) {
        }
        for (const Equation& left : equations_) {
            const RuleTree part = now(left.part);
            term_.conditions.push_back(
                compared_indices("==", *Linear::of(*part, spans_), left.value, spans_));
        }
        return substituted_term();
    }

private:
    struct Equation {
        RuleTree part;
        Linear value;
    };

    bool is_unknown(const std::string& name) const {
        return !solution_.contains(name) &&
               std::ranges::find(term_.loops, name, &GradientLoop::index) != term_.loops.end();
    }
    bool names_unknown(const RuleNode& node) const {
        return std::ranges::any_of(term_.loops, [&](const GradientLoop& loop) {
            return is_unknown(loop.index) && holds_index(node, loop.index);
        });
    }
    GradientLoop& loop_of(const std::string& name) {
        return *std::ranges::find(term_.loops, name, &GradientLoop::index);
    }

    RuleTree now(const RuleTree& tree) const { return substituted(tree, solution_, spans_); }

    void solve(const std::string& name, const Linear& value) {
        solution_[name] = value.tree();
        solved_.push_back(name);
    }

    bool solve_one() {
        for (const auto way : {&Solver::solve_plain, &Solver::solve_pair, &Solver::solve_linear,
                               &Solver::solve_quotient}) {
            for (std::size_t i = 0; i < equations_.size(); ++i) {
                if (!(this->*way)(equations_[i])) continue;
                equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(i));
                return true;
            }
        }
        return false;
    }

    bool solve_plain(Equation& equation) {
        const std::string& name = equation.part->word;
        if (equation.part->kind != Kind::name || !is_unknown(name)) return false;
        const Linear& value = equation.value;
        const bool plain = value.parts().size() == 1 && value.parts()[0].factor == 1 &&
                           value.parts()[0].atom->kind == Kind::name && value.constant() == 0;
        const double last = value.span(spans_).last;
        // An index has one length: beyond the tensor it is read only under a condition.
        if (plain && last < spans_.at(name).last) {
            kept_.push_back(operate_node("<", {value.tree(), number_node(last + 1)}));
        }
        solve(name, equation.value);
        return true;
    }

    /// Combines quotient and remainder of the same number by n, which determine the number.
    bool solve_pair(Equation& equation) {
        if (!is_operation(*equation.part, "//")) return false;
        const RuleNode& n = *equation.part->parts[1];
        if (n.kind != Kind::number || n.number <= 0) return false;
        for (Equation& other : equations_) {
            if (!is_operation(*other.part, "%") ||
                !std::ranges::equal(
                    equation.part->parts, other.part->parts,
                    [](const RuleTree& a, const RuleTree& b) { return same_tree(*a, *b); })) {
                continue;
            }
            term_.conditions.push_back(
                compared_indices("<", other.value, Linear(n.number), spans_));
            other.part = equation.part->parts[0];
            other.value = other.value.plus(equation.value, n.number);
            return true;
        }
        return false;
    }

    /// Solves `h * 4 + f = o`: each index is a digit of the remainder.
    bool solve_linear(Equation& equation) {
        const auto linear = Linear::of(*now(equation.part), spans_);
        if (!linear) return false;
        Linear rest = equation.value.plus(Linear(linear->constant()), -1);
        std::vector<Linear::Part> unknown;
        for (const Linear::Part& part : linear->parts()) {
            if (part.atom->kind == Kind::name && is_unknown(part.atom->word)) {
                unknown.push_back(part);
            } else if (names_unknown(*part.atom)) {
                return false;
            } else {
                rest = rest.plus(Linear(part.atom), -part.factor);
            }
        }
        if (unknown.empty()) return false;
        if (unknown.size() == 1 && unknown[0].factor < 0) {
            unknown[0].factor = -unknown[0].factor;
            rest = Linear().plus(rest, -1);
        }
        std::ranges::sort(unknown, std::greater(), &Linear::Part::factor);
        double smaller = 0;
        for (std::size_t i = unknown.size(); i-- > 0;) {
            const auto known = spans_.find(unknown[i].atom->word);
            if (known == spans_.end()) return false;
            const IndexSpan span = known->second;
            if (unknown[i].factor <= smaller) return false;
            if (!std::isfinite(span.first) || !std::isfinite(span.last)) return false;
            smaller += unknown[i].factor * (span.last - span.first);
            rest = rest.plus(Linear(unknown[i].factor * span.first), -1);
        }
        for (const Linear::Part& part : unknown) {
            const std::string& name = part.atom->word;
            solve(name, rest.divided(part.factor, spans_).plus(Linear(spans_.at(name).first)));
            rest = part.factor == 1 ? Linear() : rest.modulo(part.factor, spans_);
        }
        term_.conditions.push_back(compared_indices("==", rest, Linear(), spans_));
        return true;
    }

    /// Solves `v / n = a`: v has n values.
    bool solve_quotient(Equation& equation) {
        const RuleTree part = now(equation.part);
        if (!is_operation(*part, "//") || part->parts[1]->kind != Kind::number) return false;
        const auto above = Linear::of(*part->parts[0], spans_);
        if (!above || above->parts().size() != 1 || above->parts()[0].factor != 1) return false;
        const RuleNode& index = *above->parts()[0].atom;
        if (index.kind != Kind::name || !is_unknown(index.word)) return false;
        GradientLoop& loop = loop_of(index.word);
        if (loop.first->kind != Kind::number || loop.end->kind != Kind::number) return false;
        const double n = part->parts[1]->number;
        if (n <= 0) return false;
        const Linear first = Linear(-above->constant()).plus(equation.value, n);
        const Linear end = first.plus(Linear(n));
        if (first.span(spans_).first < loop.first->number) {
            loop.first = call_node("max", {loop.first, first.tree()});
        } else {
            loop.first = first.tree();
        }
        if (end.span(spans_).last > loop.end->number) {
            loop.end = call_node("min", {loop.end, end.tree()});
        } else {
            loop.end = end.tree();
        }
        return true;
    }

    std::optional<GradientTerm> substituted_term() {
        const auto put = [&](std::vector<RuleTree>& trees) {
            for (RuleTree& tree : trees) tree = substituted(tree, solution_, spans_);
        };
        for (const std::string& name : solved_) {
            const GradientLoop loop = loop_of(name);
            const auto value = Linear::of(*now(solution_.at(name)), spans_);
            for (const auto& [sign, bound] : {std::pair(">=", loop.first), {"<", loop.end}}) {
                const auto limit = Linear::of(*now(bound), spans_);
                term_.conditions.push_back(compared_indices(sign, *value, *limit, spans_));
            }
        }
        std::erase_if(term_.loops,
                      [&](const GradientLoop& loop) { return solution_.contains(loop.index); });
        for (GradientLoop& loop : term_.loops) {
            loop.first = now(loop.first);
            loop.end = now(loop.end);
        }
        put(term_.over);
        put(term_.under);
        std::vector<RuleTree> conditions;
        std::swap(conditions, term_.conditions);
        for (const RuleTree& condition : conditions) {
            const RuleTree now = substituted(condition, solution_, spans_);
            const std::optional<bool> known = known_truth(*now);
            if (known && !*known) return std::nullopt;
            const bool stands = std::ranges::any_of(
                term_.conditions, [&](const RuleTree& each) { return same_tree(*each, *now); });
            if (!known && !stands) term_.conditions.push_back(now);
        }
        for (const RuleTree& condition : kept_) term_.conditions.push_back(condition);
        return std::move(term_);
    }

    GradientTerm term_;
    IndexSpans spans_;
    std::vector<Equation> equations_;
    std::map<std::string, RuleTree> solution_;
    std::vector<std::string> solved_;
    std::vector<RuleTree> kept_;  ///< conditions that are always needed
};

}  // namespace

std::optional<GradientTerm> solved(GradientTerm term, const std::vector<RuleTree>& parts,
                                   const std::vector<std::string>& indices, const Shape& shape,
                                   IndexSpans spans) {
    Solver solver(std::move(term), spans);
    for (std::size_t axis = 0; axis < parts.size(); ++axis) {
        // A cell of an axis of length 1 is read for all indices: it has no equation, unless there
        // is only one.
        const RuleNode& part = *parts[axis];
        const bool is_single = part.kind == Kind::name && spans.at(part.word).last == 0;
        if (shape[axis] != 1 || is_single) solver.equal(parts[axis], indices[axis]);
    }
    return solver.result();
}

}  // namespace attn
