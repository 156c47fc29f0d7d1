#include "attn/explain/bounds/radius.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attn/core/rules/functions.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/explain/backward/gradient.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Error of a computed function: no libm is off by more than 5 ulp.
constexpr double off = 5;
/// Error of a sum of n numbers, as a multiple of sqrt(n), because errors have both signs. A
/// left-to-right sum of numbers of one sign exceeds it once in ten million.
constexpr double likely = 3;

bool is_any_of(const std::string& word, std::initializer_list<const char*> words) {
    return std::ranges::find(words, word) != words.end();
}

RuleTree plus(const RuleTree& a, const RuleTree& b) {
    if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
    return operate_node("+", {a, b});
}

RuleTree times(double factor, const RuleTree& tree) {
    if (tree == nullptr || factor == 0) return nullptr;
    return factor == 1 ? tree : operate_node("*", {number_node(factor), tree});
}

RuleTree zero_for_none(const RuleTree& tree) { return tree ? tree : number_node(0); }

/// Returns the absolute value. For a product it is the product of absolute values, so that a sum of
/// such products is a product of matrices.
RuleTree magnitude(const RuleTree& node) {
    const std::string& word = node->word;
    if (node->kind == Kind::number) return number_node(std::abs(node->number));
    if (node->kind == Kind::choose) {
        return choose_node(node->parts[0], magnitude(node->parts[1]), magnitude(node->parts[2]));
    }
    if (node->kind == Kind::operate && node->parts.size() == 1) return magnitude(node->parts[0]);
    if (is_operation(*node, "*") || is_operation(*node, "/")) {
        return operate_node(word, {magnitude(node->parts[0]), magnitude(node->parts[1])});
    }
    const bool is_positive =
        node->kind == Kind::call && is_any_of(word, {"exp", "sqrt", "abs", "sigmoid", "relu"});
    return is_positive ? node : call_node("abs", {node});
}

/// Computes the radius of each node of a rule; nullptr means 0.
class Radius {
public:
    Radius(const Rule& rule, const Outline& result_outline, const Rounding& rounding,
           const std::function<bool(const std::string&)>& is_exact)
        : root_(rule.value), rounding_(rounding), is_exact_(is_exact) {
        std::vector<RuleTree> own;
        for (const std::string& index : rule.indices) own.push_back(name_node(index));
        result_ = tree_of({.kind = Kind::cell,
                           .word = rule.step,
                           .parts = std::move(own),
                           .outline = std::make_shared<const Outline>(result_outline)});
    }

    RuleTree tree() { return of(root_); }

private:
    /// Returns the node, or the cell of the result if it is the whole rule.
    const RuleTree& value_of(const RuleTree& node) const { return node == root_ ? result_ : node; }

    RuleTree of(const RuleTree& node) {
        return plus(handed_on(node), rounded(node, rounding_.unit));
    }

    /// Returns the rounding error of the node itself, for a result stored with that unit.
    RuleTree rounded(const RuleTree& node, double unit) {
        const std::string& word = node->word;
        const auto of_value = [&](double units) { return times(units, magnitude(value_of(node))); };
        if (node->type != RuleType::number) return nullptr;
        if (node->kind == Kind::number) {
            const double lost = lost_where_stored(node->number, rounding_);
            return lost == 0 ? nullptr : number_node(lost);
        }
        if (node->kind == Kind::reduce) {
            return is_any_of(word, {"sum", "mean"}) ? of_value(unit) : nullptr;
        }
        const double functions = unit + off * rounding_.sums;
        if (node->kind == Kind::operate) {
            if (node->parts.size() == 1 || word == "//") return nullptr;
            const bool is_power = word == "^" && !is_number(*node->parts[1], 2);
            return plus(of_value(is_power ? functions : unit), times(unit, written_out(node)));
        }
        if (node->kind != Kind::call) return nullptr;
        if (word == "exp") {
            // exp2(x log2(e)) rounds its argument.
            const RuleTree argument = times(rounding_.sums, magnitude(node->parts[0]));
            return exponential(node, plus(number_node(functions), argument));
        }
        if (word == "half") return of_value(std::ldexp(1.0, -11));
        if (is_any_of(word, {"abs", "relu", "min", "max", "floor", "stop"})) return nullptr;
        // 1 / (1 + exp(-x)) stores three results.
        const bool is_computed_step = is_any_of(word, {"sigmoid", "tanh"});
        return of_value(is_computed_step ? functions + 2 * unit : functions);
    }

