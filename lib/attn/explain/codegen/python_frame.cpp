#include "attn/explain/codegen/python_frame.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "attn/core/rules/rule.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;
using Whole = std::int64_t;

/// The largest integer that may count cells.
constexpr Whole largest = Whole{1} << 31;

/// Returns the precedence of an operator.
Binds binds_of(const RuleNode& node) {
    if (node.kind != Kind::operate) return Binds::single;
    if (node.parts.size() == 1) return Binds::negated;
    if (node.word == "or") return Binds::either;
    if (node.word == "and") return Binds::both;
    if (node.word == "+" || node.word == "-") return Binds::added;
    if (node.word == "^") return Binds::raised;
    const bool multiplies =
        node.word == "*" || node.word == "/" || node.word == "//" || node.word == "%";
    return multiplies ? Binds::multiplied : Binds::compared;
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

IndexSpans spans_of(const Frame& frame) {
    IndexSpans spans;
    for (const Dimension& each : frame) {
        spans[each.index] = {0, static_cast<double>(each.length - 1)};
    }
    return spans;
}

std::optional<Affine> affine(const RuleNode& node, const Frame& frame) {
    const std::optional<Linear> counts = Linear::of(node, spans_of(frame));
    if (!counts || counts->parts().empty() || counts->parts().size() > 2) return std::nullopt;
    Affine found{static_cast<Whole>(counts->constant())};
    for (const Linear::Part& part : counts->parts()) {
        const std::size_t place = place_of(frame, part.atom->word);
        if (part.atom->kind != Kind::name || place == frame.size()) return std::nullopt;
        found.terms.push_back(
            {part.atom->word, static_cast<Whole>(part.factor), frame[place].length});
    }
    std::ranges::stable_sort(found.terms, std::ranges::greater(), &Affine::Term::stride);
    return found;
}

bool stays_within(const RuleNode& node, const Frame& frame, std::int64_t length) {
    const std::optional<IndexSpan> span = bounds_of(node, frame);
    return span && span->first >= 0 && span->last < static_cast<double>(length);
}

Text operated(const RuleNode& node, const std::vector<Text>& parts) {
    const Binds binds = binds_of(node);
    const bool is_number = std::ranges::all_of(parts, &Text::is_number);
    const bool may_be_number = std::ranges::all_of(
        parts, [](const Text& part) { return part.is_number || part.may_be_number; });
    if (is_number && node.word == "not")
        return {"(not " + parts[0].text + ")", Binds::single, 0, true};
    if (parts.size() == 1) {
        return {(node.word == "not" ? "~" : "-") + parts[0].in_parentheses(binds), binds,
                parts[0].along, is_number, may_be_number};
    }
    const std::string sign = node.word == "and"  ? "&"
                             : node.word == "or" ? "|"
                             : node.word == "^"  ? "**"
                                                 : node.word;
    const auto next = static_cast<Binds>(static_cast<int>(binds) + 1);
    const bool chains = binds != Binds::raised && binds != Binds::compared;
    return {parts[0].in_parentheses(chains ? binds : next) + " " + sign + " " +
                parts[1].in_parentheses(binds == Binds::raised ? Binds::negated : next),
            binds, parts[0].along | parts[1].along, is_number, may_be_number};
}

Text laid(const std::string& text, const Frame& frame, std::uint64_t along) {
    std::vector<std::string> places;
    for (std::size_t place = 0; place < frame.size(); ++place) {
        const bool has = (along & bit(place)) != 0;
        if (has || !places.empty()) places.emplace_back(has ? ":" : "None");
    }
    return {text + subscript(places), Binds::single, along};
}

std::string subscript(const std::vector<std::string>& places) {
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
