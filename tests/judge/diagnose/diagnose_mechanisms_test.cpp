// Mistakes outside the catalogue: what diagnose infers from the numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attn/core/settings/settings.hpp"
#include "attn/judge/mistakes/change.hpp"
#include "tests/judge/diagnose/diagnosed.hpp"

using namespace attn;
using namespace attn::testing;

namespace {

/// All steps, or the last one alone, of a walk with its table changed.
Diagnosis diagnosed(const WalkConfig& config, const TableEdit& edit, bool all) {
    const Plan plan = resolve(config);
    const Ledger given = draw(plan);
    const Ledger wrong = walk(plan, given, edit(step_table(plan), plan));
    const Ledger steps = computed_steps(wrong);
    if (all) return diagnose(plan, given, steps);
    Ledger last;
    last.record(steps.entries().back().name, steps.entries().back().tensor);
    return diagnose(plan, given, last);
}

bool mentions(const Diagnosis& diagnosis, const std::string& words) {
    return std::ranges::any_of(diagnosis.findings, [&](const Finding& finding) {
        return std::ranges::any_of(finding.evidence, [&](const std::string& line) {
            return line.find(words) != std::string::npos;
        });
    });
}

WalkConfig seeded(std::uint64_t seed) {
    WalkConfig config = causal_config();
    config.seed = seed;
    configure(config, "seq-len 7, embed-dim 6, output-projection");
    return config;
}

}  // namespace

