#include <doctest/doctest.h>

#include <functional>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/judge/compare/compare.hpp"

namespace attn::testing {
namespace {

/// A walk as it is stored in 16 bits, after a change to a cell of a step.
Ledger stored(const Ledger& walk, DType type,
              const std::function<float(const std::string&, std::size_t, float)>& changed) {
    Ledger half;
    for (const auto& [name, tensor] : walk.entries()) {
        if (tensor.dtype() != DType::float32) {
            half.record(name, tensor);
            continue;
        }
        Array<float> cells = tensor.as<float>();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = nearest(changed(name, i, cells.data()[i]), type);
        }
        half.record(name, Tensor(tensor.axes(), std::move(cells)).of_type(type));
    }
    return half;
}

}  // namespace
}  // namespace attn::testing

using namespace attn;

TEST_SUITE("judge: compare two types") {
    TEST_CASE(
        "a wrong cell of a walk in 16 bits counts once, without the cells that follow from it") {
        const Plan plan = resolve(configured("heads 2, seq-len 5, mask causal"));
        const Ledger whole = walk(plan, draw(plan), step_table());
        for (const DType type : {DType::float16, DType::bfloat16}) {
            for (const std::string wrong : {"", "x", "w_query", "scores", "weights", "context"}) {
                CAPTURE(wrong);
                const Ledger half = testing::stored(
                    whole, type, [&](const std::string& name, std::size_t i, float cell) {
                        return name == wrong && i == 0 ? cell + 0.5F : cell;
                    });
                for (const bool is_first : {true, false}) {
                    const Comparison comparison = is_first
                                                      ? compare(plan, step_table(), half, whole)
                                                      : compare(plan, step_table(), whole, half);
                    CAPTURE(comparison_text(comparison));
                    for (const StepComparison& step : comparison.steps) {
                        CAPTURE(step.name);
                        CHECK(step.distance.beyond == (step.name == wrong ? 1 : 0));
                    }
                }
            }
        }
    }

    TEST_CASE("all numbers a little too large are not explained cell by cell") {
        const Plan plan = resolve(configured("heads 2, seq-len 16, embed-dim 32"));
        const Ledger whole = walk(plan, draw(plan), step_table());
        const Ledger half = testing::stored(whole, DType::float16,
                                            [](const std::string& name, std::size_t, float cell) {
                                                return name == "weights" ? 1.01F * cell : cell;
                                            });
        const Comparison comparison = compare(plan, step_table(), half, whole);
        REQUIRE_MESSAGE(comparison.first() != nullptr, comparison_text(comparison));
        CHECK(comparison.first()->name == "weights");
    }
}
