#include "attn/explain/bounds/radius.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

constexpr double u = 0x1p-24;  // of float32

Tensor row(std::vector<double> numbers) {
    Array<double> cells = empty_array<double>({numbers.size()});
    std::ranges::copy(numbers, cells.begin());
    return {{"key"}, std::move(cells)};
}

/// The radius of a rule of `a`, which is exact, and `b`, which may be off by 0.5.
std::vector<double> radii(const std::string& text, const Rounding& rounding, std::size_t length) {
    std::map<std::string, Tensor> tensors{{"a", row({1, -2, 4})}, {"b", row({3, 8, -1})}};
    tensors["radius of b"] = row({0.5, 0.5, 0.5});
    const RuleScope scope{
        [&](const std::string& name) -> const Tensor& { return tensors.at(name); }, {}};
    const auto outline = [&](const std::string& name) {
        return Outline{tensors.at(name).axes(), tensors.at(name).shape()};
    };
    const Outline result = length > 0 ? Outline{{"key"}, {length}} : Outline{};
    const Rule rule = completed(parse_rule(text), result,
                                {[](const std::string& name) { return name; },
                                 outline,
                                 {},
                                 [](const auto&) { return RuleType::number; }});
    tensors["r"] = evaluate_rule(rule, result.axes, result.shape, DType::float64, scope);
    const Rule radius =
        radius_of(rule, result, rounding, [](const std::string& name) { return name == "a"; });
    return evaluate_rule(radius, result.axes, result.shape, DType::float64, scope).numbers();
}

void check_near(const std::vector<double>& result, const std::vector<double>& expected) {
    REQUIRE(result.size() == expected.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
        CAPTURE(i);
        CHECK(result[i] == doctest::Approx(expected[i]).epsilon(1e-9));
    }
}

}  // namespace

TEST_SUITE("rules: radius") {
    TEST_CASE("a sum, a product and a quotient propagate the radii of their operands") {
        const Rounding exact{0, 0, 0, 1e308};
        check_near(radii("r[k] = a[k] + b[k]", exact, 3), {0.5, 0.5, 0.5});
        check_near(radii("r[k] = a[k] * b[k]", exact, 3), {0.5, 1, 2});
        check_near(radii("r[k] = a[k] / b[k]", exact, 3), {0.5 / 9, 2 * 0.5 / 64, 4 * 0.5});
        check_near(radii("r[k] = max(a[k], b[k])", exact, 3), {0.5, 0.5, 0.5});
        check_near(radii("r[k] = if a[k] > 0 then a[k] else b[k]", exact, 3), {0, 0.5, 0});
        check_near(radii("r[k] = exp(b[k])", exact, 3),
                   {0.5 * std::exp(3), 0.5 * std::exp(8), 0.5 * std::exp(-1)});
    }

    TEST_CASE("a stored value is rounded once, and a sum at each addition") {
        const Rounding rounding = rounding_of(DType::float32);
        check_near(radii("r[k] = a[k] + 1", rounding, 3), {2 * u, u, 5 * u});
        // 3 additions in any order, of terms up to 3 + 16 + 4, and the error of b passed on.
        check_near(radii("r[] = sum k: a[k] * a[k]", rounding, 0), {(3 + 1) * 21 * u + 21 * u});
        check_near(radii("r[] = sum k: a[k]", rounding, 0), {3 * 7 * u + 3 * u});
        // Copies are exact, and so are hidden cells.
        check_near(radii("r[k] = a[k]", rounding, 3), {0, 0, 0});
        check_near(radii("r[k] = exp(a[k] - inf)", rounding, 3), {0, 0, 0});
    }

    TEST_CASE("sums of 16 bits run in float32") {
        const Rounding rounding = rounding_of_half(0x1p-7);
        CHECK(rounding.unit == 0x1p-8);
        check_near(radii("r[] = sum k: a[k] * a[k]", rounding, 0), {4 * 21 * u + 21 * 0x1p-8});
        CHECK(rounding_of_half(0x1p-10).largest == 65504);
    }

    TEST_CASE("integers are not rounded, and a rule is completed first") {
        CHECK_THROWS_AS(rounding_of(DType::int64), ConfigError);
        const auto is_exact = [](const std::string&) { return true; };
        CHECK_THROWS_AS(radius_of(parse_rule("r[k] = sum j: a[j]"), {{"key"}, {3}},
                                  rounding_of(DType::float32), is_exact),
                        ConfigError);
    }
}

}  // namespace attn