TEST_SUITE("explain: diagnose mechanisms") {
    TEST_CASE("softmax without keepdims, by hand, is named in each of its forms") {
        WalkConfig config = configured("projection none, seq-len 5, head-dim 3, seed 977");
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const Tensor scores = walk(plan, given)["scaled_scores"];
        const std::size_t n = 5;
        std::vector<double> most(n, -HUGE_VAL);
        for (std::size_t i = 0; i < n * n; ++i) most[i / n] = std::max(most[i / n], scores.at(i));
        for (const auto& [id, keeps_max, keeps_sum] :
             {std::tuple("softmax-keepdims=sum", true, false),
              std::tuple("softmax-keepdims=both", false, false),
              std::tuple("softmax-keepdims=max", false, true)}) {
            CAPTURE(id);
            std::vector<double> e(n * n), sums(n, 0);
            for (std::size_t i = 0; i < n * n; ++i) {
                e[i] = std::exp(scores.at(i) - most[keeps_max ? i / n : i % n]);
                sums[i / n] += e[i];
            }
            Array<float> weights = empty_array<float>({n, n});
            for (std::size_t i = 0; i < n * n; ++i) {
                weights.data()[i] = static_cast<float>(e[i] / sums[keeps_sum ? i / n : i % n]);
            }
            Ledger user_tensors;
            user_tensors.record("weights", {{"query", "key"}, weights});
            CHECK(names(diagnose(plan, given, user_tensors), find_mistake(id)));
        }
    }

    TEST_CASE("a change to the inputs of a step is described as a rule") {
        const std::string centred = "(x[t,c] - (sum j: x[t,j]) / C)";
        const std::string spread = "((sum i: (x[t,i] - (sum j: x[t,j]) / C) ^ 2) / C + 1e-5)";
        for (const auto& [rule, kind] : std::vector<std::pair<std::string, std::string>>{
                 {"projected_value[t,o] = sum c: " + centred + " / " + spread +
                      " ^ 0.5 * w_value[o,c]",
                  "a norm more"},
                 {"scores[h,q,k] = (sum f: query[h,q,f] * key[h,k,f]) / ((sum f: query[h,q,f] ^ 2) "
                  "* sum f: key[h,k,f] ^ 2) ^ 0.5",
                  "divided by its length"},
                 {"context[h,q,f] = sum k: (sum n: weights[n,q,k]) / H * value[h,k,f]",
                  "one number along an axis"},
                 {"context[h,q,f] = sum k: weights[h,q,k] * x[k,h * D + f]", "another tensor read"},
                 {"value[h,t,f] = gelu(projected_value[t,h * D + f])", "a function more"},
                 {"weights[h,q,k] = exp(scores[h,q,k]) / (sum j: exp(scores[h,q,j])) + (if q == k "
                  "then 1 else 0)",
                  "an addend more"}}) {
            for (const bool all : {true, false}) {
                CAPTURE(rule);
                CAPTURE(all);
                const Diagnosis diagnosis = diagnosed(seeded(83), follows(rule.c_str()), all);
                REQUIRE(!diagnosis.findings.empty());
                CHECK(!diagnosis.findings[0].follows.empty());
                if (all) CHECK(diagnosis.findings[0].followed_by == kind);
            }
        }
        // Only the query was split by view: this shows in the result.
        const Diagnosis viewed = diagnosed(
            seeded(83),
            follows("query[h,t,f] = projected_query[(h * Tq * D + t * D + f) // C, (t * D + f + h "
                    "* Tq * D) % C]"),
            false);
        REQUIRE(!viewed.findings.empty());
        CHECK(viewed.findings[0].follows == "query = projected_query.view(3, 2, 7, 3)");
    }

    TEST_CASE("an offset on all numbers, or on each feature, is inferred") {
        const auto of_query = [](const std::string& more) {
            const std::string rule = "query[h,t,f] = projected_query[t,h * D + f] " + more;
            return diagnosed(seeded(84), follows(rule.c_str()), true);
        };
        CHECK(mentions(of_query("- 0.75"), "every number is 0.75 less than it should be"));
        CHECK(mentions(of_query("+ f * 0.5 - 0.3"),
                       "each feature has its own offset: -0.3, 0.2, 0.7"));
        CHECK(mentions(of_query("* (0.2 + 0.5 * f)"),
                       "each feature has its own factor: 0.2, 0.7, 1.2"));
    }

    TEST_CASE("a running softmax that does not rescale its sum: sum and context have one name") {
        const Plan plan = resolve(seeded(61));
        const Ledger given = draw(plan);
        const Ledger right = walk(plan, given);
        const Tensor& scores = right["masked_scores"];
        const Tensor& value = right["value"];
        const Shape shape = right["context"].shape();
        const std::size_t tokens = scores.shape().back(), width = shape.back();
        Array<float> sums = empty_array<float>({shape[0], shape[1], shape[2]});
        Array<float> context = empty_array<float>(shape);
        for (std::size_t row = 0; row < sums.size(); ++row) {
            double most = -HUGE_VAL, sum = 0;
            std::vector<double> mixed(width, 0);
            for (std::size_t start = 0; start < tokens; start += 2) {
                double newest = most;
                for (std::size_t k = start; k < std::min(start + 2, tokens); ++k) {
                    newest = std::max(newest, scores.at(row * tokens + k));
                }
                for (double& one : mixed) one *= std::exp(most - newest);
                for (std::size_t k = start; k < std::min(start + 2, tokens); ++k) {
                    const double e = std::exp(scores.at(row * tokens + k) - newest);
                    sum += e;  // the earlier sum is not rescaled
                    for (std::size_t f = 0; f < width; ++f) {
                        mixed[f] += e * value.at((row / tokens * tokens + k) * width + f);
                    }
                }
                most = newest;
            }
            sums.data()[row] = static_cast<float>(sum);
            for (std::size_t f = 0; f < width; ++f) {
                context.data()[row * width + f] = static_cast<float>(mixed[f] / sum);
            }
        }
        Ledger user_tensors;
        user_tensors.record("row_sum", {{"batch", "head", "query"}, sums});
        user_tensors.record("context", {{"batch", "head", "query", "feature"}, context});
        const Diagnosis diagnosis = diagnose(plan, given, user_tensors);
        REQUIRE(diagnosis.findings.size() == 1);
        CHECK(names(diagnosis, find_mistake("running-unrescaled-sum=2")));
    }

    TEST_CASE("a mistake with a number is named with it, from the output alone") {
        WalkConfig windowed = seeded(31);
        windowed.mask.window = 4;
        WalkConfig cached = seeded(32);
        cached.past = 3;
        for (const char* id :
             {"running-unrescaled=2", "running-unrescaled-sum=3", "running-unrescaled-output=2",
              "running-upside-down=3", "running-averaged=2", "running-rest-left-out=4",
              "residual-inside", "residual-inside=merged"}) {
            CAPTURE(id);
            CHECK(names(diagnosed(seeded(33), find_mistake(id).apply, false), find_mistake(id)));
        }
        for (const char* id : {"window-off-by-one=few", "window-other=2", "window-other=6"}) {
            CAPTURE(id);
            CHECK(names(diagnosed(windowed, find_mistake(id).apply, false), find_mistake(id)));
        }
        for (const char* id : {"cache-order", "cache-order=key", "cache-order=value"}) {
            CAPTURE(id);
            CHECK(names(diagnosed(cached, find_mistake(id).apply, false), find_mistake(id)));
        }
    }

    TEST_CASE("one mistake in an earlier step is described as its rule, from the output too") {
        for (const auto& [rule, kind] :
             {std::pair("value[h,t,f] = value[1,t,f]", "one row for all"),
              std::pair("context[q,f] = context[q,f] + value[q,f]", "an addend more"),
              std::pair("query[t,f] = relu(query[t,f])", "a function more"),
              std::pair("key[h,t,f] = key[1 - h,t,f]", "the order reversed")}) {
            for (const bool all : {true, false}) {
                CAPTURE(rule);
                CAPTURE(all);
                const Diagnosis diagnosis = diagnosed(seeded(41), follows(rule), all);
                REQUIRE(diagnosis.findings.size() == 1);
                CHECK(diagnosis.findings.front().followed_by == kind);
                CHECK_FALSE(diagnosis.findings.front().follows.empty());
            }
        }
    }

    TEST_CASE("rows that are right, and factors of heads, are reported") {
        const auto context = [](const char* rule) {
            return diagnosed(seeded(51), follows(std::string("context[h,q,f] = ") + rule), true);
        };
        CHECK(mentions(context("if q > 3 then sin(7 * context[h,q,f]) else context[h,q,f]"),
                       "right up to query 3, wrong from query 4 on"));
        CHECK(mentions(context("if h == 1 then sin(7 * context[h,q,f]) else context[h,q,f]"),
                       "everything is right except head 1"));
        CHECK(mentions(context("(h + 2) * context[h,q,f]"), "each head has its own factor: 2, 3"));
    }

    TEST_CASE("the keys that rows see, and offsets by distance, are reported") {
        const auto hidden = [](const char* where) {
            return diagnosed(seeded(61),
                             follows(std::string("masked_scores[q,k] = if k > q or ") + where +
                                     " then -inf else scores[q,k]"),
                             true);
        };
        const Diagnosis windowed = hidden("k <= q - 3");
        CHECK(mentions(windowed, "a query sees 3 keys including its own, and no later ones"));
        CHECK(mentions(windowed, "query 3 sees keys 1 to 3, but should see keys 0 to 3"));
        CHECK(mentions(
            diagnosed(seeded(62),
                      follows("scaled_scores[q,k] = scaled_scores[q,k] - 0.25 * abs(q - k)"), true),
            "the keys 0, 1, 2, ... tokens back have 0, -0.25, -0.5"));
    }

    TEST_CASE("angles are inferred from a query and the rotated query") {
        WalkConfig config = seeded(71);
        config.head_dim = 4;
        config.rotary.pairing = Pairing::half;
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        const auto turned = [&](const char* angle) {
            const std::string rule = std::string("angles[t,i] = ") + angle;
            const StepTable table = follows(rule)(step_table(plan), plan);
            Ledger user_tensors;
            user_tensors.record("rotated_query", walk(plan, given, table)["rotated_query"]);
            return diagnose(plan, given, user_tensors);
        };
        const Diagnosis other = turned("1.7 * t * inverse_frequencies[i] + 0.3");
        CHECK(mentions(other, "token 0 is rotated by 0.3, 0.3, not by 0, 0"));
        CHECK(mentions(other, "the pairs rotate by 1.7, 0.017, not by 1, 0.01"));
    }
}
