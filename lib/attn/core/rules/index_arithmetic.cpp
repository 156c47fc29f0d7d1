#include "attn/core/rules/indices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Returns the positive divisor of an integer atom; nullopt for other nodes.
std::optional<double> divisor_of(const RuleNode& atom, const char* word) {
    if (!is_operation(atom, word) || atom.parts[0]->type != RuleType::whole) return std::nullopt;
    const RuleNode& below = *atom.parts[1];
    const bool is_plain = below.type == RuleType::whole && below.kind == Kind::number;
    return is_plain && below.number > 0 ? std::optional(below.number) : std::nullopt;
}

/// Returns the bounds of an indivisible expression.
IndexSpan atom_span(const RuleNode& atom, const IndexSpans& spans) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto part = [&](std::size_t i) { return span_of(*atom.parts[i], spans); };
    if (atom.kind == Kind::name) {
        const auto known = spans.find(atom.word);
        if (known != spans.end()) return known->second;
    } else if (const auto modulus = divisor_of(atom, "%")) {
        return {0, *modulus - 1};
    } else if (const auto n = divisor_of(atom, "//")) {
        return {std::floor(part(0).first / *n), std::floor(part(0).last / *n)};
    } else if (atom.kind == Kind::choose) {
        return {std::min(part(1).first, part(2).first), std::max(part(1).last, part(2).last)};
    } else if (atom.kind == Kind::call && (atom.word == "min" || atom.word == "max")) {
        const bool is_min = atom.word == "min";
        const IndexSpan a = part(0), b = part(1);
        return {is_min ? std::min(a.first, b.first) : std::max(a.first, b.first),
                is_min ? std::min(a.last, b.last) : std::max(a.last, b.last)};
    } else if (atom.kind == Kind::call && atom.word == "abs") {
        const IndexSpan a = part(0);
        return {std::max({a.first, -a.last, 0.0}), std::max(std::abs(a.first), std::abs(a.last))};
    }
    return {-infinity, infinity};
}

RuleTree plus(const RuleTree& left, const RuleTree& right, bool subtracts) {
    if (left == nullptr) return subtracts ? operate_node("-", {right}) : right;
    return operate_node(subtracts ? "-" : "+", {left, right});
}

RuleTree times(const RuleTree& atom, double factor) {
    return factor == 1 ? atom : operate_node("*", {atom, number_node(factor)});
}

bool is_comparison(const std::string& word) {
    return word == "<" || word == "<=" || word == ">" || word == ">=" || word == "==" ||
           word == "!=";
}

/// True if an expression consists of indices and numbers.
bool counts(const RuleNode& node) {
    return node.kind != Kind::cell && node.kind != Kind::reduce &&
           std::ranges::all_of(node.parts, [](const RuleTree& part) { return counts(*part); });
}

/// Simplifies an `and` or `or`, one side of which may be known.
RuleTree joined_truths(RuleNode node) {
    for (std::size_t i = 0; i < 2; ++i) {
        const std::optional<bool> known = known_truth(*node.parts[i]);
        if (known) return node.parts[*known == (node.word == "and") ? 1 - i : i];
    }
    return tree_of(std::move(node));
}

std::string opposite(const std::string& word) {
    if (word == "<") return ">=";
    if (word == "<=") return ">";
    if (word == ">") return "<=";
    if (word == ">=") return "<";
    return word == "==" ? "!=" : "==";
}

}  // namespace

Linear::Linear(RuleTree atom) { parts_.push_back({std::move(atom), 1}); }

std::optional<Linear> Linear::of(const RuleNode& node, const IndexSpans& spans) {
    if (!is_integer(node)) return std::nullopt;
    if (node.kind == Kind::number) return Linear(node.number);
    // `floor(x / n)` is `x // n`.
    if (node.kind == Kind::call && node.word == "floor") {
        const RuleNode& inner = *node.parts[0];
        if (inner.type == RuleType::whole) return of(inner, spans);
        const bool divides = is_operation(inner, "/") && inner.parts[0]->type == RuleType::whole &&
                             inner.parts[1]->type == RuleType::whole;
        if (divides) return of(*operate_node("//", inner.parts), spans);
    }
    if (node.kind != Kind::operate) return Linear(tree_of(node));
    const std::optional<Linear> left = of(*node.parts[0], spans);
    if (left && node.parts.size() == 1) return Linear().plus(*left, -1);
    const std::optional<Linear> right = left ? of(*node.parts[1], spans) : std::nullopt;
    if (!right) return Linear(tree_of(node));
    if (node.word == "+") return left->plus(*right);
    if (node.word == "-") return left->plus(*right, -1);
    const bool by_number = right->parts_.empty();
    if (node.word == "*" && by_number) return Linear().plus(*left, right->constant_);
    if (node.word == "*" && left->parts_.empty()) return Linear().plus(*right, left->constant_);
    if (by_number && right->constant_ > 0 && node.word == "//") {
        return left->divided(right->constant_, spans);
    }
    if (by_number && right->constant_ > 0 && node.word == "%") {
        return left->modulo(right->constant_, spans);
    }
    return Linear(operate_node(node.word, {left->tree(), right->tree()}));
}