    /// Returns the rounding error of a difference times a factor if it is expanded, (x - mean) /
    /// root as x / root - mean / root; nullptr for other nodes.
    static RuleTree written_out(const RuleTree& node) {
        if (!is_operation(*node, "*") && !is_operation(*node, "/")) return nullptr;
        RuleTree all;
        for (std::size_t at = 0; at < (node->word == "*" ? 2 : 1); ++at) {
            const RuleNode& part = *node->parts[at];
            if (!is_operation(part, "-") || part.parts.size() != 2) continue;
            std::vector<RuleTree> sides{magnitude(node->parts[0]), magnitude(node->parts[1])};
            sides[at] = plus(magnitude(part.parts[0]), magnitude(part.parts[1]));
            all = plus(all, operate_node(node->word, sides));
        }
        return all;
    }

    /// Returns the error propagated from the operands.
    RuleTree handed_on(const RuleTree& node) {
        switch (node->kind) {
            case Kind::cell: {
                if (node->type != RuleType::number || is_exact_(node->word)) return nullptr;
                RuleNode radius = *node;
                radius.word = radius_name(node->word);
                return tree_of(std::move(radius));
            }
            case Kind::choose: {
                const RuleTree yes = of(node->parts[1]), no = of(node->parts[2]);
                if (yes == nullptr && no == nullptr) return nullptr;
                return choose_node(node->parts[0], zero_for_none(yes), zero_for_none(no));
            }
            case Kind::reduce:
                return of_reduction(node);
            case Kind::call:
            case Kind::operate:
                return of_function(node);
            default:
                return nullptr;
        }
    }

    RuleTree of_function(const RuleTree& node) {
        const RuleFunction& function = *find_rule_function(node->word, node->parts.size());
        const bool is_number = function.kind == RuleFunction::Kind::called ||
                               function.kind == RuleFunction::Kind::sign;
        RuleTree all;
        for (std::size_t i = 0; is_number && i < node->parts.size(); ++i) {
            const RuleTree& part = node->parts[i];
            const RuleTree radius = of(part);
            if (radius == nullptr) continue;
            if (node->word == "floor") {
                const auto beyond = [&](const char* sign) {
                    return call_node("floor", {operate_node(sign, {part, radius})});
                };
                return operate_node("-", {beyond("+"), beyond("-")});
            }
            if (node->word == "exp") return exponential(node, radius);
            const bool is_steep = !is_any_of(node->word, {"abs", "relu", "min", "max", "half"});
            RuleTree slope;
            for (const char* term : i == 0 ? function.by_x : function.by_y) {
                if (!is_steep) break;
                slope = plus(slope, magnitude(derivative_term(term, node, value_of(node))));
            }
            const bool is_one = slope == nullptr || attn::is_number(*slope, 1);
            all = plus(all, is_one ? radius : operate_node("*", {slope, radius}));
        }
        return all;
    }

    /// Returns exp(x + off) - exp(x), without an infinite error for exp(-inf), which is exactly 0.
    /// A small error is about exp(off) - 1, relative to exp(x).
    RuleTree exponential(const RuleTree& node, const RuleTree& off_x) const {
        const RuleTree switched_off_flag = call_node("min", {off_x, number_node(600)});
        const RuleTree grown =
            operate_node("-", {call_node("exp", {switched_off_flag}), number_node(1)});
        return operate_node("*", {value_of(node), rounding_.is_half ? grown : switched_off_flag});
    }

    /// True if a sum of 16-bit numbers may run in 16 bits: PyTorch 1.13 does so for small matrix
    /// products.
    bool adds_in_16_bits(const RuleNode& sum) const {
        constexpr double small = 4096;
        const Shape& shape = result_->outline->shape;
        if (!rounding_.is_half || shape.size() < 2 || !is_product(sum)) return false;
        const RuleNode &first = *sum.parts[0], &end = *sum.parts[1];
        if (first.kind != Kind::number || end.kind != Kind::number) return false;
        const auto cells = static_cast<double>(shape.back() * shape[shape.size() - 2]);
        return (end.number - first.number) * cells <= small;
    }

    /// Reduces other terms. A sum over sums of products is split into several sums of products,
    /// each of which is computed as a matrix product.
    static RuleTree along(const RuleNode& node, const std::string& word, const RuleTree& term) {
        if (term == nullptr) return nullptr;
        const auto is_multiplied = [](const RuleTree& part) { return is_operation(*part, "*"); };
        if (word != "max" && is_operation(*term, "+") &&
            std::ranges::all_of(term->parts, is_multiplied)) {
            return plus(along(node, word, term->parts[0]), along(node, word, term->parts[1]));
        }
        return reduce_node(word, node.index, node.parts[0], node.parts[1], term);
    }

