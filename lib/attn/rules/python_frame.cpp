#include "attn/rules/python_frame.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "attn/rules/arithmetic.hpp"
#include "attn/rules/rule.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;
using Whole = std::int64_t;

/// Numbers of indices: a product of two of them is a whole number still.
constexpr Whole largest = Whole{1} << 31;

std::optional<Whole> if_small(Whole number) {
    return std::abs(number) <= largest ? std::optional(number) : std::nullopt;
}

/// An index expression at one place, whose indices are the lengths of `at`.
std::optional<Whole> whole(const RuleNode& node, const Frame& at) {
    if (node.kind == Kind::number) return whole_number(node);
    if (node.kind == Kind::name) {
        const std::size_t place = place_of(at, node.word);
        return place < at.size() ? std::optional(at[place].length) : std::nullopt;
    }
    if (node.kind != Kind::operate) return std::nullopt;
    const std::optional<Whole> a = whole(*node.parts[0], at);
    const std::optional<Whole> b = node.parts.size() > 1 ? whole(*node.parts[1], at) : 0;
    if (!a || !b) return std::nullopt;
    if (node.parts.size() == 1) return node.word == "-" ? std::optional(-*a) : std::nullopt;
    switch (node.word.front()) {
        case '+':
            return if_small(*a + *b);
        case '-':
            return if_small(*a - *b);
        case '*':
            return if_small(*a * *b);
        default:
            break;
    }
    if (*b == 0 || (node.word != "/" && node.word != "%")) return std::nullopt;
    const Whole quotient = rule_arithmetic::floor_divided(*a, *b);
    return node.word == "/" ? quotient : *a - quotient * *b;
}

/// Whether something holds of an index expression at every place, of which there are not too many.
template <class Holds>
bool at_every_place(const RuleNode& node, const Frame& indices, const Holds& holds) {
    constexpr Whole most_places = 1 << 16;
    Whole places = 1;
    for (const Dimension& each : indices) places *= each.length;
    if (places > most_places) return false;
    for (Whole place = 0; place < places; ++place) {
        Frame at = indices;
        Whole rest = place;
        for (Dimension& each : at) {
            each.length = rest % each.length;
            rest /= indices[place_of(indices, each.index)].length;
        }
        const std::optional<Whole> number = whole(node, at);
        if (!number || !holds(at, *number)) return false;
    }
    return true;
}

/// How tightly an operator holds what it stands between.
Binds binds_of(const RuleNode& node) {
    if (node.kind != Kind::operate) return Binds::single;
    if (node.parts.size() == 1) return Binds::negated;
    if (node.word == "or") return Binds::either;
    if (node.word == "and") return Binds::both;
    if (node.word == "+" || node.word == "-") return Binds::added;
    if (node.word == "^") return Binds::raised;
    return node.word == "*" || node.word == "/" || node.word == "%" ? Binds::multiplied
                                                                    : Binds::compared;
}

}  // namespace

std::optional<std::int64_t> whole_number(const RuleNode& node) {
    const bool is_whole = node.kind == Kind::number && node.number == std::floor(node.number);
    if (!is_whole || std::abs(node.number) > static_cast<double>(largest)) return std::nullopt;
    return static_cast<Whole>(node.number);
}

std::size_t place_of(const Frame& frame, const std::string& index) {
    return static_cast<std::size_t>(std::ranges::find(frame, index, &Dimension::index) -
                                    frame.begin());
}

Frame indices_in(const RuleNode& node, const Frame& frame) {
    Frame found;
    for (const Dimension& each : frame) {
        if (holds_index(node, each.index)) found.push_back(each);
    }
    return found;
}

