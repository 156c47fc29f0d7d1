// Parts of a walk, computed without the rest, equal the same parts of the whole.
#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/plan/random_plans.hpp"

namespace {

/// A random slice of a tensor with these lengths: `1,:,0:2`.
std::string random_slice(const attn::Shape& shape, std::mt19937& random) {
    std::string text;
    for (const std::size_t length : shape) {
        if (!text.empty()) text += ',';
        switch (random() % 4) {
            case 0:
                text += std::to_string(random() % length);
                break;
            case 1:
                text += "-1";
                break;
            case 2:
                text += random() % 2 == 0 ? "::2" : "::-1";
                break;
            default:
                text += ":";
        }
    }
    return text;
}

}  // namespace

TEST_SUITE("walk: parts") {
    TEST_CASE("a part of any step is that part of the whole walk") {
        for (std::uint32_t seed = 0; seed < 150; ++seed) {
            std::mt19937 random(seed);
            attn::WalkConfig config = random_config(random);
            config.variant = attn::Variant::vectorized;
            const attn::Plan plan = attn::resolve(config);
            const attn::Ledger given = attn::draw(plan);
            const attn::Ledger whole = attn::walk(plan, given);
            for (const auto& [name, tensor] : whole.entries()) {
                const std::string indices = random_slice(tensor.shape(), random);
                INFO("seed " << seed << " " << name << "[" << indices << "]");
                const std::vector<attn::WalkPart> parts =
                    attn::walk_parts(plan, given, attn::step_table(plan),
                                     {{name, indices, true}, {name, {}, false}});
                const attn::Tensor expected = attn::slice(tensor, indices);
                REQUIRE(parts.size() == 2);
                REQUIRE(parts[0].tensor.shape() == expected.shape());
                CHECK(parts[0].tensor.axes() == expected.axes());
                CHECK(parts[1].tensor.shape() == tensor.shape());
                // BLAS may add the products in another order when there are fewer rows.
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    const double a = parts[0].tensor.at(i);
                    const double b = expected.at(i);
                    const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                                      std::abs(a - b) <= 1e-5 * (1 + std::abs(b));
                    CHECK_MESSAGE(same, a << " is not " << b);
                }
            }
        }
    }
    TEST_CASE("one row of a walk that would not fit in memory needs little") {
        attn::WalkConfig config;
        config.query_len = 200'000;
        config.mask.causal = true;
        const attn::Plan plan = attn::resolve(config);
        const attn::Ledger given = attn::draw(plan);
        CHECK_THROWS_AS(attn::walk(plan, given), attn::ConfigError);
        const std::vector<attn::WalkPart> parts =
            attn::walk_parts(plan, given, attn::step_table(plan),
                             {{"weights", "2", true}, {"weights", "199999", true}});
        CHECK(parts[0].tensor.at(3) == 0);
        CHECK(parts[0].place.front().first == 2);
        for (const attn::WalkPart& part : parts) {
            double sum = 0;
            for (std::size_t k = 0; k < part.tensor.size(); ++k) sum += part.tensor.at(k);
            CHECK(sum == doctest::Approx(1));
        }
        CHECK_THROWS_AS(
            attn::walk_parts(plan, given, attn::step_table(plan), {{"weights", {}, false}}),
            attn::ConfigError);
    }
    TEST_CASE("a step that is not in the walk, and an empty part, are refused") {
        const attn::Plan plan = attn::resolve({});
        const attn::Ledger given = attn::draw(plan);
        for (const attn::WantedPart& wanted : std::vector<attn::WantedPart>{
                 {"output", {}, false}, {"nothing", {}, false}, {"weights", "2:2", true}}) {
            INFO(wanted.name);
            CHECK_THROWS_AS(attn::walk_parts(plan, given, attn::step_table(plan), {wanted}),
                            attn::ConfigError);
        }
        CHECK_THROWS_AS(
            attn::walk_parts(plan, given, attn::step_table(plan), {{"weights", "9", true}}),
            attn::ShapeError);
    }

    TEST_CASE("a column of many rows, and rows in reverse") {
        attn::WalkConfig config;
        config.query_len = 1'500;
        config.heads = 2;
        config.mask.causal = true;
        const attn::Plan plan = attn::resolve(config);
        const attn::Ledger given = attn::draw(plan);
        const std::vector<attn::WalkPart> parts =
            attn::walk_parts(plan, given, attn::step_table(plan),
                             {{"weights", ":,:,0", true},
                              {"weights", ":,1499", true},
                              {"weights", "1,::-2,7:9", true}});
        const attn::Tensor& column = parts[0].tensor;
        REQUIRE(column.shape() == attn::Shape{2, 1'500});
        CHECK(column.axes() == attn::Axes{"head", "query"});
        CHECK(column.at(0) == 1);
        CHECK(column.at(1'500) == 1);
        for (std::size_t head : {0, 1}) {
            CHECK(column.at(head * 1'500 + 1'499) ==
                  doctest::Approx(parts[1].tensor.at(head * 1'500)).epsilon(1e-5));
        }
        const attn::Tensor& backwards = parts[2].tensor;
        REQUIRE(backwards.shape() == attn::Shape{750, 2});
        CHECK(backwards.at(0) == doctest::Approx(parts[1].tensor.at(1'500 + 7)).epsilon(1e-5));
        CHECK(backwards.at(1'499) == 0);
    }

    TEST_CASE("a part that would not fit is refused too") {
        attn::WalkConfig config;
        config.query_len = 400'000;
        const attn::Plan plan = attn::resolve(config);
        const attn::Ledger given = attn::draw(plan);
        CHECK_THROWS_WITH_AS(
            attn::walk_parts(plan, given, attn::step_table(plan), {{"weights", "::2", true}}),
            doctest::Contains("GB"), attn::ConfigError);
    }
}
