#include "attn/core/cards/card_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/cards/walk_text.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

using namespace attn;

namespace {

std::ptrdiff_t lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

/// True if a text states a rule, directly or below an `each` of query, key and value.
bool is_written(const std::string& text, std::string rule) {
    if (text.find("step  " + rule) != text.npos) return true;
    for (const char* const part : {"query", "key", "value"}) rule = replaced_all(rule, part, "{1}");
    return text.find("step  " + rule) != text.npos;
}

std::string refusal_of(const std::string& list) {
    try {
        std::vector<Condition> all;
        add_conditions(list, all);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_SUITE("cards: the text of attention") {
    TEST_CASE("it can be read in one sitting: 250 lines, and 830 with all variants") {
        std::ptrdiff_t all = 0;
        for (const std::string& name : walk_texts()) all += lines_of(text_of_walk(name));
        CHECK(lines_of(text_of_walk("standard")) <= 250);
        CHECK(all <= 830);
        CHECK(walk_texts().front() == "standard");
        CHECK(text_of_walk("standard").starts_with("# Attention"));
        CHECK(text_of_walk("standard/sink").starts_with("attention  sink\n"));
        CHECK(text_of_walk("sink").empty());
    }

    TEST_CASE("its rules run: the walk's steps are made from its lines") {
        const std::string text = text_of_walk("standard");
        const StepTable& table = step_table();
        const Plan plan = resolve(configured("heads 2, mask causal, output-projection"));
        std::size_t written = 0;
        for (const Step& step : table) {
            if (step.text == nullptr || !step.applies(plan)) continue;
            const Way* const way = step.text->way({plan, table, step});
            REQUIRE(way != nullptr);
            if (!way->has_rule()) continue;
            INFO(step.name);
            CHECK(is_written(text, std::string(way->rule)));
            CHECK(step.rule({plan, table, step}).step == step.name);
            ++written;
        }
        CHECK(written == 17);
    }

    TEST_CASE("the first alternative whose conditions are true counts, otherwise the card's own") {
        const StepTable& table = step_table();
        const auto rule = [&](const char* settings) {
            const Plan plan = resolve(configured(settings));
            return displayed_rule({plan, table, find_step(table, "weights")});
        };
        CHECK(rule("heads 2") ==
              "weights[q,k] = exp(scaled_scores[q,k] - row_max[q]) / row_sum[q]");
        CHECK(rule("heads 2, weights-by sigmoid") == "weights[q,k] = sigmoid(scaled_scores[q,k])");
        CHECK(rule("heads 2, softmax-axis query") ==
              "weights[q,k] = exp(scaled_scores[q,k] - row_max[k]) / row_sum[k]");
        CHECK(rule("heads 2, sink zero") ==
              "weights[h,q,k] = exp(scaled_scores[h,q,k] - row_max[h,q]) / row_sum[h,q]");
    }

    TEST_CASE("an unknown condition, loop, axis or size is refused with the known ones") {
        CHECK(refusal_of("masked, not fusd") ==
              "there is no condition 'fusd'; did you mean fused?");
        CHECK(loop_called("softmax").name == "softmax");
        CHECK_THROWS_AS(loop_called("sofmax"), ConfigError);
        CHECK_THROWS_AS(outline_in("batch heed"), ConfigError);
        CHECK_THROWS_AS(outline_in("batch head:X"), ConfigError);
    }

    TEST_CASE("a line that no step can have is refused with its file and line") {
        const auto refusal = [](const std::string& line) -> std::string {
            try {
                cards_of("attention  mine\nstep  a[q,k] = 1\n  title  a step\n  " + line + "\n");
            } catch (const InputError& error) {
                return error.what();
            }
            return {};
        };
        CHECK(refusal("at once").empty());
        CHECK(refusal("lop  scores") == "mine.attn, line 4: there is no word 'lop' below a step");
        CHECK(refusal("loop  scors").starts_with("mine.attn, line 4: there is no loop 'scors'"));
        CHECK(refusal("when  not fusd").starts_with("mine.attn, line 4: there is no condition"));
        CHECK(refusal("shape  heed").starts_with("mine.attn, line 4: there is no axis 'heed'"));
        CHECK(refusal("after  b") == "mine.attn, line 4: there is no step 'b' before it");
        CHECK(refusal("\nsteps  b[q,k] = 1") ==
              "mine.attn, line 5: a paragraph begins with step, parameter or given, not 'steps'");
    }

    TEST_CASE("a paragraph inherits missing lines from the card, unless it inherits nothing") {
        const StepTable& table = step_table();
        const auto way = [&](const char* settings) {
            const Plan plan = resolve(configured(settings));
            return find_step(table, "weights").text->way(plan);
        };
        CHECK(way("heads 2, sink zero")->specified("loop") == "softmax");
        CHECK(way("heads 2, sink zero")->specified("reads") == "scores sink");
        CHECK_FALSE(way("heads 2, weights-by sigmoid")->has("loop"));
    }

    TEST_CASE("each repeats the paragraphs below it for every row of words") {
        const StepTable table = cards_of(
            "attention  mine\n"
            "each  -, x / memory_, memory\n"
            "step  {1}half[t,c] = {2}[t,c] / 2\n"
            "  title  half of {2}\n"
            "attention  other\n"
            "step  last[t] = 1\n");
        REQUIRE(table.size() == 3);
        CHECK(table[0].name == "half");
        CHECK(table[1].name == "memory_half");
        CHECK(table[1].title == "half of memory");
        CHECK(table[1].reads(resolve(configured("heads 2"))).front().step == "memory");
        CHECK(table[2].name == "last");
    }

    TEST_CASE("a shape has the axes of the walk") {
        const auto outline = outline_in("batch head:G key feature:Dv");
        const Outline one = outline(resolve(configured("seq-len 3, embed-dim 4")));
        CHECK(one.axes == Axes{"key", "feature"});
        CHECK(one.shape == Shape{3, 4});
        const Outline many =
            outline(resolve(configured("batch 2, seq-len 3, embed-dim 8, heads 4, kv-heads 2")));
        CHECK(many.axes == Axes{"batch", "head", "key", "feature"});
        CHECK(many.shape == Shape{2, 2, 3, 2});
    }
}
