#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/explain/codegen/python_writer.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;
using Whole = std::int64_t;

}  // namespace

Written Writer::reduction(const RuleNode& node, const Frame& frame) {
    if (node.parts.size() != 3) throw ConfigError("a sum for Python needs its range");
    const RuleTree& body = node.parts.back();
    const Range range = range_of(node, frame);
    if (range.length == 0 || !holds_index(*body, node.index)) {
        const Written same = written(*of_the_same(node, range), frame);
        return same && same->is_number ? array_of(*same) : same;
    }
    const RuleTree own = counted_from(node, range.first, frame);
    const Dimension along{own->index, range.length};
    const RuleNode& terms = *own->parts.back();
    if (range.is_all && !needs_type_ && node.word == "sum" && is_operation(terms, "*")) {
        for (const std::size_t left : {0, 1}) {
            Written product = matrices(*terms.parts[left], *terms.parts[1 - left], along, frame);
            if (product) return product;
        }
    }
    const Effort most = effort_;
    for (effort_ = in_stored_order; effort_ <= most; effort_ = static_cast<Effort>(effort_ + 1)) {
        if (Written line = reduced(*own, along, frame, range.is_all)) {
            effort_ = most;
            if (node.word == "argmax" && range.first != 0) {
                line->text =
                    line->in_parentheses(Binds::added) + " + " + std::to_string(range.first);
                line->binds = Binds::added;
            }
            return line;
        }
    }
    effort_ = most;
    return std::nullopt;
}

Writer::Range Writer::range_of(const RuleNode& node, const Frame& frame) const {
    std::optional<IndexSpan> first = bounds_in_loop(*node.parts[0], frame);
    std::optional<IndexSpan> end = bounds_in_loop(*node.parts[1], frame);
    const bool is_known = first && end;
    // A range that depends on a tensor must stay within the axes that it indexes.
    const std::vector<RuleAxis> axes = axes_of(*node.parts.back(), node.index);
    if (!first && !axes.empty()) first = {0, 0};
    if (!end && !axes.empty()) {
        const auto length = static_cast<double>(axes.front().length());
        end = {length, length};
    }
    constexpr double most = 1e9;
    if (!first || !end || !(first->first >= -most && end->last <= most)) {
        throw ConfigError("Python needs the range of " + node.index + " in " +
                          expression_text(node) + ": no index and no number determines it");
    }
    const bool is_all = is_known && first->first == first->last && end->first == end->last;
    return {static_cast<Whole>(first->first),
            static_cast<Whole>(std::max(end->last - first->first, 0.0)), is_all,
            is_known && first->last < end->first};
}

Text Writer::array_of(const Text& number) const {
    const std::string type = has_type(false) ? of_type() : "";
    return Text{(torch_ ? "torch.tensor(" : "np.array(") + number.text + type + ")"};
}

RuleTree Writer::of_the_same(const RuleNode& node, const Range& range) {
    const RuleTree none = number_node(node.word == "mean" ? std::nan("") : start_of(node.word));
    if (range.length == 0) return none;
    const RuleTree& body = node.parts.back();
    const RuleTree count = operate_node("-", {node.parts[1], node.parts[0]});
    const RuleTree value = node.word == "sum"      ? operate_node("*", {count, body})
                           : node.word == "prod"   ? operate_node("^", {body, count})
                           : node.word == "argmax" ? node.parts[0]
                                                   : body;
    if (range.is_some) return value;
    return choose_node(operate_node("<", {node.parts[0], node.parts[1]}), value, none);
}

RuleTree Writer::counted_from(const RuleNode& node, Whole first, const Frame& frame) {
    RuleNode other = node;
    while (place_of(frame, other.index) < frame.size()) other.index += "_";
    const RuleTree own = name_node(other.index);
    const RuleTree index =
        first == 0 ? own : operate_node("+", {own, number_node(static_cast<double>(first))});
    other.parts.back() = changed(other.parts.back(), [&](const RuleNode& each) -> RuleTree {
        return each.kind == Kind::name && each.word == node.index ? index : nullptr;
    });
    // Conditions for `first <= index < end`, if they are not always true.
    std::vector<RuleTree> limits;
    if (!number_of(*node.parts[0])) {
        limits.push_back(operate_node(">=", {index, node.parts[0]}));
    }
    if (!number_of(*node.parts[1])) {
        limits.push_back(operate_node("<", {index, node.parts[1]}));
    }
    other.parts.erase(other.parts.begin(), other.parts.begin() + 2);
    if (limits.size() == 2) limits = {operate_node("and", limits)};
    other.parts.insert(other.parts.begin(), limits.begin(), limits.end());
    return tree_of(std::move(other));
}

