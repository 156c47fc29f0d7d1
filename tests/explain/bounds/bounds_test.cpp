#include "attn/explain/bounds/bounds.hpp"
#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "tests/core/plan/random_plans.hpp"

using namespace attn;

namespace {

/// A ball of distinct numbers, each known to a thousandth of itself.
Ball thousandths(std::size_t count) {
    Array<double> middle = empty_array<double>({count}), radius = middle;
    for (std::size_t i = 0; i < count; ++i) {
        middle.data()[i] = std::sin(static_cast<double>(i + 1)) * 3;
        radius.data()[i] = std::abs(middle.data()[i]) * 1e-3;
    }
    return {{{"key"}, std::move(middle)}, {{"key"}, std::move(radius)}};
}

/// The middle times a factor, each cell off by up to a half of its radius.
Tensor scattered(const Ball& ball, double factor) {
    std::mt19937 random(5);
    Array<double> cells = ball.middle.as<double>();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double part = static_cast<double>(random() % 1001) / 1000 - 0.5;
        cells.data()[i] = cells.data()[i] * factor + part * ball.radius.at(i);
    }
    return {{"key"}, std::move(cells)};
}

}  // namespace

TEST_SUITE("walk: bounds") {
    TEST_CASE("walks of every type and variant stay within their bounds") {
        constexpr std::array types{DType::float32, DType::bfloat16, DType::float16};
        std::mt19937 random(20261125);
        std::size_t judged = 0;
        for (std::size_t i = 0; i < 150; ++i) {
            WalkConfig config = random_config(random);
            const DType type = types[i % types.size()];
            config.compute_dtype = type;
            if (is_16_bit(type) && config.variant == Variant::fused) continue;
            const Plan plan = resolve(config);
            const StepTable& table = step_table(plan);
            const Ledger given = draw(plan), ledger = walk(plan, given, table);
            Bounds bounds(plan, table, ledger, rounding_of(type));
            // Started from the walk's inputs, the balls of all later steps contain it too.
            Bounds whole(plan, table, given, rounding_of(type));
            for (const auto& [name, tensor] : ledger.entries()) {
                for (Bounds* each : {&bounds, &whole}) {
                    const std::optional<Ball> ball = each->of(name);
                    if (!ball || !tensor.is_floating()) continue;
                    const WithinBall answer = within(tensor, *ball);
                    CAPTURE(name);
                    CAPTURE(answer.text(tensor.shape()));
                    CHECK(answer.beyond == 0);
                    ++judged;
                }
            }
        }
        CHECK(judged > 1000);
    }

    TEST_CASE("a bound is close to the error that it bounds") {
        const Plan plan = resolve(WalkConfig{});
        const Ledger ledger = walk(plan, draw(plan));
        Bounds bounds(plan, step_table(plan), ledger, rounding_of(DType::float32));
        const Ball scores = *bounds.of("scores");
        double largest = 0;
        for (const double cell : ledger["scores"].numbers()) {
            largest = std::max(largest, std::abs(cell));
        }
        for (const double radius : scores.radius.numbers()) CHECK(radius < 2e-5 * largest);
        CHECK(bounds.of("x") == std::nullopt);
    }

    TEST_CASE("the bound of a walk in 16 bits counts the digits that inputs lose") {
        const Plan plan = resolve(WalkConfig{});
        const Ledger ledger = walk(plan, draw(plan));
        Bounds exact(plan, step_table(plan), ledger, rounding_of(DType::float32));
        Bounds half(plan, step_table(plan), ledger, rounding_of_half(0x1p-7));
        CHECK(half.of("context")->radius.at(0) > 1000 * exact.of("context")->radius.at(0));
    }

    TEST_CASE("in bfloat16 exp() grows beyond its slope, and a mean may be stored as it runs") {
        WalkConfig config = configured("x-norm layer, scale 40");
        const Plan plan = resolve(config);
        const Ledger ledger = walk(plan, draw(plan));
        Bounds half(plan, step_table(plan), ledger, rounding_of_half(0x1p-7));
        const Ball grown = *half.of("exponentials");
        for (std::size_t i = 0; i < grown.middle.size(); ++i) {
            // The effect of rounding the argument.
            const double lost = -std::log(grown.middle.at(i)) * 0x1p-8;
            CHECK(grown.radius.at(i) >= grown.middle.at(i) * std::expm1(lost) * (1 - 1e-6));
        }
        const Ball normed = *half.of("normed_x");
        for (const double radius : normed.radius.numbers()) CHECK(radius > 0x1p-8);
    }

    TEST_CASE("0.996 in place of every 1 is a factor, 1 in place of 1.0035 is not") {
        const Rounding rounding = rounding_of_half(0x1p-7);
        const auto slope_error = [&](double right, double stored) {
            const auto all = [](double number) {
                Array<double> cells = empty_array<double>({12});
                std::ranges::fill(cells, number);
                return Tensor({"key"}, std::move(cells));
            };
            return slope_of(all(stored), {all(right), all(0.016 * right)}, rounding);
        };
        CHECK_FALSE(slope_error(1, 0.99609375)->is_one(rounding));
        CHECK(slope_error(1.0035, 1)->is_one(rounding));
    }

    TEST_CASE("cells beyond the bound are counted, and the first one is named") {
        const Ball ball = thousandths(20);
        CHECK(within(scattered(ball, 1), ball).beyond == 0);
        Array<double> cells = ball.middle.as<double>();
        cells.data()[7] += 1;
        cells.data()[9] = std::nan("");
        const WithinBall answer = within({{"key"}, cells}, ball);
        CHECK(answer.beyond == 2);
        CHECK(answer.first == 7);
        CHECK(answer.text({20}).starts_with(
            "rounding does not explain it: 2 cells, first [7]: 1 of at most"));
    }

    TEST_CASE("a factor is found if it brings every cell within its bound") {
        const Ball ball = thousandths(64);
        const Rounding rounding = rounding_of(DType::float32);
        const Slope none = *slope_of(scattered(ball, 1), ball, rounding);
        CHECK(none.is_one(rounding));
        const Tensor larger = scattered(ball, 1.0004);
        CHECK(within(larger, ball).beyond == 0);
        const Slope slope = *slope_of(larger, ball, rounding);
        CHECK(slope.factor == doctest::Approx(1.0004).epsilon(1e-4));
        CHECK_FALSE(slope.is_one(rounding));
        CHECK(slope.is_all);
        CHECK(slope.text().starts_with("every number is 1.000"));
        CHECK(slope_of(scattered(thousandths(4), 2), thousandths(4), rounding) == std::nullopt);
    }
}
