#include "attn/explain/backward/gradient.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// A product of powers of factors, in which equal factors and divisors cancel if they are positive.
class Product {
public:
    void multiply(const RuleTree& factor, double power) {
        if (factor->kind == Kind::number) {
            (power > 0 ? over_ : under_) *= std::pow(factor->number, std::abs(power));
        } else if (factor->kind == Kind::operate && factor->parts.size() == 1) {
            negative_ = negative_ != (std::fmod(power, 2) != 0);
            multiply(factor->parts[0], power);
        } else if (is_operation(*factor, "*")) {
            for (const RuleTree& part : factor->parts) multiply(part, power);
        } else if (is_operation(*factor, "/")) {
            multiply(factor->parts[0], power);
            multiply(factor->parts[1], -power);
        } else if (is_operation(*factor, "^") && is_whole(*factor->parts[1])) {
            multiply(factor->parts[0], power * factor->parts[1]->number);
        } else {
            const auto same = std::ranges::find_if(
                factors_, [&](const Factor& each) { return same_tree(*each.base, *factor); });
            if (same == factors_.end()) {
                factors_.push_back({factor, power});
            } else {
                same->power += power;
            }
        }
    }

    bool negative() const { return negative_; }

    RuleTree tree() const {
        double over = over_;
        double under = under_;
        if (std::fmod(over, under) == 0) {
            over /= under;
            under = 1;
        } else if (std::fmod(under, over) == 0) {
            under /= over;
            over = 1;
        }
        RuleTree above = over == 1 ? nullptr : number_node(over);
        RuleTree below = under == 1 ? nullptr : number_node(under);
        const auto put = [&](RuleTree& side, const RuleTree& factor) {
            side = side == nullptr ? factor : operate_node("*", {side, factor});
        };
        for (const Factor& factor : factors_) {
            if (factor.power == 0) {
                // Dividing nan by itself gives nan, as in PyTorch.
                if (is_positive(*factor.base)) continue;
                put(above, factor.base);
                put(below, factor.base);
                continue;
            }
            const double power = std::abs(factor.power);
            const RuleTree raised =
                power == 1 ? factor.base : operate_node("^", {factor.base, number_node(power)});
            put(factor.power > 0 ? above : below, raised);
        }
        if (above == nullptr) above = number_node(1);
        return below == nullptr ? above : operate_node("/", {above, below});
    }

private:
    struct Factor {
        RuleTree base;
        double power;
    };

    /// True for numbers that are neither nan nor 0 if their arguments are not.
    static bool is_positive(const RuleNode& node) {
        const bool is_known = node.kind == Kind::number ? node.number > 0 : node.word == "exp";
        const bool joins = node.word == "sum" || node.word == "+" || node.word == "*" ||
                           node.word == "/" || node.word == "sqrt";
        const auto is_it = [](const RuleTree& part) { return is_positive(*part); };
        if (is_known || !joins || node.parts.empty()) return is_known;
        return node.kind == Kind::reduce ? is_it(node.parts.back())
                                         : std::ranges::all_of(node.parts, is_it);
    }

    static bool is_whole(const RuleNode& node) {
        return node.kind == Kind::number && node.number == std::floor(node.number);
    }

    bool negative_ = false;
    double over_ = 1, under_ = 1;
    std::vector<Factor> factors_;
};

/// Returns the number of loops that an expression depends on.
std::size_t level_of(const RuleNode& node, const std::vector<GradientLoop>& loops) {
    std::size_t level = loops.size();
    while (level > 0 && !holds_index(node, loops[level - 1].index)) --level;
    return level;
}

/// If conditions alone keep an index of a cell in range, as `f < k + 1` for `value[f,f]` with more
/// features than tokens, returns the deepest loop level of those conditions; else 0.
std::size_t guarded_level(const RuleNode& factor, const GradientTerm& term,
                          const IndexSpans& spans) {
    std::size_t level = 0;
    for (const RuleTree& part : factor.parts) {
        level = std::max(level, guarded_level(*part, term, spans));
    }
    if (factor.kind != Kind::cell) return level;
    for (std::size_t axis = 0; axis < factor.parts.size(); ++axis) {
        const auto length = static_cast<double>(factor.outline->shape[axis]);
        const IndexSpan span = span_of(*factor.parts[axis], spans);
        if (length == 1 || (span.first >= 0 && span.last < length)) continue;
        for (const RuleTree& condition : term.conditions) {
            for (const auto& [index, of] : spans) {
                if (!holds_index(*factor.parts[axis], index)) continue;
                if (!holds_index(*condition, index)) continue;
                level = std::max(level, level_of(*condition, term.loops));
            }
        }
    }
    return level;
}

