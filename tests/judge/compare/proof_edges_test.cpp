// What a proof must not claim: parameters that begin as constants, tensors that are not decided,
// constants that are not their digits, and sizes that were not tried.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/compare/forms.hpp"

using namespace attn;

namespace {

using Judged = Proof::Verdict;

Plan plan_of_forms(const std::string& text, const std::string& walk = "heads 2, mask causal") {
    WalkConfig config = configured("seq-len 6, embed-dim 8, " + walk);
    config.attentions = {std::make_shared<const AttentionFile>(parse_attention(text, "a.attn"))};
    return resolve(config);
}

std::vector<FormComparison> judged(const Plan& plan) {
    const Ledger given = draw(plan);
    return compare_forms(plan, given, walk(plan, given), FormBounds::all);
}

/// The comparison of two weights, after lines that both forms share.
FormComparison of_weights(const std::string& head, const std::string& one, const std::string& other,
                          const std::string& walk = "heads 2, mask causal") {
    const std::string rule = "step weights[h,q,k] = if k > q then 0 else ";
    INFO(one << " against " << other);
    return judged(plan_of_forms("attention a\n" + head + "form one\n" + rule + one +
                                    "\nform two\n" + rule + other + "\nsame weights\n",
                                walk))
        .at(0);
}

Judged verdict_of(const std::string& one, const std::string& other) {
    const auto needs = [&](const char* name) { return (one + other).find(name) != one.npos; };
    return of_weights(std::string(needs("third") ? "setting third = 1 / 3\n" : "") +
                          (needs("gate") ? "parameter gate[h,t] ~ normal\n" : ""),
                      "scores[h,q,k] * (" + one + ")", "scores[h,q,k] * (" + other + ")")
        .proof.verdict;
}

}  // namespace