Linear Linear::plus(const Linear& other, double times) const {
    Linear sum = *this;
    sum.constant_ += times * other.constant_;
    for (const Part& part : other.parts_) sum.add({part.atom, part.factor * times});
    sum.join_remainders();
    return sum;
}

void Linear::add(const Part& part) {
    const auto same = std::ranges::find_if(
        parts_, [&](const Part& each) { return same_tree(*each.atom, *part.atom); });
    if (same == parts_.end()) {
        if (part.factor != 0) parts_.push_back(part);
        return;
    }
    same->factor += part.factor;
    if (same->factor == 0) parts_.erase(same);
}

/// Simplifies `x / n * n + x % n` to x.
void Linear::join_remainders() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const RuleTree rest = parts_[i].atom;
        const std::optional<double> n = divisor_of(*rest, "%");
        if (!n) continue;
        const double factor = parts_[i].factor;
        const auto whole = std::ranges::find_if(parts_, [&](const Part& part) {
            return divisor_of(*part.atom, "//") == n && part.factor == factor * *n &&
                   same_tree(*part.atom->parts[0], *rest->parts[0]);
        });
        if (whole == parts_.end()) continue;
        Linear joined = plus(Linear(whole->atom), -factor * *n).plus(Linear(rest), -factor);
        *this = joined.plus(*of(*rest->parts[0], {}), factor);
        return;
    }
}

/// Splits into terms that are multiples of n, and the rest.
std::pair<Linear, Linear> Linear::split(double n, const IndexSpans& spans) const {
    Linear multiple(std::floor(constant_ / n));
    Linear rest(constant_ - n * multiple.constant_);
    for (const Part& part : parts_) {
        const bool goes = std::fmod(part.factor, n) == 0;
        (goes ? multiple : rest)
            .parts_.push_back({part.atom, goes ? part.factor / n : part.factor});
    }
    // A constant stays with the term that it is added to: (f + 6) / 4.
    const IndexSpan span = rest.span(spans);
    if (!rest.parts_.empty() && (span.first < 0 || span.last >= n)) {
        rest.constant_ = constant_;
        multiple.constant_ = 0;
    }
    return {multiple, rest};
}

Linear Linear::divided(double n, const IndexSpans& spans) const {
    if (n == 1) return *this;
    const auto [multiple, rest] = split(n, spans);
    const IndexSpan span = rest.span(spans);
    if (span.first >= 0 && span.last < n) return multiple;
    RuleTree inner = rest.tree();
    if (const std::optional<double> before = divisor_of(*inner, "//")) {
        n *= *before;
        inner = inner->parts[0];
    }
    return multiple.plus(Linear(operate_node("//", {inner, number_node(n)})));
}

Linear Linear::modulo(double n, const IndexSpans& spans) const {
    Linear rest = split(n, spans).second;
    if (std::fmod(rest.constant_, n) == 0) rest.constant_ = 0;
    const IndexSpan span = rest.span(spans);
    if (span.first >= 0 && span.last < n) return rest;
    RuleTree inner = rest.tree();
    const std::optional<double> before = divisor_of(*inner, "%");
    if (before && std::fmod(*before, n) == 0) inner = inner->parts[0];
    return Linear(operate_node("%", {inner, number_node(n)}));
}

IndexSpan Linear::span(const IndexSpans& spans) const {
    IndexSpan all{constant_, constant_};
    for (const Part& part : parts_) {
        const IndexSpan one = atom_span(*part.atom, spans);
        all.first += part.factor * (part.factor > 0 ? one.first : one.last);
        all.last += part.factor * (part.factor > 0 ? one.last : one.first);
    }
    return all;
}

RuleTree Linear::tree() const {
    RuleTree sum;
    std::vector<Part> parts = parts_;
    std::ranges::stable_sort(parts, std::greater(),
                             [](const Part& part) { return std::abs(part.factor); });
    for (const bool negative : {false, true}) {
        for (const Part& part : parts) {
            if ((part.factor < 0) != negative) continue;
            // A difference that begins with a positive number, `3 - k`, needs no leading sign.
            if (negative && sum == nullptr && constant_ > 0) sum = number_node(constant_);
            sum = attn::plus(sum, times(part.atom, std::abs(part.factor)), negative);
        }
    }
    if (sum == nullptr) return number_node(constant_);
    const bool counted =
        constant_ > 0 && !parts_.empty() &&
        std::ranges::all_of(parts_, [](const Part& part) { return part.factor < 0; });
    if (constant_ == 0 || counted) return sum;
    return attn::plus(sum, number_node(std::abs(constant_)), constant_ < 0);
}