/// True if the term depends on that loop.
bool is_used(const GradientTerm& term, std::size_t loop) {
    const auto names = [&](const RuleTree& tree) {
        return holds_index(*tree, term.loops[loop].index);
    };
    const auto any = [&](const std::vector<RuleTree>& trees) {
        return std::ranges::any_of(trees, names);
    };
    return any(term.over) || any(term.under) || any(term.conditions) ||
           std::ranges::any_of(term.loops, [&](const GradientLoop& each) {
               return names(each.first) || names(each.end);
           });
}

/// True if the term is 0, because deviations from their mean sum to 0: `sum j: a[j] - (mean i:
/// a[i])`.
bool is_deviations(const GradientTerm& term, std::size_t place) {
    const GradientLoop& loop = term.loops[place];
    GradientTerm others = term;
    const auto changing = [&](const RuleTree& each) { return holds_index(*each, loop.index); };
    const auto factor = std::ranges::find_if(others.over, changing);
    if (factor == others.over.end() || !is_operation(**factor, "-")) return false;
    const RuleTree each = (*factor)->parts[0];
    const RuleNode& mean = *(*factor)->parts.back();
    others.over.erase(factor);
    return mean.kind == Kind::reduce && mean.word == "mean" && !holds_index(mean, loop.index) &&
           !is_used(others, place) && same_tree(*mean.parts[0], *loop.first) &&
           same_tree(*mean.parts[1], *loop.end) &&
           same_tree(*substituted(each, {{loop.index, name_node(mean.index)}}, {}), *mean.parts[2]);
}

/// Places the factors within the first loops: a factor goes before a sum that it does not depend
/// on, but after the conditions under which its cell exists.
RuleTree nest(const GradientTerm& term, std::size_t level, const IndexSpans& spans,
              bool& negative) {
    Product product;
    for (const auto& [factors, power] : {std::pair(&term.over, 1.0), {&term.under, -1.0}}) {
        for (const RuleTree& factor : *factors) {
            const std::size_t place =
                std::max(level_of(*factor, term.loops), guarded_level(*factor, term, spans));
            if (place == level) product.multiply(factor, power);
        }
    }
    if (level < term.loops.size()) {
        const GradientLoop& loop = term.loops[level];
        product.multiply(reduce_node("sum", loop.index, loop.first, loop.end,
                                     nest(term, level + 1, spans, negative)),
                         1);
    }
    negative = negative != product.negative();
    RuleTree value = product.tree();
    // Conditions that read cells come after those that check that the cells exist.
    RuleTree condition;
    for (const bool asks_cells : {false, true}) {
        for (const RuleTree& each : term.conditions) {
            const bool is_here = level_of(*each, term.loops) == level;
            if (!is_here || reads_cells(*each) != asks_cells) continue;
            condition = condition == nullptr ? each : operate_node("and", {condition, each});
        }
    }
    if (condition == nullptr) return value;
    const bool is_not = condition->kind == Kind::operate && condition->word == "not";
    if (is_not) return choose_node(condition->parts[0], number_node(0), value);
    return choose_node(condition, value, number_node(0));
}

/// Replaces marked indices by letters.
class Letters {
public:
    RuleTree tree(const RuleTree& tree, const std::set<std::string>& used_letters) const {
        RuleNode node = *tree;
        if (node.kind != Kind::reduce) {
            for (RuleTree& part : node.parts) part = this->tree(part, used_letters);
            return tree_of(std::move(node));
        }
        const std::string letter =
            free_letter(node.index.substr(0, node.index.find('\'')), used_letters);
        std::set<std::string> inside = used_letters;
        inside.insert(letter);
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
            node.parts[i] = this->tree(node.parts[i], used_letters);
        }
        const RuleTree body = substituted(node.parts.back(), {{node.index, name_node(letter)}}, {});
        node.index = letter;
        node.parts.back() = this->tree(body, inside);
        return tree_of(std::move(node));
    }

