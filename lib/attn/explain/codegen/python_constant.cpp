#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attn/core/rules/rule.hpp"
#include "attn/explain/codegen/python_frame.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;

/// Limit for trying places one by one.
constexpr std::int64_t most_places = 100'000;

/// Returns the value of an expression at a place of the frame; nullopt if it reads a tensor.
std::optional<double> value_at(const RuleNode& node, const Frame& frame,
                               const std::vector<std::int64_t>& places) {
    const auto part = [&](std::size_t i) { return value_at(*node.parts[i], frame, places); };
    switch (node.kind) {
        case Kind::number:
            return node.number;
        case Kind::name: {
            const std::size_t place = place_of(frame, node.word);
            if (place == frame.size()) return std::nullopt;
            return static_cast<double>(places[place]);
        }
        case Kind::choose: {
            const std::optional<double> holds = part(0);
            return holds ? part(*holds != 0 ? 1 : 2) : std::nullopt;
        }
        case Kind::call:
        case Kind::operate: {
            const std::optional<double> x = part(0);
            const std::optional<double> y = node.parts.size() > 1 ? part(1) : 0;
            if (!x || !y) return std::nullopt;
            return find_rule_function(node.word, node.parts.size())->value(*x, *y);
        }
        default:
            return std::nullopt;
    }
}

Text literal(double number) {
    const std::string text = std::isnan(number)   ? "float(\"nan\")"
                             : std::isinf(number) ? "float(\"inf\")"
                                                  : fmt::format("{}", std::abs(number));
    const bool is_negative = std::signbit(number) && !std::isnan(number);
    return {(is_negative ? "-" : "") + text, is_negative ? Binds::negated : Binds::single, 0, true};
}

}  // namespace

std::optional<double> number_of(const RuleNode& node) { return value_at(node, {}, {}); }

std::optional<IndexSpan> bounds_of(const RuleNode& node, const Frame& frame) {
    const Frame own = indices_in(node, frame);
    std::int64_t count = 1;
    for (const Dimension& each : own) count = std::min(count * each.length, most_places + 1);
    if (count > most_places) return span_of(node, spans_of(frame));
    std::optional<IndexSpan> span;
    for (std::int64_t at = 0; at < count; ++at) {
        std::vector<std::int64_t> places;
        for (std::int64_t rest = at; const Dimension& each : own) {
            places.push_back(rest % each.length);
            rest /= each.length;
        }
        const std::optional<double> value = value_at(node, own, places);
        if (!value) return std::nullopt;
        if (!span) span = {*value, *value};
        span = {std::min(span->first, *value), std::max(span->last, *value)};
    }
    return span;
}

Written constant(const RuleNode& node) {
    const std::optional<double> value = number_of(node);
    if (!value || node.type == RuleType::truth) return std::nullopt;
    // Python has no roots of negative numbers; larger integers are not printed exactly.
    constexpr double most = 1e15;
    const bool is_plain = std::isfinite(*value) && std::abs(*value) < most;
    const bool is_function = node.word == "sqrt" || node.word == "exp" || node.word == "log";
    if (is_plain && node.kind == Kind::call && is_function) {
        return Text{"math." + node.word + "(" + constant(*node.parts[0])->text + ")", Binds::single,
                    0, true};
    }
    const bool is_one = node.kind != Kind::operate || node.type == RuleType::whole;
    if (!is_plain || is_one) return literal(*value);
    std::vector<Text> parts;
    for (const RuleTree& each : node.parts) parts.push_back(*constant(*each));
    return operated(node, parts);
}

}  // namespace attn::python