RuleTree compared_indices(const std::string& word, const Linear& left, const Linear& right,
                          const IndexSpans& spans) {
    const Linear difference = left.plus(right, -1);
    const IndexSpan span = difference.span(spans);
    const auto truth = [](bool holds) { return number_node(holds ? 1 : 0); };
    if (word == "==" || word == "!=") {
        const bool never = span.first > 0 || span.last < 0;
        const bool always = span.first == 0 && span.last == 0;
        if (never || always) return truth(always == (word == "=="));
    } else {
        const bool less = word.front() == '<';
        const double equal = word.size() == 2 ? 0 : 1;
        if (less && span.last <= -equal) return truth(true);
        if (less && span.first > -equal) return truth(false);
        if (!less && span.first >= equal) return truth(true);
        if (!less && span.last < equal) return truth(false);
    }
    // Added terms are on the left, subtracted ones on the right.
    Linear first;
    Linear second;
    for (const Linear::Part& part : difference.parts()) {
        const Linear one = Linear(part.atom);
        (part.factor > 0 ? first : second) =
            (part.factor > 0 ? first : second).plus(one, std::abs(part.factor));
    }
    std::string sign = word;
    if (first.parts().empty()) {
        std::swap(first, second);
        second = second.plus(Linear(difference.constant()));
        if (sign.front() == '<' || sign.front() == '>')
            sign.front() = sign.front() == '<' ? '>' : '<';
    } else {
        second = second.plus(Linear(-difference.constant()));
    }
    // x // n < c is x < c * n.
    const bool alone = first.parts().size() == 1 && first.parts()[0].factor == 1 &&
                       second.parts().empty() && (sign == "<" || sign == ">=");
    const RuleTree atom = first.parts().empty() ? nullptr : first.parts()[0].atom;
    const auto inner = [&] { return *Linear::of(*atom->parts[0], spans); };
    if (const auto n = alone ? divisor_of(*atom, "//") : std::nullopt) {
        return compared_indices(sign, inner(), Linear(second.constant() * *n), spans);
    }
    // (x + c) % n == r is x % n == r - c.
    const bool is_one = first.parts().size() == 1 && first.parts()[0].factor == 1 &&
                        second.parts().empty() && sign == "==";
    const auto n = is_one ? divisor_of(*atom, "%") : std::nullopt;
    const bool is_rest = n && second.constant() >= 0 && second.constant() < *n;
    if (is_rest && inner().constant() != 0) {
        const Linear moved(second.constant() - inner().constant());
        const Linear bare = inner().plus(Linear(-inner().constant())).modulo(*n, spans);
        return compared_indices(sign, bare, moved.modulo(*n, spans), spans);
    }
    return operate_node(sign, {first.tree(), second.tree()});
}

IndexSpan span_of(const RuleNode& node, const IndexSpans& spans) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::optional<Linear> linear = Linear::of(node, spans);
    return linear ? linear->span(spans) : IndexSpan{-infinity, infinity};
}

std::optional<bool> known_truth(const RuleNode& condition) {
    if (condition.kind != Kind::number) return std::nullopt;
    return condition.number != 0;
}

RuleTree opposite_of(const RuleTree& condition) {
    if (const std::optional<bool> known = known_truth(*condition))
        return number_node(*known ? 0 : 1);
    if (condition->kind == Kind::operate && condition->word == "not") return condition->parts[0];
    // Not for numbers: comparisons with nan are all false.
    if (condition->kind == Kind::operate && is_comparison(condition->word) && counts(*condition)) {
        return operate_node(opposite(condition->word), condition->parts);
    }
    return operate_node("not", {condition});
}

RuleTree substituted(const RuleTree& tree, const std::map<std::string, RuleTree>& by,
                     const IndexSpans& spans) {
    if (tree->kind == Kind::name) {
        const auto found = by.find(tree->word);
        return found == by.end() ? tree : found->second;
    }
    if (tree->parts.empty()) return tree;
    RuleNode node = *tree;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const bool is_range = node.kind == Kind::reduce && i + 1 < node.parts.size();
        if (node.kind == Kind::reduce && !is_range && by.contains(node.index)) {
            auto others = by;
            others.erase(node.index);
            node.parts[i] = substituted(node.parts[i], others, spans);
            continue;
        }
        node.parts[i] = substituted(node.parts[i], by, spans);
        const bool is_index = node.kind == Kind::cell || is_range;
        if (!is_index || node.parts[i]->parts.empty()) continue;
        if (const auto linear = Linear::of(*node.parts[i], spans)) node.parts[i] = linear->tree();
    }
    if (node.kind == Kind::operate && node.parts.size() == 2) {
        const auto left = Linear::of(*node.parts[0], spans);
        const auto right = Linear::of(*node.parts[1], spans);
        if (is_comparison(node.word) && left && right) {
            return compared_indices(node.word, *left, *right, spans);
        }
        const bool adds = node.word == "+" || node.word == "-" || node.word == "%";
        const bool named = left && right && !(left->parts().empty() && right->parts().empty());
        if (named && adds) return Linear::of(*tree_of(node), spans)->tree();
        if (node.word == "and" || node.word == "or") return joined_truths(std::move(node));
    }
    if (node.kind == Kind::operate && node.word == "not") return opposite_of(node.parts[0]);
    if (node.kind == Kind::choose) {
        if (const auto known = known_truth(*node.parts[0])) return node.parts[*known ? 1 : 2];
    }
    return tree_of(std::move(node));
}

}  // namespace attn