private:
    static std::string free_letter(const std::string& letter,
                                   const std::set<std::string>& used_letters) {
        static const std::map<std::string, std::string> others{
            {"q", "p"}, {"k", "j"}, {"f", "g"}, {"t", "s"}, {"h", "i"}, {"c", "d"}, {"o", "p"}};
        if (!used_letters.contains(letter)) return letter;
        const auto other = others.find(letter);
        if (other != others.end() && !used_letters.contains(other->second)) return other->second;
        std::string name = letter + letter.back();
        while (used_letters.contains(name)) name += letter.back();
        return name;
    }
};

bool same_trees(const std::vector<RuleTree>& a, const std::vector<RuleTree>& b) {
    return std::ranges::equal(
        a, b, [](const RuleTree& left, const RuleTree& right) { return same_tree(*left, *right); });
}

/// Merges two terms that differ only in one condition, which is true in one and false in the other.
bool join(GradientTerm& term, const GradientTerm& other) {
    const auto same_loop = [](const GradientLoop& a, const GradientLoop& b) {
        return a.index == b.index && same_tree(*a.first, *b.first) && same_tree(*a.end, *b.end);
    };
    if (term.negative != other.negative || !same_trees(term.over, other.over) ||
        !same_trees(term.under, other.under) || term.conditions.size() != other.conditions.size() ||
        !std::ranges::equal(term.loops, other.loops, same_loop)) {
        return false;
    }
    std::optional<std::size_t> differs;
    for (std::size_t i = 0; i < term.conditions.size(); ++i) {
        if (same_tree(*term.conditions[i], *other.conditions[i])) continue;
        if (differs || !same_tree(*term.conditions[i], *opposite_of(other.conditions[i]))) {
            return false;
        }
        differs = i;
    }
    if (!differs) return false;
    term.conditions.erase(term.conditions.begin() + static_cast<std::ptrdiff_t>(*differs));
    return true;
}

}  // namespace

GradientTerm GradientTerm::times(const RuleTree& factor) const {
    GradientTerm term = *this;
    term.over.push_back(factor);
    return term;
}

GradientTerm GradientTerm::over_by(const RuleTree& divisor) const {
    GradientTerm term = *this;
    term.under.push_back(divisor);
    return term;
}

GradientTerm GradientTerm::minus() const {
    GradientTerm term = *this;
    term.negative = !negative;
    return term;
}

GradientTerm GradientTerm::where(const RuleTree& condition) const {
    GradientTerm term = *this;
    if (condition->kind == Kind::operate && condition->word == "and") {
        return term.where(condition->parts[0]).where(condition->parts[1]);
    }
    const bool neither = condition->kind == Kind::operate && condition->word == "not" &&
                         condition->parts[0]->word == "or";
    if (neither) {
        const RuleTree& either = condition->parts[0];
        return term.where(opposite_of(either->parts[0])).where(opposite_of(either->parts[1]));
    }
    term.conditions.push_back(condition);
    return term;
}

RuleTree places_in(const GradientLoop& loop, const IndexSpans& spans, double least) {
    const Linear count = Linear::of(*loop.end, spans)->plus(*Linear::of(*loop.first, spans), -1);
    if (count.span(spans).first >= least) return count.tree();
    return call_node("max", {count.tree(), number_node(least)});
}

RuleTree sum_of(std::vector<GradientTerm> terms, const std::vector<std::string>& indices,
                const IndexSpans& spans) {
    RuleTree sum;
    const std::set<std::string> used_letters(indices.begin(), indices.end());
    for (std::size_t i = 0; i < terms.size(); ++i) {
        for (std::size_t j = i + 1; j < terms.size(); ++j) {
            if (!join(terms[i], terms[j])) continue;
            terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
            j = i;
        }
    }
    for (GradientTerm& term : terms) {
        bool has_deviations = false;
        for (std::size_t place = 0; sum != nullptr && place < term.loops.size(); ++place) {
            has_deviations = has_deviations || is_deviations(term, place);
        }
        if (has_deviations) continue;
        for (std::size_t i = term.loops.size(); i-- > 0;) {
            if (is_used(term, i)) continue;
            const GradientLoop& loop = term.loops[i];
            term.over.push_back(places_in(loop, spans, 0));
            term.loops.erase(term.loops.begin() + static_cast<std::ptrdiff_t>(i));
        }
        bool negative = term.negative;
        RuleTree value = Letters().tree(nest(term, 0, spans, negative), used_letters);
        if (sum == nullptr) {
            sum = negative ? operate_node("-", {value}) : value;
        } else {
            sum = operate_node(negative ? "-" : "+", {sum, value});
        }
    }
    return sum;
}

}  // namespace attn