std::optional<Affine> affine(const RuleNode& node, const Frame& frame) {
    const Frame indices = indices_in(node, frame);
    if (indices.empty() || indices.size() > 2) return std::nullopt;
    Frame at = indices;
    for (Dimension& each : at) each.length = 0;
    const std::optional<Whole> first = whole(node, at);
    if (!first) return std::nullopt;
    Affine found{*first};
    for (std::size_t i = 0; i < at.size(); ++i) {
        at[i].length = 1;
        const Whole next = whole(node, at).value_or(*first);
        at[i].length = 0;
        found.terms.push_back({at[i].index, next - *first, indices[i].length});
    }
    // Where that holds at every place, it is so.
    const bool holds = at_every_place(node, indices, [&](const Frame& place, Whole number) {
        Whole expected = *first;
        for (std::size_t i = 0; i < place.size(); ++i) {
            expected += found.terms[i].stride * place[i].length;
        }
        return number == expected;
    });
    if (!holds) return std::nullopt;
    std::ranges::stable_sort(found.terms, std::ranges::greater(), &Affine::Term::stride);
    return found;
}

bool stays_within(const RuleNode& node, const Frame& frame, std::int64_t length) {
    return at_every_place(node, indices_in(node, frame), [&](const Frame&, Whole number) {
        return number >= 0 && number < length;
    });
}

Written constant(const RuleNode& node) {
    if (node.kind == Kind::number) {
        const double number = node.number;
        const std::string text = std::isnan(number)   ? "float(\"nan\")"
                                 : std::isinf(number) ? "float(\"inf\")"
                                                      : fmt::format("{}", std::abs(number));
        const bool is_negative = std::signbit(number) && !std::isnan(number);
        return Text{(is_negative ? "-" : "") + text, is_negative ? Binds::negated : Binds::single};
    }
    const bool is_function = node.word == "sqrt" || node.word == "exp" || node.word == "log";
    if (node.kind == Kind::call && is_function) {
        const Written part = constant(*node.parts[0]);
        if (part) return Text{"math." + node.word + "(" + part->text + ")"};
    }
    if (node.kind != Kind::operate || node.word == "not") return std::nullopt;
    std::vector<Text> parts;
    for (const RuleTree& each : node.parts) {
        const Written part = constant(*each);
        if (!part) return std::nullopt;
        parts.push_back(*part);
    }
    return operated(node, parts, false);
}

Text operated(const RuleNode& node, const std::vector<Text>& parts, bool in_index) {
    const Binds binds = binds_of(node);
    if (parts.size() == 1) {
        return {(node.word == "not" ? "~" : "-") + parts[0].held(binds), binds, parts[0].along};
    }
    const std::string sign = node.word == "and"             ? "&"
                             : node.word == "or"            ? "|"
                             : node.word == "^"             ? "**"
                             : node.word == "/" && in_index ? "//"
                                                            : node.word;
    const auto next = static_cast<Binds>(static_cast<int>(binds) + 1);
    const bool chains = binds != Binds::raised && binds != Binds::compared;
    return {parts[0].held(chains ? binds : next) + " " + sign + " " +
                parts[1].held(binds == Binds::raised ? Binds::negated : next),
            binds, parts[0].along | parts[1].along};
}

Text laid(const std::string& text, const Frame& frame, std::uint64_t along) {
    std::vector<std::string> places;
    for (std::size_t place = 0; place < frame.size(); ++place) {
        const bool has = (along & bit(place)) != 0;
        if (has || !places.empty()) places.emplace_back(has ? ":" : "None");
    }
    return {text + taken(places), Binds::single, along};
}

std::string taken(const std::vector<std::string>& places) {
    const auto is_cut = [](const std::string& place) { return place != ":"; };
    const auto first = std::ranges::find_if(places, is_cut);
    if (first == places.end()) return {};
    const auto end = std::find_if(places.rbegin(), places.rend(), is_cut).base();
    const bool from_end = end == places.end() && first - places.begin() > 1;
    return fmt::format("[{}{}]", from_end ? "..., " : "",
                       fmt::join(from_end ? first : places.begin(), end, ", "));
}

std::string sizes_text(const Frame& frame, std::size_t first) {
    std::string text;
    for (std::size_t place = first; place < frame.size(); ++place) {
        text += (place == first ? "" : ", ") + std::to_string(frame[place].length);
    }
    return text;
}

}  // namespace attn::python
