#include "attn/judge/compare/proof.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <regex>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/judge/compare/derive.hpp"
#include "attn/judge/compare/forms.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/support/thinned.hpp"

using namespace attn;

namespace {

using Judged = Proof::Verdict;

WalkConfig config_of(const std::string& text) {
    WalkConfig config = configured("seq-len 5, embed-dim 8, heads 2, mask causal");
    config.attentions = {std::make_shared<const AttentionFile>(parse_attention(text, "a.attn"))};
    return config;
}

/// The proofs of all steps that a file claims.
std::vector<FormComparison> compared(const WalkConfig& config) {
    const Plan plan = resolve(config);
    const Ledger given = draw(plan);
    return compare_forms(plan, given, walk(plan, given), FormBounds::all);
}

/// True if two ways to compute `context` are the same function.
Proof proof_of(const std::string& one, const std::string& other) {
    const bool has_gate = (one + other).find("gate") != std::string::npos;
    const std::string text = std::string("attention a\n") +
                             (has_gate ? "parameter gate[h,t] ~ normal\n" : "") + "form one\n" +
                             one + "\nform two\n" + other + "\nsame context\n";
    INFO(one << " against " << other);
    const auto found = compared(config_of(text));
    REQUIRE(found.size() == 1);
    return found[0].proof;
}

Proof proof_of_context(const std::string& one, const std::string& other) {
    return proof_of("step context[h,q,f] = " + one, "step context[h,q,f] = " + other);
}

}  // namespace

