#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/explain/document/cost.hpp"

using namespace attn;

namespace {

Plan plan_of(const std::string& settings, const std::string& attention, const std::string& form) {
    WalkConfig config = configured(settings);
    if (!attention.empty()) {
        config.attentions = {std::make_shared<const AttentionFile>(
            parse_attention(shipped_attention(attention), attention))};
    }
    config.form = form;
    return resolve(config);
}

WalkCost costs(const std::string& settings, const std::string& attention = "",
               const std::string& form = "") {
    const Plan plan = plan_of(settings, attention, form);
    return cost_of(plan, step_table(plan));
}

std::string text(const WalkCost& cost, const std::string& step, StepCost::Kind kind) {
    const auto found = std::ranges::find(cost.steps, step, &StepCost::step);
    return found == cost.steps.end() ? "" : (*found)[kind].text();
}

}  // namespace

TEST_SUITE("document: costs") {
    TEST_CASE("a plain walk costs 2 T^2 D products, and caches keys and values") {
        const WalkCost cost = costs("seq-len 5, embed-dim 8, heads 2, mask causal");
        CHECK(text(cost, "projected_query", StepCost::products) == "H T D C");
        CHECK(text(cost, "scores", StepCost::products) == "H T^2 D");
        CHECK(text(cost, "weights", StepCost::functions) == "2 H T^2");  // exp and a division
        CHECK(text(cost, "weights", StepCost::kept) == "H T^2");
        CHECK(cost.all[StepCost::products].text() == "2 H T^2 D + 3 H T D C");
        CHECK(cost.all[StepCost::cached].text() == "2 H T D");
        CHECK(cost.sizes.at("T") == 5);
    }
    TEST_CASE("letters that differ have their own: keys of fewer heads, wider values, memory") {
        const WalkCost few = costs("seq-len 6, embed-dim 16, heads 4, kv-heads 2");
        CHECK(text(few, "projected_key", StepCost::products) == "G T D C");
        CHECK(few.all[StepCost::cached].text() == "2 G T D");
        const WalkCost wide = costs("seq-len 6, embed-dim 8, value-dim 3, memory-len 4");
        CHECK(text(wide, "context", StepCost::products) == "Tq Tk Dv");
        CHECK(text(wide, "key", StepCost::cached) == "Tk D");
    }
    TEST_CASE(
        "a state has a fixed size, and its form is cheaper from 3 D^2 / (2 D + 1) tokens on") {
        const WalkCost parallel = costs("heads 2, seq-len 4", "retention", "parallel");
        const WalkCost recurrent = costs("heads 2, seq-len 4", "retention", "recurrent");
        CHECK(text(recurrent, "state", StepCost::products) == "2 H T D^2");
        CHECK(text(recurrent, "state", StepCost::cached) == "H D^2");
        CHECK(text(recurrent, "key", StepCost::cached) == "0");
        const auto point =
            equal_at(parallel.all[StepCost::products], recurrent.all[StepCost::products], "T");
        REQUIRE(point.has_value());
        CHECK(point->text() == "3 D^2 / (2 D + 1)");
        CHECK(!equal_at(recurrent.all[StepCost::products], 0, "T"));
    }
    TEST_CASE("a chunk divides the tokens, and an inner sum that cells share counts once") {
        const WalkCost cost = costs("heads 2, seq-len 4", "retention", "chunked");
        CHECK(text(cost, "key", StepCost::cached) == "H D chunk");
        CHECK(text(cost, "context", StepCost::products) ==
              "2 H T D chunk + H T D^2 + H T D + H T chunk");
    }
    TEST_CASE("the cache of a delta rule is one state, although the state reads other cells") {
        const WalkCost delta = costs("heads 2, seq-len 4", "deltanet", "recurrent");
        CHECK(text(delta, "state", StepCost::cached) == "H D^2");
        CHECK(text(costs("heads 2, seq-len 4", "gated-deltanet", "recurrent"), "state",
                   StepCost::cached) == "H D^2");
    }
    TEST_CASE("an expression that occurs several times counts once") {
        const auto of_file = [](const std::string& steps, StepCost::Kind kind) {
            WalkConfig config = configured("heads 2, seq-len 4");
            config.attentions = {std::make_shared<const AttentionFile>(
                parse_attention("attention a\n" + steps + "\n", "a.attn"))};
            const Plan plan = resolve(config);
            return text(cost_of(plan, step_table(plan)), "weights", kind);
        };
        const std::string dot = "(sum f: queries[h,q,f] * keys[h,k,f])";
        const std::string word = "step weights[h,q,k] = softmax k: " + dot;
        CHECK(of_file(word, StepCost::products) == "H T^2 D");
        CHECK(of_file(word, StepCost::functions) == "2 H T^2");
        const std::string plain =
            "step weights[h,q,k] = exp(scores[h,q,k]) / sum j: exp(scores[h,q,j])";
        CHECK(of_file(plain, StepCost::functions) == "2 H T^2");
        const std::string other =
            "step weights[h,q,k] = exp(scores[h,q,k]) / sum j: exp(scores[h,j,k])";
        CHECK(of_file(other, StepCost::functions) == "2 H T^2");  // the same table
        const std::string part =
            "step weights[h,q,k] = exp(scores[h,q,k]) / sum j in 0..q + 1: exp(scores[h,j,j])";
        CHECK(of_file(part, StepCost::functions) == "3 H T^2");
    }
    TEST_CASE("a mean divides once for each block") {
        CHECK(text(costs("seq-len 6, mask causal, heads 2", "moba"), "block_key",
                   StepCost::functions) == "H T D / block");
    }
    TEST_CASE("the polynomials of one walk give the products of twelve others") {
        for (const char* const form : {"parallel", "recurrent", "chunked"}) {
            const WalkCost cost = costs("heads 2, seq-len 4", "retention", form);
            for (const char* const sizes :
                 {"2, 4, 1", "2, 4, 3", "2, 6, 5", "2, 8, 2", "4, 4, 2", "4, 12, 1", "4, 12, 3",
                  "6, 2, 1", "6, 4, 4", "6, 16, 2", "8, 6, 2", "8, 10, 3"}) {
                const std::string all = sizes;
                const std::string heads = all.substr(0, 1),
                                  tokens = all.substr(3, all.rfind(',') - 3),
                                  width = all.substr(all.rfind(' ') + 1);
                const Plan plan = plan_of("heads " + heads + ", seq-len " + tokens + ", head-dim " +
                                              width + ", embed-dim 7",
                                          "retention", form);
                const StepTable& table = step_table(plan);
                Sizes here{{"H", std::stod(heads)},
                           {"T", std::stod(tokens)},
                           {"D", std::stod(width)},
                           {"C", 7},
                           {"chunk", 2}};
                for (const StepCost& each : cost.steps) {
                    CAPTURE(each.step);
                    CAPTURE(sizes);
                    CHECK(each[StepCost::products].at(here) ==
                          products_of({plan, table, find_step(table, each.step)}));
                }
            }
        }
    }
}