Written Writer::reduced(const RuleNode& node, const Dimension& along, const Frame& frame,
                        bool is_all) {
    const auto instead_of = [&](std::size_t place) -> Written {
        for (const auto& trees : {node.parts, requested_}) {
            for (const RuleTree& each : trees) {
                if (holds_index(*each, frame[place].index)) return std::nullopt;
            }
        }
        Frame inside = frame;
        inside[place] = along;
        Written line = over(node, inside, place, true, is_all);
        if (line && frame[place].length == 1) line->along |= bit(place);
        return line;
    };
    if (!frame.empty()) {
        if (Written line = instead_of(frame.size() - 1)) return line;
    }
    for (std::size_t place = frame.size() + 1; place-- > 0;) {
        Frame inside = frame;
        inside.insert(inside.begin() + static_cast<std::ptrdiff_t>(place), along);
        if (Written line = over(node, inside, place, false, is_all)) return line;
    }
    for (std::size_t place = frame.size(); place-- > 0;) {
        if (Written line = instead_of(place)) return line;
    }
    return std::nullopt;
}

Written Writer::over(const RuleNode& node, const Frame& inside, std::size_t place, bool keeps,
                     bool is_all) {
    const RuleNode& body = *node.parts.back();
    ++sums_;
    Written text = is_all ? written(body, inside) : asking(node.parts[0], body, inside);
    --sums_;
    if (!text) return std::nullopt;
    const bool adds = node.word == "sum" || node.word == "mean";
    const std::string last = dimension("", place, inside.size()) + (!keeps   ? ")"
                                                                    : torch_ ? ", keepdim=True)"
                                                                             : ", keepdims=True)");
    std::string divisor;
    if (!is_all) {
        const Written within = written(*node.parts[0], inside, true);
        if (!within) return std::nullopt;
        if (within->is_number) return array_of(*constant(*of_the_same(node, {})));
        const std::string nothing = adds                  ? "0.0"
                                    : node.word == "prod" ? "1.0"
                                    : node.word == "min"  ? "float(\"inf\")"
                                                          : "-float(\"inf\")";
        is_loose_ = is_loose_ || text->is_number;
        text = Text{module_ + "where(" + within->text + ", " + text->text + ", " + nothing + ")",
                    Binds::single, text->along | within->along};
        if (node.word == "mean") divisor = " / " + within->in_parentheses() + ".sum(" + last;
    }
    if ((text->along & bit(place)) == 0) text = filling(body, inside);
    if (!text) return std::nullopt;
    const bool is_largest = torch_ && (node.word == "max" || node.word == "min");
    const std::string method = !divisor.empty() ? "sum" : (is_largest ? "a" : "") + node.word;
    const std::uint64_t above = text->along >> (place + 1);
    return Text{text->in_parentheses() + "." + method + "(" + last + divisor,
                divisor.empty() ? Binds::single : Binds::multiplied,
                (text->along & (bit(place) - 1)) | above << (keeps ? place + 1 : place)};
}

Written Writer::matrices(const RuleNode& a, const RuleNode& b, const Dimension& along,
                         const Frame& frame) {
    if (frame.size() < 2) return std::nullopt;
    const std::size_t row = frame.size() - 2;
    const std::size_t column = frame.size() - 1;
    if (holds_index(a, frame[column].index) || holds_index(b, frame[row].index)) return {};
    Frame of_a = frame;
    of_a[column] = along;
    Frame of_b = frame;
    of_b[row] = along;
    const Written left = written(a, of_a);
    const Written right = written(b, of_b);
    const std::uint64_t last = bit(row) | bit(column);
    if (!left || !right || (left->along & right->along & last) != last) return std::nullopt;
    return Text{
        left->in_parentheses(Binds::multiplied) + " @ " + right->in_parentheses(Binds::negated),
        Binds::multiplied, left->along | right->along};
}

}  // namespace attn::python
