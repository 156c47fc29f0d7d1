// Each mistake changes the walk of its witness line.
#include <doctest/doctest.h>

#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/judge/mistakes/gradient_mistakes.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/judge/mistakes/configurations.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// The walk of a witness, right and with its mistake.
struct Witness {
    explicit Witness(const Mistake& of)
        : mistake(of), plan(*witness_of(of)), given(draw(plan)), right(walk(plan, given)) {
        if (mistake.applies(plan)) {
            wrong = walk(plan, given, mistake.apply(step_table(plan), plan));
        }
    }

    /// True if a number of the step differs by more than rounding allows in right code.
    bool shows_at(const std::string& step, Bounds& bounds) const {
        const Tensor* const correct = right.find(step);
        const Tensor* const actual = wrong.find(step);
        if (correct == nullptr || actual == nullptr) return correct != actual;
        if (correct->shape() != actual->shape()) return true;
        const std::optional<Ball> ball = bounds.of(step);
        return ball ? within(*actual, *ball).beyond > 0 : !same_numbers(*correct, *actual, 0);
    }

    /// The first step where it shows; empty if there is none.
    std::string first_step() const {
        Bounds bounds(plan, step_table(plan), right, rounding_of(plan.compute_dtype));
        for (const auto& [name, tensor] : right.entries()) {
            if (find_step(step_table(), name).kind == Step::Kind::detail) continue;
            if (shows_at(name, bounds)) return name;
        }
        for (const auto& [name, tensor] : right.entries()) {
            if (shows_at(name, bounds)) return name;
        }
        return {};
    }

    const Mistake& mistake;
    Plan plan;
    Ledger given, right, wrong;
};

std::size_t place_of(const std::string& step) {
    const StepTable& table = step_table();
    return static_cast<std::size_t>(std::ranges::find(table, step, &Step::name) - table.begin());
}

/// A difference that only shows in saved tensors has no witness.
bool is_walked(const Mistake& mistake) { return !mistake.witness.empty(); }

}  // namespace

TEST_SUITE("mistakes: witnesses") {
    TEST_CASE("each mistake is visible on its witness, not before the step that it names") {
        for (const Mistake& mistake : mistakes()) {
            CAPTURE(mistake.id);
            const Witness witness(mistake);
            REQUIRE(mistake.why_not(witness.plan).empty());
            const std::string first = witness.first_step();
            REQUIRE(first != "");
            CAPTURE(first);
            if (first != "qkv") CHECK(place_of(first) >= place_of(mistake.step));
        }
    }

    TEST_CASE("harmless differences can be made on their witnesses, and change no result there") {
        for (const Mistake& mistake : harmless_differences()) {
            if (!is_walked(mistake)) continue;
            CAPTURE(mistake.id);
            const Witness witness(mistake);
            REQUIRE(mistake.why_not(witness.plan).empty());
            CHECK(witness.first_step() != "");
            const Tensor& correct = witness.right.entries().back().tensor;
            const Tensor& actual = witness.wrong.entries().back().tensor;
            if (!mistake.rewrites_result) CHECK(same_numbers(correct, actual, 1e-5));
        }
    }

    TEST_CASE("families with a number show on their witnesses, too") {
        std::vector<const Mistake*> all{&mistaken_fill(-3)};
        for (const NumberedEntry& family : numbered_entries()) all.push_back(&family.entry(3));
        for (const Mistake* mistake : all) {
            CAPTURE(mistake->id);
            const Witness witness(*mistake);
            REQUIRE(mistake->why_not(witness.plan).empty());
            CHECK(witness.first_step() != "");
        }
    }

    TEST_CASE("each gradient mistake changes a gradient on its witness") {
        for (const Mistake& mistake : gradient_mistakes()) {
            CAPTURE(mistake.id);
            const Plan plan = *witness_of(mistake);
            const StepTable right = with_gradients(step_table(plan), plan, Loss{});
            const StepTable wrong = with_gradient_mistakes(right, plan, {mistake.id});
            const Ledger given = draw(plan);
            const Ledger correct = walk(plan, given, right), actual = walk(plan, given, wrong);
            CHECK(std::ranges::any_of(correct.entries(), [&](const auto& entry) {
                return !same_numbers(entry.tensor, actual[entry.name], 1e-6);
            }));
        }
    }

    TEST_CASE("nearly every witness has the rule of its mistake next to the right one") {
        std::set<std::string> without;
        for (const Mistake& mistake : mistakes()) {
            if (rule_pairs(mistake).empty()) without.insert(mistake.id);
        }
        // Draws and numbering, axes that change places, and a tensor that the walk does not have.
        CHECK(without == std::set<std::string>{"dropout-at-eval", "dropout-on-context",
                                               "vocab-duplicates", "batch-seq-swapped",
                                               "t5-cross-bias=cross"});
    }
}
