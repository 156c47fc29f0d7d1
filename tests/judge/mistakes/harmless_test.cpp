// Differences that change no result, and the effect of mistakes on walks with a norm before them.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/judge/mistakes/configurations.hpp"

using namespace attn;

namespace {

/// True if every finite cell of a result is the same up to rounding. Rows in which every key is
/// hidden are not compared.
bool same_result(const Tensor& right, const Tensor& other) {
    if (right.shape() != other.shape()) return false;
    for (std::size_t i = 0; i < right.size(); ++i) {
        const double expected = right.at(i);
        if (!std::isfinite(expected)) continue;
        if (!(std::abs(other.at(i) - expected) <= 1e-3 * (1 + std::abs(expected)))) return false;
    }
    return true;
}

/// The lines of the steps after the norm, with x for normed_x.
std::string computed_lines(const Plan& plan, const StepTable& table, CodeLanguage language) {
    std::string lines;
    for (const StepCode& part : program_of(plan, table, language)) {
        if (part.step == "normed_x") continue;
        if (find_step(table, part.step).kind == Step::Kind::computed) lines += part.code + "\n";
    }
    return std::regex_replace(lines, std::regex("normed_x"), "x");
}

}  // namespace

TEST_SUITE("mistakes: harmless") {
    TEST_CASE("a harmless difference leaves the result unchanged, whatever else the walk does") {
        std::mt19937 random(20);
        for (std::size_t i = 0; i < 300; ++i) {
            const WalkConfig config =
                i % 2 == 0 ? random_config(random) : attn::testing::seeded_config(random());
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            const Tensor right = walk(plan, given).entries().back().tensor;
            for (const Mistake& entry : harmless_differences()) {
                if (!entry.applies(plan) || entry.rewrites_result) continue;
                CAPTURE(i);
                CAPTURE(entry.id);
                const StepTable table = entry.apply(step_table(plan), plan);
                CHECK(same_result(right, walk(plan, given, table).entries().back().tensor));
            }
        }
    }

    TEST_CASE("after a norm, a mistake does to normed_x what it does to x itself") {
        std::mt19937 random(21);
        std::size_t compared = 0;
        for (std::size_t i = 0; i < 80; ++i) {
            WalkConfig config = random_config(random);
            config.position_embedding.reset();
            const Plan normed = resolve(config);
            if (!config.x_norm) continue;
            Plan plain = normed;
            plain.config.x_norm.reset();
            const Ledger given = draw(normed);
            Ledger same = given;
            same.record("x", walk(normed, given)["normed_x"]);
            for (const Mistake& mistake : mistakes()) {
                // The residual adds x itself, before the norm.
                const bool reads_before = mistake.id.starts_with("residual-inside");
                if (!mistake.applies(normed) || reads_before) continue;
                if (mistake.step == "normed_x") continue;  // of the norm itself
                CAPTURE(i);
                CAPTURE(mistake.id);
                const StepTable wrong = with_mistakes(step_table(normed), normed, {mistake.id});
                const StepTable alike = with_mistakes(step_table(plain), plain, {mistake.id});
                const Ledger behind = walk(normed, given, wrong);
                const Ledger alone = walk(plain, same, alike);
                for (const auto& [name, tensor] : alone.entries()) {
                    if (find_step(step_table(), name).kind != Step::Kind::computed) continue;
                    CAPTURE(name);
                    CHECK(attn::testing::same_numbers(behind[name], tensor, 0));
                    ++compared;
                }
                for (const auto language : {CodeLanguage::torch, CodeLanguage::numpy}) {
                    CHECK(computed_lines(normed, wrong, language) ==
                          computed_lines(plain, alike, language));
                }
            }
        }
        CHECK(compared > 500);
    }
}
