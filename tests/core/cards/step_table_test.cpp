#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"

#include <doctest/doctest.h>

#include "attn/explain/codegen/code.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "tests/core/plan/random_plans.hpp"

using namespace attn;

namespace {

/// `steps` with every number doubled by a new step right after the step `after`, whose chain it
/// extends.
StepTable with_doubled(StepTable steps, const std::string& after) {
    const auto place = std::find_if(steps.begin(), steps.end(),
                                    [&](const Step& step) { return step.name == after; });
    Step doubled;
    doubled.name = "doubled";
    doubled.chain = place->chain;
    doubled.reads = [chain = place->chain](const Plan&) { return std::vector<Input>{chain}; };
    doubled.outline = place->outline;
    doubled.formula = [chain = place->chain](const PlannedStep& of) {
        return "doubled = 2 * " + of.latest(chain);
    };
    doubled.compute = [chain = place->chain](const Plan&, const Ledger& ledger) -> Tensor {
        const Tensor& before = ledger.latest(chain, "doubled");
        Array<float> numbers = before.as<float>();
        for (float& number : numbers) number *= 2;
        return {before.axes(), std::move(numbers)};
    };
    steps.insert(place + 1, std::move(doubled));
    return steps;
}

Plan two_causal_heads() {
    WalkConfig config = configured("heads 2, head-dim 4, mask causal");
    return resolve(config);
}

bool mentions(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
}

}  // namespace

TEST_SUITE("cards: step table") {
    TEST_CASE("every tensor of a walk has the axes and lengths that its card names") {
        std::mt19937 random(11);
        for (int i = 0; i < 200; ++i) {
            const Plan plan = resolve(random_config(random));
            const Ledger ledger = walk(plan, draw(plan));
            for (const auto& [name, tensor] : ledger.entries()) {
                INFO(name);
                const Outline outline = find_step(step_table(plan), name).outline(plan);
                CHECK(outline.axes == tensor.axes());
                CHECK(outline.shape == tensor.shape());
            }
        }
    }

    TEST_CASE("every step comes after those that it reads") {
        std::mt19937 random(12);
        for (int i = 0; i < 100; ++i) {
            const Plan plan = resolve(random_config(random));
            const Ledger given = draw(plan);
            Ledger before(chains_of(step_table(plan)));
            const Ledger ledger = walk(plan, given);
            for (const auto& [name, tensor] : ledger.entries()) {
                INFO(name);
                const Step& step = find_step(step_table(plan), name);
                for (const Input& input : step.reads(plan)) {
                    const bool by_name = input.chain == Chain::none;
                    if (by_name && !has_step(step_table(plan), plan, input.step)) continue;
                    const bool is_there = input.chain == Chain::none
                                              ? before.has(input.step)
                                              : before.find_latest(input.chain) != nullptr;
                    CHECK(is_there);
                }
                before.record(name, tensor);
                if (given.has(name)) continue;
                // Only its inputs are needed to compute it.
                Ledger inputs(chains_of(step_table(plan)));
                for (const auto& entry : before.entries()) {
                    const auto reads = step.reads(plan);
                    const bool is_read =
                        std::any_of(reads.begin(), reads.end(), [&](const Input& input) {
                            return input.step == entry.name ||
                                   (input.chain != Chain::none &&
                                    before.find_latest(input.chain, name)->name == entry.name);
                        });
                    if (is_read) inputs.record(entry.name, entry.tensor);
                }
                CHECK_NOTHROW(step.compute(plan, inputs));
            }
        }
    }

    TEST_CASE(
        "a form whose cards are missing from the table is never used, whatever the plan says") {
        WalkConfig config = configured("heads 2, mask causal");
        const Plan plain = resolve(config);
        config.sink = SinkLogit::normal;
        const Plan plan = resolve(config);
        StepTable table = step_table(plan);
        std::erase_if(table, [](const Step& step) { return step.name.starts_with("sink"); });
        const Ledger ledger = walk(plan, draw(plan), table);
        const Ledger expected = walk(plain, draw(plain));
        for (const char* name : {"row_max", "row_sum", "weights", "context"}) {
            INFO(name);
            CHECK(same_numbers(ledger[name], expected[name]));
            const PlannedStep of{plan, table, find_step(table, name)};
            const PlannedStep right{plain, step_table(plain), find_step(step_table(plain), name)};
            CHECK(formula_of(of.step, plan, table) ==
                  formula_of(right.step, plain, step_table(plain)));
            CHECK(step_note(of, ledger) == step_note(right, expected));
        }
    }

    TEST_CASE("a step inserted into a chain is read by every later step") {
        const Plan plan = two_causal_heads();
        struct Case {
            std::string after, reader, formula, code;
        };
        for (const Case& one : {
                 Case{"scaled_scores", "masked_scores", "else doubled", "doubled.masked_fill("},
                 Case{"masked_scores", "weights", "softmax(doubled)", "F.softmax(doubled"},
                 Case{"query", "scores", "doubled @ key^T", "doubled @ key.transpose"},
                 Case{"value", "context", "weights @ doubled", "weights @ doubled"},
             }) {
            INFO(one.after);
            const StepTable table = with_doubled(step_table(plan), one.after);
            const Step& reader = find_step(table, one.reader);
            CHECK(mentions(formula_of(reader, plan, table), one.formula));
            CHECK(mentions(step_code(one.reader, plan, table, CodeLanguage::torch), one.code));
            const Ledger ledger = walk(plan, draw(plan), table);
            const Tensor& before = ledger[one.after];
            CHECK(ledger["doubled"].at(3) == 2 * before.at(3));
            CHECK_FALSE(step_note({plan, table, reader}, ledger).empty());
            const Cell cell = parse_cell(plan, table, ledger, one.reader + "[1,2,1]");
            const Derivation derivation = derive(plan, table, ledger, cell);
            CHECK(std::any_of(derivation.sources.begin(), derivation.sources.end(),
                              [](const Cell& source) { return source.step == "doubled"; }));
            double sum = derivation.rounding;
            for (const Term& term : derivation.terms) sum += term.value;
            if (!derivation.terms.empty()) CHECK(sum == doctest::Approx(cell.value));
            CHECK(std::abs(derivation.rounding) < 1e-5);
        }
    }
}