TEST_SUITE("compare: proofs") {
    TEST_CASE("identities of sums, powers, exponentials and angles are proved") {
        const std::pair<const char*, const char*> same[] = {
            {"(query[h,q,f] + value[h,q,f]) ^ 2",
             "query[h,q,f] ^ 2 + 2 * query[h,q,f] * value[h,q,f] + value[h,q,f] ^ 2"},
            {"exp(query[h,q,f] + key[h,q,f])", "exp(key[h,q,f]) * exp(query[h,q,f])"},
            {"tanh(query[h,q,f])", "2 * sigmoid(2 * query[h,q,f]) - 1"},
            {"cos(query[h,q,f] - key[h,q,f])",
             "cos(query[h,q,f]) * cos(key[h,q,f]) + sin(query[h,q,f]) * sin(key[h,q,f])"},
            {"sin(query[h,q,f]) ^ 2 + cos(query[h,q,f]) ^ 2", "1"},
            {"exp(sum t in 0..q + 1: logsigmoid(gate[h,t]))",
             "prod t in 0..q + 1: sigmoid(gate[h,t])"},
            {"exp(-softplus(query[h,q,f]))", "1 - sigmoid(query[h,q,f])"},
            {"query[h,q,f] / sqrt(12)", "query[h,q,f] / (2 * sqrt(3))"},
            {"query[h,q,f] * 8 ^ (1 / 2)", "query[h,q,f] * 4 / sqrt(2)"},
            {"query[h,q,f] * 0.1 + query[h,q,f] * 0.2", "query[h,q,f] * 0.3"},
            {"silu(query[h,q,f])", "query[h,q,f] - query[h,q,f] * sigmoid(-query[h,q,f])"},
            {"query[h,q,f] / (1 + exp(-key[h,q,f]))", "query[h,q,f] * sigmoid(key[h,q,f])"}};
        for (const auto& [one, other] : same) {
            const Proof proof = proof_of_context(one, other);
            CHECK_MESSAGE(proof.verdict == Judged::proved, one << ": " << proof.why);
        }
    }
    TEST_CASE("softmax is the same without the maximum score, and with any other shift") {
        const std::string values = "\nstep context[h,q,f] = sum k: weights[h,q,k] * value[h,k,f]";
        const auto softmax = [&](const std::string& shift) {
            const std::string at_j = std::regex_replace(shift, std::regex("k"), "j");
            return "step weights[h,q,k] = exp(masked_scores[h,q,k]" + shift +
                   ") / sum j: exp(masked_scores[h,q,j]" + at_j + ")" + values;
        };
        const std::string plain = softmax("");
        CHECK(
            proof_of(plain, "step context[h,q,f] = sum k: weights[h,q,k] * value[h,k,f]").verdict ==
            Judged::proved);
        for (const char* shift : {" - 3", " + gate[h,q]"}) {
            const std::string other = softmax(shift);
            CHECK(proof_of(plain, other).verdict == Judged::proved);
        }
        CHECK(proof_of(plain, softmax(" + gate[h,k]")).verdict == Judged::refuted);
    }
    TEST_CASE("a difference that float32 hides is refuted") {
        const std::pair<const char*, const char*> others[] = {
            {"query[h,q,f]", "query[h,q,f] + 1e-12"},
            {"query[h,q,f] / 3", "query[h,q,f] * 0.3333333333"},
            {"query[h,q,f] / sqrt(2)", "query[h,q,f] * 0.7071067811865476"},
            {"query[h,q,f]", "query[h,q,f] * (1 + 1e-9 * key[h,q,f])"},
            {"exp(query[h,q,f])", "exp(query[h,q,f] * 1.0000000001)"},
            {"query[h,q,f]", "if f == 2 then query[h,q,f] + 1e-15 else query[h,q,f]"}};
        for (const auto& [one, other] : others) {
            const Proof proof = proof_of_context(one, other);
            CHECK_MESSAGE(proof.verdict == Judged::refuted, one << ": " << proof.why);
        }
    }
    TEST_CASE(
        "a difference that needs an order of numbers, or a square root, is not decided and never "
        "refuted") {
        const std::pair<const char*, const char*> same[] = {
            {"relu(query[h,q,f]) - relu(-query[h,q,f])", "query[h,q,f]"},
            {"max(query[h,q,f], key[h,q,f])", "max(key[h,q,f], query[h,q,f])"},
            {"sqrt(exp(query[h,q,f]))", "exp(query[h,q,f] / 2)"},
            {"if query[h,q,f] > 0 then query[h,q,f] else query[h,q,f]", "query[h,q,f]"},
            {"abs(query[h,q,f]) ^ 2", "query[h,q,f] ^ 2"}};
        for (const auto& [one, other] : same) {
            const Proof proof = proof_of_context(one, other);
            CHECK_MESSAGE(proof.verdict == Judged::undecided, one);
            CHECK_FALSE(proof.why.empty());
        }
        // Equal wherever both are numbers, but the first is nan for negative ones.
        CHECK(proof_of_context("exp(log(query[h,q,f]))", "query[h,q,f]").verdict ==
              Judged::undecided);
        CHECK(
            proof_of_context("value[h,argmax t in 0..5: query[h,t,0],f]", "value[h,0,f]").verdict ==
            Judged::undecided);
    }
    TEST_CASE("a recurrence is proved equal to its sum, and refuted from another first state") {
        const auto recurrence = [](const std::string& first) {
            return "step state[h,t,f] = (if t == 0 then " + first +
                   " else state[h,t - 1,f]) * sigmoid(gate[h,t]) + key[h,t,f]\n"
                   "step context[h,q,f] = state[h,q,f]";
        };
        const std::string sum =
            "step context[h,q,f] = sum t in 0..q + 1: key[h,t,f] * prod j in t + 1..q + 1: "
            "sigmoid(gate[h,j])";
        CHECK(proof_of(sum, recurrence("0")).verdict == Judged::proved);
        CHECK(proof_of(sum, recurrence("1e-30")).verdict == Judged::refuted);
    }
    TEST_CASE("no mistake in a published attention is proved equal to another form") {
        std::size_t tried = 0;
        for (const std::string& name : thinned(shipped_attention_names())) {
            const std::string text = shipped_attention(name);
            const AttentionFile file = parse_attention(text, name);
            if (file.same.empty() || file.begins != "--heads 2 --mask causal") continue;
            for (const AttentionMistake& mistake : file.mistakes) {
                for (const std::string& form : file.forms) {
                    WalkConfig config = config_of(text);
                    config.form = form;
                    const Plan plan = resolve(config);
                    const Ledger given = draw(plan);
                    const StepTable right = step_table(plan);
                    const Mistake& computed_by = find_mistake(mistake.id, plan);
                    if (!computed_by.applies(plan)) continue;  // it belongs to another form
                    const StepTable wrong = with_mistake(right, plan, computed_by);
                    const Ledger result = walk(plan, given, right);
                    const Ledger walked_wrong = walk(plan, given, wrong);
                    const bool shows = !same_numbers(result["context"], walked_wrong["context"]);
                    ExactWalk one(plan, right, given, result);
                    ExactWalk other(plan, wrong, given, walked_wrong);
                    const Proof proof = prove_same(one, other, "context");
                    CHECK_MESSAGE((proof.verdict == Judged::proved) == !shows,
                                  name << " " << mistake.id);
                    tried += shows ? 1U : 0U;
                }
            }
        }
        CHECK(tried >= 30 / thinned_by);
    }
    TEST_CASE("every form of a published attention is proved, except if numbers are sorted") {
        for (const std::string& name : thinned(shipped_attention_names())) {
            const WalkConfig config = config_of(shipped_attention(name));
            if (config.attentions[0]->begins != "--heads 2 --mask causal") continue;
            for (const FormComparison& each : compared(config)) {
                const Judged needed = name == "sparsemax" ? Judged::undecided : Judged::proved;
                CHECK_MESSAGE(each.proof.verdict == needed, each.text());
            }
        }
    }
    TEST_CASE("a maximum that cancels hides no mistake") {
        const auto weighted = [](const std::string& weight) {
            return "sum k: (" + weight + ") * value[h,k,f]";
        };
        const std::string softmax = weighted("softmax k: masked_scores[h,q,k]");
        const std::string parts = "exp(masked_scores[h,q,k]) / ";
        const std::string sum = "(sum j: exp(masked_scores[h,q,j]))";
        CHECK(proof_of_context(softmax, weighted(parts + sum)).verdict == Judged::proved);
        for (const char* more : {" + 1e-12", " * 1.000000001"}) {
            CHECK(proof_of_context(softmax, weighted(parts + "(" + sum + more + ")")).verdict ==
                  Judged::refuted);
        }
        // The maximum itself is a number of which nothing is known.
        CHECK(proof_of_context("max k: masked_scores[h,q,k]", "masked_scores[h,q,0]").verdict !=
              Judged::proved);
    }
    TEST_CASE("float64 decides what float32 hides and algebra cannot decide") {
        const std::string text =
            "attention a\nform one\nstep context[h,q,f] = value[h,q,f] / sqrt(1 + key[h,q,f] ^ 2)\n"
            "form two\nstep context[h,q,f] = value[h,q,f] / sqrt(1.000000001 + key[h,q,f] ^ 2)\n"
            "same context\n";
        const auto found = compared(config_of(text));
        CHECK(found[0].step.equal());
        CHECK_FALSE(found[0].equal());
        CHECK(found[0].text().find("in float64") != std::string::npos);
    }
    TEST_CASE("a form that is right at this length alone is refuted at others") {
        const auto text = [](const std::string& end) {
            return "attention a\nform one\nstep context[h,q,f] = sum k: value[h,k,f]\nform two\n"
                   "step context[h,q,f] = sum k in 0.." +
                   end +
                   ": if k < 5 then value[h,k,f] else 0\n"
                   "same context\n";
        };
        const auto found = compared(config_of(text("Tk")));
        CHECK_FALSE(found[0].equal());
        CHECK(found[0].text().find("but not with seq-len 7") != std::string::npos);
        const std::string right =
            "attention a\nform one\nstep context[h,q,f] = sum k: value[h,k,f]\nform two\n"
            "step total[h,t,f] = (if t == 0 then 0 else total[h,t - 1,f]) + value[h,t,f]\n"
            "step context[h,q,f] = total[h,Tk - 1,f]\nsame context\n";
        const auto all = compared(config_of(right));
        CHECK(all[0].equal());
        CHECK(all[0].shapes == std::vector<std::string>{
                                   "seq-len 1", "seq-len 2", "seq-len 7", "seq-len 12", "heads 3",
                                   "heads 4", "value-dim 5", "embed-dim 10", "embed-dim 12"});
    }
    TEST_CASE("gradients of inputs and parameters are proved, too") {
        const Plan plan = resolve(config_of(shipped_attention("gated-linear")));
        std::size_t proved = 0;
        for (const FormComparison& each : compare_gradients(plan, draw(plan))) {
            CHECK_MESSAGE(each.equal(), each.text());
            proved += each.proof.verdict == Judged::proved ? 1U : 0U;
        }
        CHECK(proved > 4);
    }
    TEST_CASE("a rule of the user is held to the step that it replaces") {
        const auto verdict = [](const std::string& rule) {
            WalkConfig config = configured("seq-len 4, embed-dim 4, mask causal");
            config.rules = {"scores[q,k] = sum f: queries[q,f] * keys[k,f]", rule};
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            return compare_rule(plan, 1, given, walk(plan, given)).proof.verdict;
        };
        CHECK(verdict("weights[q,k] = softmax k: latest scores[q,k]") == Judged::proved);
        CHECK(verdict("scaled_scores[q,k] = scores[q,k] / sqrt(D)") == Judged::proved);
        CHECK(verdict("scaled_scores[q,k] = scores[q,k] / 2.000000001") == Judged::refuted);
        CHECK(verdict("weights[q,k] = exp(latest scores[q,k]) / (1e-15 + sum j: exp(latest "
                      "scores[q,j]))") == Judged::refuted);
    }
    TEST_CASE("differences that are called harmless leave the function as it is") {
        std::size_t proved = 0;
        for (const char* settings : {"seq-len 3, embed-dim 4, heads 2, mask causal",
                                     "seq-len 4, embed-dim 8, heads 2, rope half, bias",
                                     "seq-len 4, heads 2, position-bias alibi, mask causal"}) {
            const Plan plan = resolve(configured(settings));
            const Ledger given = draw(plan);
            const StepTable& right = step_table(plan);
            const Ledger result = walk(plan, given, right);
            for (const Mistake& entry : harmless_differences()) {
                // A finite number in place of -inf is harmless in float32, and no identity.
                const bool fills = entry.id.find("-fill") != std::string::npos;
                if (!entry.applies(plan) || entry.rewrites_result || fills) continue;
                const StepTable other = entry.apply(right, plan);
                const Ledger made_other = walk(plan, given, other);
                ExactWalk one(plan, right, given, result), another(plan, other, given, made_other);
                const Proof proof = prove_same(one, another, result.entries().back().name);
                CHECK_MESSAGE(proof.verdict != Judged::refuted, entry.id);
                proved += proof.verdict == Judged::proved ? 1U : 0U;
            }
        }
        CHECK(proved > 10);
    }
    TEST_CASE("the laws of attention are proved") {
        for (const std::string& name : shipped_law_names()) {
            WalkConfig config = config_of(shipped_attention(name));
            std::string begins = config.attentions[0]->begins;
            WalkConfig own = configured("seq-len 3, embed-dim 8");
            for (std::size_t at; (at = begins.find(" --")) != begins.npos;)
                begins.replace(at, 3, ", ");
            if (!begins.empty()) configure(own, begins.substr(2));
            own.attentions = config.attentions;
            for (const FormComparison& each : compared(own)) {
                CHECK_MESSAGE(each.proof.verdict == Judged::proved, name << ": " << each.text());
            }
        }
    }
    TEST_CASE("a derived form is proved, or the factor that stands in the way is named") {
        const auto derived = [](const std::string& text, const std::string& form) {
            WalkConfig config = config_of(text);
            const std::string result =
                with_derived_form(*config.attentions[0], resolve(config), derived_form(form));
            INFO(result);
            config.attentions = {
                std::make_shared<const AttentionFile>(parse_attention(result, "derived"))};
            std::size_t proved = 0;
            for (const FormComparison& each : compared(config)) {
                CHECK_MESSAGE(each.proof.verdict == Judged::proved, each.text());
                proved += each.right == config.attentions[0]->forms.back() ? 1U : 0U;
            }
            CHECK(proved == 1);
            return result;
        };
        for (const char* form : {"recurrent", "chunked:2", "chunked:3"}) {
            CAPTURE(form);
            derived(
                "attention a\nparameter gate[h,t] ~ normal\nparameter rate[h,t,f] ~ normal\n"
                "step weights[h,q,k] = if k > q then 0 else (sum f: queries[h,q,f] * keys[h,k,f] * "
                "exp(sum t in k + 1..q + 1: logsigmoid(rate[h,t,f]))) * exp(gate[h,q] - gate[h,k]) "
                "* 2 ^ (q - k) / (1 + q)\n",
                form);
            derived(
                "attention a\n"
                "step weights[h,q,k] = if k > q then 0 else (sum f: queries[h,q,f] * "
                "keys[h,k,f]) ^ 2 + 1\n"
                "step context[h,q,f] = (sum k: weights[h,q,k] * values[h,k,f]) / sum k: "
                "weights[h,q,k]\n",
                form);
            for (const char* name : {"retention", "linear", "gated-linear", "mamba2"}) {
                CAPTURE(name);
                derived(shipped_attention(name), form);
            }
        }
        const auto refusal = [&](const std::string& text) -> std::string {
            try {
                derived(text, "recurrent");
            } catch (const ConfigError& error) {
                return error.what();
            }
            return {};
        };
        CHECK(refusal("attention a\nstep weights[h,q,k] = relu(latest scores[h,q,k])\n")
                  .find("relu(") != std::string::npos);
        CHECK(refusal(shipped_attention("alibi")).find("exp(") != std::string::npos);
        CHECK_THROWS_AS(derived_form("chunked:0"), ConfigError);
    }
}
