#include "attn/rules/indices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

using Kind = RuleNode::Kind;

bool is_whole(double number) { return number == std::floor(number) && std::abs(number) < 1e15; }

/// The bounds of what can not be taken apart.
IndexSpan span_of(const RuleNode& atom, const IndexSpans& spans) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (atom.kind == Kind::name) {
        const auto known = spans.find(atom.word);
        if (known != spans.end()) return known->second;
    } else if (is_operation(atom, "%")) {
        return {0, atom.parts[1]->number - 1};
    } else if (is_operation(atom, "/")) {
        const std::optional<Linear> inner = Linear::of(*atom.parts[0], spans, true);
        const double n = atom.parts[1]->number;
        if (inner) {
            const IndexSpan span = inner->span(spans);
            return {std::floor(span.first / n), std::floor(span.last / n)};
        }
    }
    return {-infinity, infinity};
}

/// An index as a number: division does not round there by itself.
RuleTree for_values(const RuleTree& tree) {
    if (tree->parts.empty()) return tree;
    RuleNode node = *tree;
    for (RuleTree& part : node.parts) part = for_values(part);
    const bool divides = is_operation(node, "/");
    RuleTree copy = tree_of(std::move(node));
    return divides ? call_node("floor", {copy}) : copy;
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

/// Whether an expression is made of indices and numbers alone.
bool counts(const RuleNode& node) {
    return node.kind != Kind::cell && node.kind != Kind::reduce &&
           std::ranges::all_of(node.parts, [](const RuleTree& part) { return counts(*part); });
}

/// An `and` or `or`, one side of which may be known.
RuleTree joined(RuleNode node) {
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

std::optional<Linear> Linear::of(const RuleNode& node, const IndexSpans& spans, bool whole) {
    const auto part = [&](std::size_t i) { return of(*node.parts[i], spans, whole); };
    switch (node.kind) {
        case Kind::number:
            if (!is_whole(node.number)) return std::nullopt;
            return Linear(node.number);
        case Kind::name:
            return Linear(tree_of(node));
        case Kind::cell:
            if (!whole) return std::nullopt;
            return Linear(tree_of(node));
        case Kind::call: {
            if (node.word != "floor") return std::nullopt;
            const RuleNode& inner = *node.parts[0];
            if (whole || !is_operation(inner, "/")) return of(inner, spans, whole);
            const std::optional<Linear> above = of(*inner.parts[0], spans, false);
            const std::optional<Linear> below = of(*inner.parts[1], spans, false);
            if (!above || !below || !below->parts_.empty() || below->constant_ <= 0) return {};
            return above->divided(below->constant_, spans);
        }
        case Kind::operate:
            break;
        default:
            return std::nullopt;
    }
    const std::optional<Linear> left = part(0);
    if (!left) return std::nullopt;
    if (node.parts.size() == 1) {
        if (node.word != "-") return std::nullopt;
        return Linear().plus(*left, -1);
    }
    const std::optional<Linear> right = part(1);
    if (!right) return std::nullopt;
    const bool by_number = right->parts_.empty();
    if (node.word == "+") return left->plus(*right);
    if (node.word == "-") return left->plus(*right, -1);
    if (node.word == "*" && by_number) return Linear().plus(*left, right->constant_);
    if (node.word == "*" && left->parts_.empty()) return Linear().plus(*right, left->constant_);
    if (!by_number || right->constant_ <= 0) return std::nullopt;
    if (node.word == "/" && whole) return left->divided(right->constant_, spans);
    if (node.word == "%") return left->modulo(right->constant_, spans);
    return std::nullopt;
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

/// `x / n * n + x % n` is x.
void Linear::join_remainders() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const RuleNode rest = *parts_[i].atom;
        if (!is_operation(rest, "%")) continue;
        const double factor = parts_[i].factor;
        const double n = rest.parts[1]->number;
        const auto whole = std::ranges::find_if(parts_, [&](const Part& part) {
            return is_operation(*part.atom, "/") && part.factor == factor * n &&
                   same_tree(*part.atom->parts[0], *rest.parts[0]) &&
                   part.atom->parts[1]->number == n;
        });
        if (whole == parts_.end()) continue;
        Linear joined =
            plus(Linear(whole->atom), -factor * n).plus(Linear(parts_[i].atom), -factor);
        *this = joined.plus(*of(*rest.parts[0], {}, true), factor);
        return;
    }
}

/// The terms that are multiples of n, and the rest.
std::pair<Linear, Linear> Linear::split(double n, const IndexSpans& spans) const {
    Linear multiple(std::floor(constant_ / n));
    Linear rest(constant_ - n * multiple.constant_);
    for (const Part& part : parts_) {
        const bool goes = std::fmod(part.factor, n) == 0;
        (goes ? multiple : rest)
            .parts_.push_back({part.atom, goes ? part.factor / n : part.factor});
    }
    // A constant stays with what it is added to: (f + 6) / 4.
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
    RuleTree inner = rest.tree(true);
    if (is_operation(*inner, "/")) {
        n *= inner->parts[1]->number;
        inner = inner->parts[0];
    }
    return multiple.plus(Linear(operate_node("/", {inner, number_node(n)})));
}

Linear Linear::modulo(double n, const IndexSpans& spans) const {
    Linear rest = split(n, spans).second;
    if (std::fmod(rest.constant_, n) == 0) rest.constant_ = 0;
    const IndexSpan span = rest.span(spans);
    if (span.first >= 0 && span.last < n) return rest;
    RuleTree inner = rest.tree(true);
    if (is_operation(*inner, "%") && std::fmod(inner->parts[1]->number, n) == 0) {
        inner = inner->parts[0];
    }
    return Linear(operate_node("%", {inner, number_node(n)}));
}

IndexSpan Linear::span(const IndexSpans& spans) const {
    IndexSpan all{constant_, constant_};
    for (const Part& part : parts_) {
        const IndexSpan one = span_of(*part.atom, spans);
        all.first += part.factor * (part.factor > 0 ? one.first : one.last);
        all.last += part.factor * (part.factor > 0 ? one.last : one.first);
    }
    return all;
}

RuleTree Linear::tree(bool whole) const {
    RuleTree sum;
    std::vector<Part> parts = parts_;
    std::ranges::stable_sort(parts, std::greater(),
                             [](const Part& part) { return std::abs(part.factor); });
    for (const bool negative : {false, true}) {
        for (const Part& part : parts) {
            if ((part.factor < 0) != negative) continue;
            // A difference that begins with a number, `3 - k`, needs no sign in front.
            if (negative && sum == nullptr && constant_ > 0) sum = number_node(constant_);
            const RuleTree atom = whole ? part.atom : for_values(part.atom);
            sum = attn::plus(sum, times(atom, std::abs(part.factor)), negative);
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
                          const IndexSpans& spans, bool whole) {
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
    // Added terms stand on the left, subtracted ones on the right.
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
    // x / n < c is x < c * n.
    const bool alone = first.parts().size() == 1 && first.parts()[0].factor == 1 &&
                       second.parts().empty() && (sign == "<" || sign == ">=");
    if (alone && is_operation(*first.parts()[0].atom, "/")) {
        const RuleNode quotient = *first.parts()[0].atom;
        if (const auto above = Linear::of(*quotient.parts[0], spans, true)) {
            const Linear limit(second.constant() * quotient.parts[1]->number);
            return compared_indices(sign, *above, limit, spans, whole);
        }
    }
    // (x + c) % n == r is x % n == r - c.
    const bool is_one = first.parts().size() == 1 && second.parts().empty() && sign == "==";
    if (is_one && is_operation(*first.parts()[0].atom, "%")) {
        const RuleNode rest = *first.parts()[0].atom;
        const double n = rest.parts[1]->number;
        const auto inner = Linear::of(*rest.parts[0], spans, true);
        if (inner && inner->constant() != 0) {
            const Linear moved(second.constant() - inner->constant());
            const Linear bare = inner->plus(Linear(-inner->constant())).modulo(n, spans);
            return compared_indices(sign, bare, moved.modulo(n, spans), spans, whole);
        }
    }
    return operate_node(sign, {first.tree(whole), second.tree(whole)});
}

std::optional<bool> known_truth(const RuleNode& condition) {
    if (condition.kind != Kind::number) return std::nullopt;
    return condition.number != 0;
}

RuleTree opposite_of(const RuleTree& condition) {
    if (const std::optional<bool> known = known_truth(*condition))
        return number_node(*known ? 0 : 1);
    if (condition->kind == Kind::operate && condition->word == "not") return condition->parts[0];
    // Not so for numbers: nan is neither below 0 nor above.
    if (condition->kind == Kind::operate && is_comparison(condition->word) && counts(*condition)) {
        return operate_node(opposite(condition->word), condition->parts);
    }
    return operate_node("not", {condition});
}

RuleTree substituted(const RuleTree& tree, const std::map<std::string, RuleTree>& by,
                     const IndexSpans& spans, bool whole) {
    if (tree->kind == Kind::name) {
        const auto found = by.find(tree->word);
        if (found == by.end()) return tree;
        return whole ? found->second : for_values(found->second);
    }
    if (tree->parts.empty()) return tree;
    RuleNode node = *tree;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const bool is_range = node.kind == Kind::reduce && i + 1 < node.parts.size();
        const bool is_index = whole || node.kind == Kind::cell || is_range;
        if (node.kind == Kind::reduce && !is_range && by.contains(node.index)) {
            auto others = by;
            others.erase(node.index);
            node.parts[i] = substituted(node.parts[i], others, spans, is_index);
            continue;
        }
        node.parts[i] = substituted(node.parts[i], by, spans, is_index);
        if (!is_index || node.parts[i]->parts.empty()) continue;
        if (const auto linear = Linear::of(*node.parts[i], spans, true)) {
            node.parts[i] = linear->tree(true);
        }
    }
    if (node.kind == Kind::operate && node.parts.size() == 2) {
        const auto left = Linear::of(*node.parts[0], spans, whole);
        const auto right = Linear::of(*node.parts[1], spans, whole);
        if (is_comparison(node.word) && left && right) {
            return compared_indices(node.word, *left, *right, spans, whole);
        }
        const bool adds = node.word == "+" || node.word == "-" || node.word == "%";
        const bool named = left && right && !(left->parts().empty() && right->parts().empty());
        if (named && adds) {
            if (const auto all = Linear::of(node, spans, whole)) return all->tree(whole);
        }
        if (node.word == "and" || node.word == "or") return joined(std::move(node));
    }
    if (node.kind == Kind::operate && node.word == "not") return opposite_of(node.parts[0]);
    if (node.kind == Kind::choose) {
        if (const auto known = known_truth(*node.parts[0])) return node.parts[*known ? 1 : 2];
    }
    return tree_of(std::move(node));
}

}  // namespace attn