TEST_SUITE("compare: what proofs must not claim") {
    TEST_CASE("a parameter that begins as a constant is trained: it is not a constant") {
        const std::string head = "parameter gain[h] = 1\n";
        CHECK(of_weights(head, "gain[h] * scores[h,q,k]", "scores[h,q,k]").proof.verdict ==
              Judged::refuted);
        const FormComparison hidden =
            of_weights(head, "gain[h] * relu(scores[h,q,k])", "relu(scores[h,q,k])");
        CHECK(hidden.text().find("not with another gain") != std::string::npos);
        const Plan plan = plan_of_forms("attention a\n" + head +
                                        "form one\nstep context[h,q,f] = gain[h] * values[h,q,f]\n"
                                        "form two\nstep context[h,q,f] = values[h,q,f]\n"
                                        "same context\n");
        const auto gradients = compare_gradients(plan, draw(plan));
        const auto of_gain = std::ranges::find_if(
            gradients, [](const FormComparison& each) { return each.step.name == "d_gain"; });
        REQUIRE(of_gain != gradients.end());
        CHECK_FALSE(of_gain->equal());
    }
    TEST_CASE("what reads an undecided tensor is undecided, for the same reason") {
        const auto top = [](const std::string& count) {
            return "step kept[h,q,k] = if (rank k: masked_scores[h,q,k]) < " + count +
                   " then masked_scores[h,q,k] else -inf\n"
                   "step weights[h,q,k] = softmax k: kept[h,q,k]\n";
        };
        for (const FormComparison& each :
             judged(plan_of_forms("attention a\nform one\n" + top("6") + "form two\n" + top("5.5") +
                                  "same kept weights context\n"))) {
            CHECK(each.proof.verdict == Judged::undecided);
            CHECK(each.proof.why == "kept depends on comparisons of numbers");
        }
        for (const FormComparison& each :
             judged(plan_of_forms("attention a\nform one\n" + top("6") + "form two\n" + top("7") +
                                  "same kept weights context\n"))) {
            CHECK_FALSE(each.equal());  // with 7 tokens
        }
    }
    TEST_CASE("constants are more than their digits") {
        const std::tuple<std::string, std::string, Judged> all[] = {
            {"cos(2 * pi * (q - k))", "1", Judged::proved},
            {"cos(pi * k)", "1 - k % 2 * 2", Judged::proved},
            {"sin(scores[h,q,k] + pi / 2)", "cos(scores[h,q,k])", Judged::proved},
            {"cos(pi / 12) * 4", "sqrt(6) + sqrt(2)", Judged::proved},
            {"third * 3", "1", Judged::proved},
            {"max(sqrt(2), 1) / sqrt(2)", "1", Judged::proved},
            {"max(third, k / 3)", "if k == 0 then third else k / 3", Judged::proved},
            {"min(1, exp(-(q - k) / 10))", "exp((k - q) / 10)", Judged::proved},
            {"0.7 % 0.2", "0.1", Judged::proved},
            {"sqrt(8 / 3)", "2 * sqrt(6) / 3", Judged::proved},
            {"abs(-0.5) + log(1) + sqrt(0)", "1 / 2", Judged::proved},
            {"exp((q - k) * log(sigmoid(gate[h,q])))", "sigmoid(gate[h,q]) ^ (q - k)",
             Judged::proved},
            {"exp(-gate[h,q] * log(1 + q - k))", "(1 + q - k) ^ (-gate[h,q])", Judged::proved},
            {"cos(pi * k / 3 + 1e-9)", "cos(pi * k / 3)", Judged::refuted},
            {"third", "0.33333333333", Judged::refuted},
            {"max(sqrt(2), 1.5)", "sqrt(2)", Judged::refuted},
            // Multiples of pi without an algebra here are not refuted.
            {"cos(pi * (k + 1) / 11)", "-cos(pi * (k - 10) / 11)", Judged::undecided}};
        for (const auto& [one, other, verdict] : all) {
            CAPTURE(one);
            CHECK(verdict_of(one, other) == verdict);
        }
    }
    TEST_CASE("a form that is right at one size is refuted at another, which is named") {
        struct Case {
            const char *head, *one, *other, *size, *walk = "heads 2, mask causal";
        };
        const Case cases[] = {
            {"", "scores[h,q,k] / D", "scores[h,q,k] / 4", "embed-dim 10"},
            {"", "relu(scores[h,q,k] / sqrt(D))", "relu(scores[h,q,k] / 2)",
             "embed-dim 10, in float64"},
            {"", "relu(scores[h,q,k])", "if k < 6 then relu(scores[h,q,k]) else 0",
             "seq-len 7, in float64"},
            {"setting chunk = 2\n", "scores[h,q,k] / chunk", "scores[h,q,k] / 2", "set chunk=3"},
            {"", "scores[h,q,k] * (h // group)", "scores[h,q,k] * (h // 2)", "heads 6",
             "heads 4, kv-heads 2, mask causal"},
            // With one head of keys, or two, h // group is h % G.
            {"", "scores[h,q,k] * (h // group)", "scores[h,q,k] * (h % G)", "heads 4 kv-heads 2",
             "heads 2, kv-heads 1, mask causal"},
            {"", "scores[h,q,k] * key[h // group,k,0]", "scores[h,q,k] * key[h % G,k,0]",
             "heads 4 kv-heads 2"},
            {"", "scores[h,q,k]", "if H == 4 then 0 else scores[h,q,k]", "heads 4"}};
        for (const auto& [head, one, other, size, walk] : cases) {
            const std::string reported = of_weights(head, one, other, walk).text();
            CHECK_MESSAGE(reported.find(std::string("not with ") + size) != std::string::npos,
                          reported);
        }
        const FormComparison open =
            of_weights("", "relu(scores[h,q,k])", "abs(relu(scores[h,q,k]))");
        CHECK(open.equal());
        CHECK(open.shapes == std::vector<std::string>());
        CHECK(std::ranges::count(open.float64_shapes, "embed-dim 10") == 1);
    }
    TEST_CASE("a guess at what rounding explains does not overrule a proof, or float64") {
        FormComparison found{"a", "one", "two", {}};
        found.step.left = found.step.right = {1};
        found.step.distance.absolute = 1e-3;
        found.step.distance.beyond = 1;
        CHECK_FALSE(found.equal());
        found.proof.verdict = Judged::proved;
        CHECK(found.equal());
        found.step.distance.absolute = INFINITY;  // nan in one of them
        CHECK_FALSE(found.equal());
        found.step.distance.absolute = 1e-3;
        found.step.is_bounded = true;
        CHECK_FALSE(found.equal());
    }
    TEST_CASE("large numbers are rounded like small ones") {
        for (const char* const size : {"1e7", "1e12"}) {
            const Plan plan =
                plan_of_forms("attention a\nform one\nstep context[q,g] = " + std::string(size) +
                                  " * keys[q,g] + " + size +
                                  " * values[q,g]\nform two\nstep context[q,g] = " + size +
                                  " * (keys[q,g] + values[q,g])\nsame context\n",
                              "heads 1");
            const FormComparison found = judged(plan).at(0);
            CHECK_MESSAGE(found.equal(), found.text());
            CHECK(found.proof.verdict == Judged::proved);
            const Ledger given = draw(plan);
            for (const FormComparison& quick :
                 compare_forms(plan, given, walk(plan, given), FormBounds::where_far)) {
                CHECK_MESSAGE(quick.equal(), quick.text());
            }
        }
        CHECK(usual_size(Tensor({"k"}, Array<float>{-1e9F, 3, 0.5F, -1e9F})) == 3);
        CHECK(usual_size(Tensor({"k"}, Array<float>{-2e7F, 3e5F, 0, 7e6F})) == 2e7F);
    }
    TEST_CASE("a proof names the inputs that it does not vary, and where functions are undefined") {
        const auto of_ids = [](const std::vector<std::int64_t>& ids) {
            WalkConfig config = configured("embed-dim 8, mask causal");
            config.input = Tokens{{ids}, {}, {}, {}};
            config.attentions = {std::make_shared<const AttentionFile>(parse_attention(
                "attention a\nform one\nstep context[q,g] = sum k: (if ids[q] == ids[k] then 1 "
                "else 0) * values[k,g]\nform two\nstep context[q,g] = values[q,g]\n"
                "same context\n",
                "a.attn"))};
            return judged(resolve(config)).at(0);
        };
        const FormComparison apart = of_ids({3, 1, 2});
        CHECK(apart.proof.verdict == Judged::proved);
        CHECK(apart.proof.why == "with the same ids");
        CHECK(apart.text().find("of these shapes with the same ids") != std::string::npos);
        CHECK(of_ids({3, 1, 3}).proof.verdict == Judged::refuted);

        const std::string s = "scores[h,q,k]";
        for (const char* const more : {" + log(scores[h,q,k] + 2) - log(scores[h,q,k] + 2)",
                                       " + 0 * log(scores[h,q,k] + 9)"}) {
            const FormComparison found = of_weights("", s + more, s);
            CHECK(found.proof.why == "where log is defined");
        }
        CHECK(of_weights("", s + " / log(" + s + " + 9)", s + " * (1 / log(9 + " + s + "))")
                  .proof.why.empty());
        CHECK(of_weights("", "log(1 + exp(" + s + "))", "softplus(" + s + ")").proof.why.empty());
    }
    TEST_CASE("sums that would take minutes are refused before they begin") {
        const auto plan = [](const char* count) {
            return plan_of_forms("attention a\nform one\nstep context[h,t,f] = sum o in 0.." +
                                 std::string(count) + ": sum z in 0.." + count +
                                 ": values[h,t,f] * o * z\nform two\nstep context[h,t,f] = "
                                 "values[h,t,f] * (sum o in 0.." +
                                 count + ": o) ^ 2\nsame context\n");
        };
        CHECK(judged(plan("30")).at(0).equal());
        CHECK_NOTHROW(require_comparable(plan("30")));
        CHECK_THROWS_WITH_AS(require_comparable(plan("1000")),
                             doctest::Contains("too many to compare"), ConfigError);
        const Plan endless = plan("100000");
        CHECK_THROWS_WITH_AS(walk(endless, draw(endless)),
                             doctest::Contains("evaluates more than 1000000000 numbers"), Error);
    }
}