    RuleTree of_reduction(const RuleTree& node) {
        const RuleTree& first = node->parts[0];
        const RuleTree& end = node->parts[1];
        const RuleTree& body = node->parts[2];
        const auto along = [&](const std::string& word, const RuleTree& each) {
            return Radius::along(*node, word, each);
        };
        if (node->word == "max" || node->word == "min") return along("max", of(body));
        if (node->word == "argmax") return nullptr;
        if (node->word == "prod") {
            // Relative errors of factors are summed.
            const RuleTree of_one = plus(of(body), rounded(body, rounding_.sums));
            const RuleTree relative =
                along("sum", of_one ? operate_node("/", {of_one, magnitude(body)}) : nullptr);
            return relative ? operate_node("*", {magnitude(value_of(node)), relative}) : nullptr;
        }
        // A term is computed in the type of the sum: a product counts as one more addition.
        const bool is_operation = body->kind == Kind::operate;
        const double own = is_operation ? 1 : 0;
        const RuleTree within =
            is_operation ? handed_on(body) : plus(handed_on(body), rounded(body, rounding_.sums));
        const RuleTree terms = along(node->word, magnitude(body));
        const RuleTree moved = along(node->word, within);
        const double sums = adds_in_16_bits(*node) ? rounding_.unit : rounding_.sums;
        // PyTorch 1.13 stores the running means of a norm: each is rounded relative to the mean so
        // far.
        const bool is_running = rounding_.is_half && node->word == "mean";
        RuleTree spread;
        if (first->kind == Kind::number && end->kind == Kind::number) {
            const double count = std::max(end->number - first->number, 0.0);
            spread = times((std::min(count, likely * std::sqrt(count)) + own) * sums, terms);
        } else {
            const RuleTree count =
                call_node("max", {operate_node("-", {end, first}), number_node(0)});
            const RuleTree most =
                operate_node("*", {number_node(likely), call_node("sqrt", {count})});
            const RuleTree units =
                operate_node("+", {call_node("min", {count, most}), number_node(own)});
            spread = operate_node("*", {times(sums, units), terms});
        }
        if (is_running) spread = plus(spread, times(likely * rounding_.unit, terms));
        return plus(spread, moved);
    }

    const RuleTree root_;
    const Rounding& rounding_;
    const std::function<bool(const std::string&)>& is_exact_;
    RuleTree result_;  ///< a cell of the rule's result
};

}  // namespace

Rounding rounding_of(DType dtype) {
    const double smallest = std::numeric_limits<double>::denorm_min();
    switch (dtype) {
        case DType::float16:
        case DType::bfloat16:
            return rounding_of_half(epsilon(dtype));
        case DType::float32:
            return {std::ldexp(1.0, -24), std::ldexp(1.0, -149), std::ldexp(1.0, -24),
                    std::numeric_limits<float>::max()};
        case DType::float64:
            // The exact numbers have the same number of digits.
            return {std::ldexp(1.0, -52), smallest, std::ldexp(1.0, -52),
                    std::numeric_limits<double>::max()};
        default:
            throw ConfigError("only numbers of a floating type are rounded, not " +
                              std::string(dtype_name(dtype)));
    }
}

Rounding rounding_of_half(double epsilon) {
    if (!(epsilon > 0 && epsilon < 1)) {
        throw ConfigError("the epsilon of a 16-bit type is between 0 and 1, not " + brief(epsilon));
    }
    const bool is_float16 = epsilon < 0x1p-8;
    return {epsilon / 2, std::ldexp(1.0, is_float16 ? -25 : -134), std::ldexp(1.0, -24),
            is_float16 ? 65504.0 : 0x1.FEp127, true};
}

double lost_where_stored(double number, const Rounding& rounding) {
    if (number == 0 || !std::isfinite(number)) return 0;
    const double last = std::ldexp(2 * rounding.unit, std::ilogb(number));
    const double digits = number / last, kept = std::round(digits);
    return digits == kept ? 0 : std::abs(number - kept * last);
}

bool holds(const Rounding& rounding, const Tensor& tensor) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (lost_where_stored(tensor.at(i), rounding) != 0) return false;
    }
    return tensor.is_floating();
}

std::string radius_name(const std::string& tensor) { return "radius of " + tensor; }

Rule radius_of(const Rule& rule, const Outline& result_outline, const Rounding& rounding,
               const std::function<bool(const std::string& tensor)>& is_exact) {
    require_completed(*rule.value);
    if (!is_exact) throw ConfigError("a radius needs the set of exact tensors");
    RuleTree tree = Radius(rule, result_outline, rounding, is_exact).tree();
    tree = tree ? plus(tree, number_node(rounding.least)) : number_node(0);
    return {"", radius_name(rule.step), rule.indices, std::move(tree)};
}

}  // namespace attn
