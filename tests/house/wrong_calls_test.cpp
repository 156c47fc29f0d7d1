// One invalid call per function: each ends in an error of the library, none in a crash.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/softmax.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/learn/quiz/question.hpp"
#include "tests/support/refusal.hpp"

using namespace attn;

namespace {

struct WrongCall {
    std::string what;
    std::function<void()> call;
};

WrongCall configured(const char* what, const std::function<void(WalkConfig&)>& change) {
    return {what, [change] {
                WalkConfig config = attn::configured("seq-len 3");
                change(config);
                const Plan plan = resolve(config);
                walk(plan, draw(plan));
            }};
}

const Tensor three({"token"}, Array<float>{1, 2, 3});
const Array<float> cells{{1, 2, 3}, {4, 5, 6}};
const Array<float> scalar(1.0F);

Ball ball_of(std::size_t cells_of_each) {
    const Tensor numbers({"token"}, empty_array<double>({cells_of_each}));
    return {numbers, numbers};
}

const std::vector<WrongCall>& wrong_calls() {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    static const std::vector<WrongCall> all{
        configured("window of 0", [](WalkConfig& c) { c.mask.window = 0; }),
        configured("window of -3", [](WalkConfig& c) { c.mask.window = -3; }),
        configured("chunk of 0", [](WalkConfig& c) { c.mask.chunk = 0; }),
        configured("chunk of -1", [](WalkConfig& c) { c.mask.chunk = -1; }),
        configured("prefix of -1", [](WalkConfig& c) { c.mask.prefix = -1; }),
        configured("eps of nan", [](WalkConfig& c) { c.x_norm_eps = nan; }),
        configured("eps of -1", [](WalkConfig& c) { c.x_norm_eps = -1; }),
        configured("init 77",
                   [](WalkConfig& c) {
                       c.init = std::array{Init(77), Init(0), Init(0)};
                   }),
        configured("pairing 77", [](WalkConfig& c) { c.rotary.pairing = Pairing(77); }),
        configured("norm over 77", [](WalkConfig& c) { c.qk_norm.over = NormOver(77); }),
        configured("scale 77", [](WalkConfig& c) { c.scale.by = ScaleChoice::By(77); }),
        configured(
            "w_query of bool",
            [](WalkConfig& c) {
                c.parameters.record("w_query", Tensor({"out", "in"}, empty_array<bool>({4, 4})));
            }),
        {"strided beyond the end",
         [] {
             strided(three, {2, 2}, {1, 2});
         }},
        {"strided before the beginning", [] { strided(three, {2}, {std::size_t(0) - 1}); }},
        {"strided with an offset beyond", [] { strided(three, {1}, {1}, 3); }},
        {"strided without strides", [] { strided(three, {3}, {}); }},
        {"strided of 2^62", [] { strided(three, {std::size_t{1} << 62}, {1}); }},
        {"strided of 2^62 by 2^62", [] { strided(three, {2}, {std::size_t{1} << 62}); }},
        {"slice without parts", [] { slice(three, std::vector<AxisPart>{}); }},
        {"slice beyond",
         [] {
             slice(three, std::vector<AxisPart>{{2, 1, 2, false}});
         }},
        {"rows_of beyond", [] { rows_of(three, {3}); }},
        {"rows_of a scalar", [] { rows_of(Tensor({}, scalar), {0}); }},
        {"take_features of a scalar", [] { take_features(scalar, {0}); }},
        {"take_features beyond", [] { take_features(cells, {3}); }},
        {"split_heads of 2 into 4", [] { vectorized::split_heads(cells, 2); }},
        {"merge_heads of a matrix", [] { loop::merge_heads(cells); }},
        {"row_max along axis 9", [] { vectorized::row_max(cells, 9); }},
        {"loop row_max along axis 9", [] { loop::row_max(cells, 9); }},
        {"row_sum along axis 2", [] { vectorized::row_sum(cells, 2); }},
        {"softmax along axis 2", [] { vectorized::softmax(cells, 2); }},
        {"exponentials with one maximum",
         [] { vectorized::exponentials(cells, Array<float>{1}, 1); }},
        {"within bounds of another shape", [] { within(three, ball_of(2)); }},
        {"within bounds of no radius",
         [] {
             within(three, {ball_of(3).middle, ball_of(2).radius});
         }},
        {"slope of another shape",
         [] { slope_of(three, ball_of(4), rounding_of(DType::float32)); }},
        {"rounding of an epsilon of 0", [] { rounding_of_half(0); }},
        {"rounding of an epsilon of -1", [] { rounding_of_half(-1); }},
        {"rounding of an epsilon of nan", [] { rounding_of_half(nan); }},
        {"choices of none",
         [] {
             Question question;
             Dice dice(1);
             put_choices(question, {}, dice);
         }},
        {"ask_shape of none", [] { ask_shape({}); }},
        {"below 0", [] { Dice(1).below(0); }},
        {"between 5 and 4", [] { Dice(1).between(5, 4); }},
        {"pick from none", [] { Dice(1).pick(std::initializer_list<int>{}); }},
        {"a sheet of no form", [] { sheet_text("", {}, false, "docx"); }},
        {"a topic that is none", [] { QuizSession("nothing", 1); }},
        configured("16 million cells a side",
                   [](WalkConfig& c) {
                       c.query_len = 1 << 24;
                       const Plan plan = resolve_unnamed(c);
                       require_memory(step_table(plan), plan);
                   }),
    };
    return all;
}

}  // namespace

TEST_SUITE("wrong calls") {
    TEST_CASE("each is refused with an error of the library") {
        for (const WrongCall& each : wrong_calls()) {
            INFO(each.what);
            bool refused = false;
            try {
                each.call();
            } catch (const Error& error) {
                refused = std::string_view(error.what()).size() > 10;
            } catch (const std::exception& error) {
                FAIL_CHECK("a foreign error: " << error.what());
                continue;
            }
            CHECK(refused);
        }
    }
}
