#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/states.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/compare/forms.hpp"
#include "tests/support/thinned.hpp"

namespace attn {
namespace {

std::shared_ptr<const AttentionFile> file_of(const std::string& text) {
    return std::make_shared<const AttentionFile>(parse_attention(text, "mine.attn"));
}

/// A causal walk of two heads in float64, which 7 tokens do not divide evenly.
WalkConfig config_of(const std::string& text) {
    WalkConfig config;
    config.dtype = config.compute_dtype = DType::float64;
    configure(config, "seq-len 7, embed-dim 6, heads 2");
    config.mask.causal = true;
    config.attentions = {file_of(text)};
    return config;
}

/// Those whose flags give such a walk: the others are walked by the program alone.
std::vector<std::string> causal_attentions() {
    std::vector<std::string> names = shipped_attention_names();
    std::erase_if(names, [](const std::string& name) {
        return file_of(shipped_attention(name))->begins != "--heads 2 --mask causal";
    });
    return thinned(names);
}

Ledger walked_file(const WalkConfig& config) {
    const Plan plan = resolve(config);
    return walk(plan, draw(plan));
}

std::string refusal(const std::string& text) {
    try {
        walked_file(config_of(text));
    } catch (const Error& error) {
        const std::string message = error.what();
        return message.substr(0, message.find('\n'));
    }
    return {};
}

}  // namespace

TEST_SUITE("attention files") {
    TEST_CASE(
        "a step that reads its own earlier rows accumulates, whatever the order of its axes") {
        const Ledger ledger = walked_file(config_of(
            "attention a\n"
            "step total[h,t,f] = (if t == 0 then 0 else total[h,t - 1,f]) + values[h,t,f]\n"
            "step count[t] = (if t == 6 then 0 else count[t + 1]) + 1\n"
            "step fibonacci[t] = if t < 2 then 1 else fibonacci[t - 1] + fibonacci[t - 2]\n"
            "step doubled[t] = 1 + sum r in 0..t: doubled[r]\n"
            "step context[h,t,f] = total[h,t,f] + count[t] + fibonacci[t] + doubled[t]\n"));
        const Tensor &total = ledger["total"], &value = ledger["value"];
        for (std::size_t i = 0; i < total.size(); ++i) {
            const bool is_first = i % 21 < 3;
            const double before = is_first ? 0 : total.at(i - 3);
            CHECK(total.at(i) == before + value.at(i));
        }
        CHECK(ledger["count"].numbers() == std::vector<double>{7, 6, 5, 4, 3, 2, 1});
        CHECK(ledger["fibonacci"].numbers() == std::vector<double>{1, 1, 2, 3, 5, 8, 13});
        CHECK(ledger["doubled"].numbers() == std::vector<double>{1, 2, 4, 8, 16, 32, 64});
        CHECK_FALSE(ledger.has("scores"));  // no later step reads them
        CHECK_FALSE(ledger.has("row_max"));
    }
    TEST_CASE("when: the first step of a name whose conditions are true is run") {
        const std::string text =
            "attention a\n"
            "step weights[h,q,k] = scores[h,q,k]\n  when not causal\n"
            "step weights[h,q,k] = 2 * scores[h,q,k]\n  when causal, not sink\n"
            "step extra[h,q] = sum k: weights[h,q,k]\n  when sink\n"
            "step context[h,q,f] = sum k: weights[h,q,k] * values[h,k,f]\n";
        WalkConfig config = config_of(text);
        const Ledger causal = walked_file(config);
        CHECK(causal["weights"].at(0) == 2 * causal["masked_scores"].at(0));
        CHECK_FALSE(causal.has("extra"));
        config.mask.causal = false;
        const Ledger open = walked_file(config);
        CHECK(open["weights"].at(1) == open["scaled_scores"].at(1));
        CHECK(refusal("attention a\nstep weights[h,q,k] = 1\n  when causl\n") ==
              "mine.attn:3: there is no condition 'causl'; did you mean causal?");
        CHECK(refusal("attention a\nstep weights[h,q,k] = 1\n  when causal\n"
                      "step weights[h,q,k] = 2\n  when causal\n") ==
              "mine.attn:2: two steps make weights");
    }
    TEST_CASE("loop: the step is computed by the hand-written function, bit for bit") {
        const auto last = [](const std::string& loop) {
            WalkConfig config = config_of(
                "attention a\nstep scores[h,q,k] = sum f: queries[h,q,f] * keys[h,k,f]\n" + loop);
            config.dtype = config.compute_dtype = DType::float32;
            return config;
        };
        WalkConfig plain = last("");
        plain.attentions.clear();
        CHECK(walked_file(last("  loop scores\n"))["scores"].numbers() ==
              walked_file(plain)["scores"].numbers());
        CHECK(refusal("attention a\nstep scores[h,q,k] = 1\n  loop score\n") ==
              "mine.attn:2: there is no loop 'score'; did you mean scores?");
        CHECK(
            refusal("attention a\nstep scores[h,q,k] = 1\n  loop split_heads\n") ==
            "mine.attn:2: the loop split_heads makes a step of the walk itself: leave it out, and "
            "the rule is computed");
        CHECK(refusal("attention a\nstep scores[h,q,k] = sum f: queries[h,q,f]\n  loop scores\n") ==
              "mine.attn:2: its loop reads more than its rule: leave the loop of scores out");
    }
    TEST_CASE("at once: in 16 bits a step is rounded when it is complete") {
        const std::string step = "attention a\nstep context[h,q,f] = exp(values[h,q,f]) / 3 + 1\n";
        const auto result = [](const std::string& text) {
            WalkConfig config = config_of(text);
            config.dtype = config.compute_dtype = DType::bfloat16;
            return walked_file(config);
        };
        const Ledger once = result(step + "  at once\n"), often = result(step);
        const Tensor &value = once["value"], &context = once["context"];
        for (std::size_t i = 0; i < value.size(); ++i) {
            const auto exact =
                static_cast<float>(std::exp(static_cast<float>(value.at(i)))) / 3.0F + 1.0F;
            CHECK(std::abs(context.at(i) - exact) <= std::abs(exact) / 256);
        }
        CHECK(context.numbers() != often["context"].numbers());
    }
    TEST_CASE("detail: a step that is shown on request") {
        const WalkConfig config = config_of(
            "attention a\nstep part[h,q] = max k: scores[h,q,k]\n  detail\n"
            "step weights[h,q,k] = scores[h,q,k] - part[h,q]\n");
        const Plan plan = resolve(config);
        CHECK_FALSE(find_step(step_table(plan), "part").shown);
        CHECK(walk(plan, draw(plan)).has("part"));
    }
    TEST_CASE("parameters are drawn after the walk's own, which stay the same") {
        WalkConfig config = config_of(
            "attention a\naxis o < H * 3\nsetting twice = 2\n"
            "parameter w_mine[o,c] ~ linear\nparameter near[h] ~ normal(5, 0.001)\n"
            "parameter begun[h] = twice ^ h\n"
            "step context[h,q,f] = begun[h] * near[h] * w_mine[h * 3 + f,0] + scores[h,q,0]\n");
        config.output_projection = true;
        const Ledger with = walked_file(config);
        config.attentions.clear();
        const Ledger without = walked_file(config);
        for (const char* name : {"x", "w_query", "w_output"}) {
            CHECK(with[name].numbers() == without[name].numbers());
        }
        CHECK(with["w_mine"].shape() == Shape{6, 6});
        CHECK(std::abs(with["w_mine"].at(3)) <= 1 / std::sqrt(6.0));
        CHECK(with["near"].at(1) == doctest::Approx(5).epsilon(0.01));
        CHECK(with["begun"].numbers() == std::vector<double>{1, 2});
        config.attentions = {
            file_of("attention a\nsetting twice = 2\nparameter begun[h] = twice\n"
                    "step context[h,q,f] = begun[h]\n")};
        config.attention_settings = {{"twice", 7}};
        CHECK(walked_file(config)["context"].at(0) == 7);
    }
    TEST_CASE("a step comes before the steps that read the chain it extends") {
        const std::string rest = "step context[h,q,f] = sum k: weights[h,q,k] * values[h,k,f]\n";
        const std::string half = "step half[h,q,k] = scores[h,q,k] / 2\n";
        const auto weights = [](const std::string& text) {
            return walked_file(config_of("attention a\n" + text))["weights"].numbers();
        };
        const std::vector<double> right = weights(
            "step masked_scores[h,q,k] = if mask[q,k] then -inf else scores[h,q,k] / 2\n" + rest);
        CHECK(weights(half + "extends scores\n" + rest) == right);
        CHECK(weights(half + "step own[h,q,k] = half[h,q,k]\nextends scores\n" + rest) == right);
        const Ledger unread = walked_file(config_of("attention a\n" + half + rest));
        CHECK(unread["weights"].numbers() != right);
        const Plan plan = resolve(config_of("attention a\n" + half + rest));
        CHECK(find_step(step_table(plan), "half").remarks ==
              "scores here is masked_scores: write latest scores, because from the next version on "
              "scores is "
              "the step itself. No step reads it.");
    }
    TEST_CASE("contexts of other heads are merged as they are, projected, and backpropagated") {
        WalkConfig config = config_of(
            "attention a\naxis g < H / 2\naxis e < 2 * Dv\n"
            "step pair[g,q,e] = context[2 * g + e / Dv,q,e % Dv] + 0\nextends contexts\n");
        config.heads = 4;
        config.embed_dim = 8;
        config.output_projection = true;
        const Plan plan = resolve(config);
        const Ledger ledger = walk(plan, draw(plan), with_gradients(step_table(plan), plan, {}));
        CHECK(ledger["pair"].shape() == Shape{2, 7, 4});
        CHECK(ledger["merged"].shape() == Shape{7, 8});
        CHECK(ledger["d_w_output"].shape() == Shape{8, 8});
        config.attentions = {};
        CHECK(walked_file(config)["merged"].numbers() == ledger["merged"].numbers());
        config.attentions = {file_of(
            "attention a\naxis g < H / 2\n"
            "step pair[g,q,f] = context[2 * g,q,f] - context[2 * g + 1,q,f]\nextends contexts\n")};
        const Ledger halved = walked_file(config);
        CHECK(halved["merged"].shape() == Shape{7, 4});
        CHECK(halved["merged"].at(1) == halved["pair"].at(1));
        CHECK(halved["w_output"].shape() == Shape{8, 4});
        CHECK(halved["output"].shape() == Shape{7, 8});
    }
    TEST_CASE(
        "every form of a shipped attention computes what its file promises, with batches too") {
        for (const std::string& name : causal_attentions()) {
            for (const std::optional<std::int64_t> batch : {std::optional<std::int64_t>(), {2}}) {
                INFO(name);
                WalkConfig config = config_of(shipped_attention(name));
                config.batch = batch;
                const Plan plan = resolve(config);
                const Ledger given = draw(plan);
                const Ledger ledger = walk(plan, given);
                for (const FormComparison& each :
                     compare_forms(plan, given, ledger, FormBounds::all)) {
                    CHECK_MESSAGE(each.step.equal(), each.text());
                }
            }
        }
    }
    TEST_CASE(
        "states that were not requested are not kept, and steps that read them are the same") {
        std::set<std::string> left_out;
        for (const std::string& name : causal_attentions()) {
            WalkConfig config = config_of(shipped_attention(name));
            if (0 == std::ranges::count(config.attentions[0]->forms, "recurrent")) continue;
            config.form = "recurrent";
            for (const std::optional<std::int64_t> batch : {std::optional<std::int64_t>(), {2}}) {
                INFO(name);
                config.batch = batch;
                const Plan plan = resolve(config);
                const Ledger given = draw(plan);
                const Ledger whole = walk(plan, given);
                // One row at a time, a few, and all at once.
                for (const std::size_t stored : {1, 100, 1 << 20}) {
                    const Ledger result =
                        walk(plan, given, without_states(step_table(plan), plan, {}, stored));
                    CHECK(same_numbers(result["context"], whole["context"]));
                    for (const auto& [step, tensor] : whole.entries()) {
                        if (!result.has(step)) left_out.insert(name + " " + step);
                    }
                }
                const Ledger kept =
                    walk(plan, given, without_states(step_table(plan), plan, {"state"}));
                CHECK(kept.has("state") == whole.has("state"));
            }
        }
        for (const char* name : {"retention", "deltanet", "gated-linear", "mamba2", "rwkv6"}) {
            if (thinned_by == 1) {
                CHECK_MESSAGE(left_out.contains(std::string(name) + " state"), name);
            }
        }
    }
    TEST_CASE("a part of a recurrence equals that part of the whole walk, from a given state too") {
        WalkConfig config = config_of(shipped_attention("retention"));
        config.form = "recurrent";
        const Plan plan = resolve(config);
        const StepTable table = step_table(plan);
        Ledger given = draw(plan);
        const std::vector<WantedPart> wanted = {{"context", "1,2:5", true}};
        REQUIRE(can_walk_parts(plan, given, table));
        CHECK(same_numbers(walk_parts(plan, given, table, wanted)[0].tensor,
                           slice(walk(plan, given)["context"], "1,2:5")));

        const Tensor state = walk(plan, given)["state"];
        Array<double> nothing = empty_array<double>(state.shape());
        std::fill_n(nothing.data(), nothing.size(), 0.0);
        given.record("state", Tensor(state.axes(), std::move(nothing)));
        CHECK_FALSE(can_walk_parts(plan, given, table));
        const std::vector<double> read = walk_parts(plan, given, table, wanted)[0].tensor.numbers();
        CHECK(read == std::vector<double>(read.size(), 0.0));
    }
    TEST_CASE("gradients flow back along a recurrence, and to parameters") {
        for (const std::string& name : causal_attentions()) {
            const auto file = file_of(shipped_attention(name));
            for (const std::string& form : file->forms) {
                INFO(name << " " << form);
                WalkConfig config = config_of(shipped_attention(name));
                config.query_len = 3;
                config.embed_dim = 4;
                config.form = form;
                const Plan plan = resolve(config);
                const StepTable table =
                    with_gradient_checks(with_gradients(step_table(plan), plan, {}), plan);
                const Ledger ledger = walk(plan, draw(plan), table);
                const GradientCheck check = *gradient_check(ledger);
                CHECK_MESSAGE(check.off.empty(), check.text());
                for (const AttentionParameter& each : config.attentions[0]->parameters) {
                    CHECK(ledger.has("d_" + each.name));
                }
            }
        }
    }
    TEST_CASE("forms that differ are reported with the cell") {
        const Plan plan = resolve(config_of(
            "attention a\nform one\nstep context[h,q,f] = 1\nform two\n"
            "step context[h,q,f] = if q == 2 and h == 1 then 1.5 else 1\nsame context\n"));
        const Ledger given = draw(plan);
        const auto found = compare_forms(plan, given, walk(plan, given), FormBounds::where_far);
        REQUIRE(found.size() == 1);
        CHECK_FALSE(found[0].step.equal());
        CHECK(found[0].text().starts_with("context[1,2,0] is 1 in one and 1.5 in two"));
    }
    TEST_CASE("a long recurrence does not hide a form that is wrong") {
        const std::string right = shipped_attention("deltanet");
        const std::size_t form = right.find("form parallel");
        const std::size_t end = right.find('\n', right.find("step  context", form));
        REQUIRE(end != right.npos);
        std::string wrong = right;
        wrong.insert(end, " + 0.001");
        for (const std::string& text : {right, wrong}) {
            WalkConfig config = config_of(text);
            config.dtype = config.compute_dtype = DType::float32;
            config.query_len = 160;
            const Plan plan = resolve(config);
            const Ledger given = draw(plan);
            const auto found = compare_forms(plan, given, walk(plan, given), FormBounds::all);
            REQUIRE(found.size() == 1);
            CHECK(found[0].step.equal() == (text == right));
        }
    }
    TEST_CASE("impossible files are refused with the file and the line") {
        const std::string a = "attention a\n";
        const std::string use = "step context[h,q,f] = ";
        CHECK(refusal("title b\n").starts_with("mine.attn:1: an attention file begins with"));
        CHECK(
            refusal(a + "stp b[q] = 1\n")
                .starts_with(
                    "mine.attn:2: there is no word 'stp' in attention files; did you mean step?"));
        CHECK(refusal(a + "note b\n").starts_with("mine.attn:2: note is not expected here"));
        CHECK(refusal(a + "step b[q] = \n").starts_with("mine.attn:2: expected"));
        CHECK(refusal(a + use + "c[q] + 0\nstep c[q] = 1\n").starts_with("mine.attn:2: "));
        CHECK(refusal(a + "step b[o] = 1\n" + use + "b[0]\n")
                  .starts_with("mine.attn:2: the range of o is unknown"));
        CHECK(refusal(a + "axis o < D / 2\nstep b[o] = 1\n" + use + "b[0]\n")
                  .starts_with("mine.attn:2: the axis o would have 1.5"));
        CHECK(refusal(a + "step b[h,t,f] = b[h,t + 1,f] + b[h,t - 1,f]\n" + use + "b[h,q,f]\n")
                  .starts_with("mine.attn:2: b would depend on itself"));
        CHECK(refusal(a + "step b[t] = b[t - 1] + 1\n" + use + "b[q]\n")
                  .starts_with("mine.attn:2: the first t has none before it"));
        CHECK(refusal(a + "setting n = 2\n" + use + "1\n")
                  .starts_with("mine.attn:2: no rule reads the setting n"));
        CHECK(refusal(a + "parameter w[h] ~ linear\n" + use + "1\n")
                  .starts_with("mine.attn:2: no rule reads the parameter w"));
        CHECK(refusal(a + "parameter w[h] ~ gauss\n" + use + "w[h]\n")
                  .starts_with("mine.attn:2: there is no distribution 'gauss'"));
        CHECK(refusal(a + use + "values[h,q + 9,f]\n").starts_with("mine.attn:2: there is no key"));
        CHECK(refusal(a + use + "1\nsame context\n")
                  .starts_with("mine.attn:3: `same` needs two forms"));
        const std::string b = "step b[h,q,k] = scores[h,q,k]\n" + use + "b[h,q,0]\n";
        CHECK(refusal(a + "step b[q] = 1\nnote Head {largets} is most.\n" + use + "b[q]\n")
                  .starts_with("mine.attn:3: notes have no fact {largets}; did you mean largest?"));
        CHECK(refusal(a + "step b[q] = 1\nnote Head {largest is most.\n" + use + "b[q]\n")
                  .starts_with("mine.attn:3: the brace of {largest is most. is not closed"));
        CHECK(refusal(a + "parameter w[h] ~ normal(0, -1)\n" + use + "w[h]\n")
                  .starts_with("mine.attn:2: a standard deviation cannot be negative"));
        CHECK(refusal(a + "parameter w[h] ~ uniform(1, 0)\n" + use + "w[h]\n")
                  .starts_with("mine.attn:2: uniform(least, most) takes the smaller number first"));
        CHECK(refusal(a + "axis r < 4\n" + b).starts_with("mine.attn:2: nothing has the axis r"));
        CHECK(refusal(a + b + "mistake m at b\nrule b[h,q,k] = scores[h,q,k]\ntitle t\n")
                  .starts_with("mine.attn:4: the rule of the mistake m is that of its step"));
        CHECK(refusal(a + "step b[t] = if t == 0 then 0 else c[t - 1]\nstep c[t] = b[t] + 1\n" +
                      use + "b[q]\n")
                  .starts_with("mine.attn:2: c is made after b: they read each other; join them"));
        CHECK(refusal(a + use + "c[q]\nstep c[q] = 1\n")
                  .starts_with("mine.attn:2: c is made after context: say it before"));
        CHECK(refusal(a + "axis n < 2\nstep b[t,n] = x[t,n]\n" + use + "b[q,0]\n")
                  .starts_with("mine.attn:3: n is 2 in b and 6 in x: n + 0 reads its first 2"));
        CHECK(refusal(a + "step b[h,q,k] = scores[h,q,k]\nextends scores\nafter weights\n")
                  .starts_with("mine.attn:2: b extends scores, but no step after it reads them"));
        CHECK(refusal(a + "#" + std::string(70000, 'x')).starts_with("mine.attn:1: it is larger"));
    }
}

}  // namespace attn
