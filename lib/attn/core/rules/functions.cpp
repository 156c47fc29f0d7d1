#include "attn/core/rules/functions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {
namespace {

using Use = RuleFunction::Kind;
using Terms = std::vector<const char*>;

template <class T, class How>
void each(const T* x, const T* y, bool has_one_y, T* values, std::size_t count) {
    if (has_one_y) {
        const T one = *y;
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(How{}(x[i], one));
    } else {
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(How{}(x[i], y[i]));
    }
}

template <class How>
RuleFunction entry(const char* name, std::size_t arity, Use kind, How, Terms by_x = {},
                   Terms by_y = {}, const char* torch = nullptr, const char* numpy = nullptr) {
    return {name,
            arity,
            kind,
            std::move(by_x),
            std::move(by_y),
            torch,
            numpy,
            [](double x, double y) { return static_cast<double>(How{}(x, y)); },
            each<float, How>,
            each<double, How>};
}

template <class How>
RuleFunction of_one(const char* name, How how, Terms by_x, const char* torch, const char* numpy) {
    return entry(name, 1, Use::called, how, std::move(by_x), {}, torch, numpy);
}

std::vector<RuleFunction> all_functions() {
    const auto larger = [](auto a, auto b) { return a > b || std::isnan(a) ? a : b; };
    const auto smaller = [](auto a, auto b) { return a < b || std::isnan(a) ? a : b; };
    const auto power = [](auto a, auto b) { return b == 2 ? a * a : std::pow(a, b); };
    const auto softplus = [](auto x, auto) {
        return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
    };
    return {
        of_one(
            "exp", [](auto x, auto) { return std::exp(x); }, {"v"}, "torch.exp", "np.exp"),
        of_one(
            "log", [](auto x, auto) { return std::log(x); }, {"1 / x"}, "torch.log", "np.log"),
        of_one(
            "sqrt", [](auto x, auto) { return std::sqrt(x); }, {"1 / (2 * v)"}, "torch.sqrt",
            "np.sqrt"),
        of_one(
            "tanh", [](auto x, auto) { return std::tanh(x); }, {"1 - v ^ 2"}, "torch.tanh",
            "np.tanh"),
        of_one(
            "cos", [](auto x, auto) { return std::cos(x); }, {"-sin(x)"}, "torch.cos", "np.cos"),
        of_one(
            "sin", [](auto x, auto) { return std::sin(x); }, {"cos(x)"}, "torch.sin", "np.sin"),
        of_one(
            "abs", [](auto x, auto) { return std::abs(x); },
            {"if x > 0 then 1 else 0", "-(if x < 0 then 1 else 0)"}, "torch.abs", "np.abs"),
        of_one(
            "sigmoid", [](auto x, auto) { return 1 / (1 + std::exp(-x)); }, {"v * (1 - v)"},
            "torch.sigmoid", "1 / (1 + np.exp(-{}))"),
        of_one(
            "relu", [](auto x, auto) { return x < 0 ? 0 : x; }, {"if x > 0 then 1 else 0"},
            "torch.relu", "np.maximum({}, 0)"),
        of_one(
            "silu", [](auto x, auto) { return x / (1 + std::exp(-x)); },
            {"sigmoid(x) * (1 + x * sigmoid(-x))"}, "torch.nn.functional.silu",
            "{} / (1 + np.exp(-{}))"),
        of_one("softplus", softplus, {"sigmoid(x)"},
               "torch.nn.functional.softplus({}, threshold=40)", "np.logaddexp(0, {})"),
        of_one(
            "logsigmoid",
            [](auto x, auto) { return (x < 0 ? x : 0) - std::log1p(std::exp(-std::abs(x))); },
            {"sigmoid(-x)"}, "torch.nn.functional.logsigmoid", "-np.logaddexp(0, -{})"),
        of_one(
            "elu", [](auto x, auto) { return x > 0 ? x : std::expm1(x); },
            {"if x > 0 then 1 else 0", "if x <= 0 then exp(x) else 0"}, "torch.nn.functional.elu",
            "np.where({} > 0, {}, np.expm1(np.minimum({}, 0)))"),
        of_one(
            "erf", [](auto x, auto) { return std::erf(x); }, {"1.1283791670955126 * exp(-(x ^ 2))"},
            "torch.erf", "np.vectorize(math.erf)({})"),
        of_one(
            "gelu",
            [](auto x, auto) {
                return x * (1 + std::erf(x / std::numbers::sqrt2_v<decltype(x)>)) / 2;
            },
            {"(1 + erf(x / 1.4142135623730951)) / 2", "x * exp(-(x ^ 2) / 2) * 0.3989422804014327"},
            "torch.nn.functional.gelu", "{} * (1 + np.vectorize(math.erf)({} / math.sqrt(2))) / 2"),
        of_one(
            "sign",
            [](auto x, auto) {
                return std::isnan(x) ? x : static_cast<decltype(x)>((x > 0) - (x < 0));
            },
            {}, "torch.sign", "np.sign"),
        of_one(
            "floor", [](auto x, auto) { return std::floor(x); }, {}, "torch.floor", "np.floor"),
        // The gradient is passed on unrounded, although PyTorch rounds it, too.
        of_one(
            "half", [](auto x, auto) { return nearest(static_cast<float>(x), DType::float16); },
            {"1"}, nullptr, nullptr),
        // Its argument counts as a constant in gradients.
        of_one(
            "stop", [](auto x, auto) { return x; }, {}, "{}.detach()", "{}"),
        // Equal ones share the gradient, as in PyTorch.
        entry("min", 2, Use::called, smaller,
              {"if x < y then 1 else 0", "if x == y then 1 / 2 else 0"},
              {"if y < x then 1 else 0", "if y == x then 1 / 2 else 0"}, "torch.minimum",
              "np.minimum"),
        entry("max", 2, Use::called, larger,
              {"if x > y then 1 else 0", "if x == y then 1 / 2 else 0"},
              {"if y > x then 1 else 0", "if y == x then 1 / 2 else 0"}, "torch.maximum",
              "np.maximum"),
        entry("-", 1, Use::sign, [](auto x, auto) { return -x; }, {"-1"}),
        entry("+", 2, Use::sign, [](auto x, auto y) { return x + y; }, {"1"}, {"1"}),
        entry("-", 2, Use::sign, [](auto x, auto y) { return x - y; }, {"1"}, {"-1"}),
        entry("*", 2, Use::sign, [](auto x, auto y) { return x * y; }, {"y"}, {"x"}),
        entry("/", 2, Use::sign, [](auto x, auto y) { return x / y; }, {"1 / y"}, {"-v / y"}),
        entry("//", 2, Use::sign, [](auto x, auto y) { return std::floor(x / y); }),
        entry("%", 2, Use::sign, [](auto x, auto y) { return x - std::floor(x / y) * y; }, {"1"},
              {"-floor(x / y)"}),
        // As in PyTorch: the derivative of x^0 by x is 0, and so is that of 0^y by y.
        entry("^", 2, Use::sign, power, {"if y != 0 then y * x ^ (y - 1) else 0"},
              {"if x != 0 or y < 0 then v * log(x) else 0"}),
        entry("<", 2, Use::comparison, [](auto x, auto y) { return x < y; }),
        entry("<=", 2, Use::comparison, [](auto x, auto y) { return x <= y; }),
        entry(">", 2, Use::comparison, [](auto x, auto y) { return x > y; }),
        entry(">=", 2, Use::comparison, [](auto x, auto y) { return x >= y; }),
        entry("==", 2, Use::comparison, [](auto x, auto y) { return x == y; }),
        entry("!=", 2, Use::comparison, [](auto x, auto y) { return x != y; }),
        entry("and", 2, Use::logic, [](auto x, auto y) { return x != 0 && y != 0; }),
        entry("or", 2, Use::logic, [](auto x, auto y) { return x != 0 || y != 0; }),
        entry("not", 1, Use::logic, [](auto x, auto) { return x == 0; })};
}

}  // namespace

const std::vector<RuleFunction>& rule_functions() {
    static const std::vector<RuleFunction> functions = all_functions();
    return functions;
}

const RuleFunction* find_rule_function(std::string_view name, std::size_t arity) {
    for (const RuleFunction& each : rule_functions()) {
        if (each.arity == arity && name == each.name) return &each;
    }
    return nullptr;
}

}  // namespace attn
