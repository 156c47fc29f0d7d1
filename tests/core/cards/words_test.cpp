// Words of attention files: softmax, define, together, stop, latest, whole sums, forms of files.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

WalkConfig words_config(const std::string& text) {
    WalkConfig config = configured("seq-len 5, embed-dim 6, heads 2, mask causal");
    config.dtype = config.compute_dtype = DType::float64;
    config.attentions = {std::make_shared<const AttentionFile>(parse_attention(text, "mine.attn"))};
    return config;
}

Ledger words_walk(const std::string& text) {
    const Plan plan = resolve(words_config(text));
    return walk(plan, draw(plan));
}

std::string words_refusal(const std::string& text) {
    try {
        words_walk(text);
    } catch (const Error& error) {
        const std::string message = error.what();
        return message.substr(0, message.find('\n'));
    }
    return {};
}

}  // namespace

TEST_SUITE("attention files: words") {
    TEST_CASE("softmax is the step of the walk, whatever its range and its place") {
        const Ledger result = words_walk(
            "attention a\n"
            "step weights[h,q,k] = softmax k: latest scores[h,q,k]\n"
            "step first[h,q] = exp(sum k in 0..1: (softmax k in 0..1: weights[h,q,k]))\n"
            "step twice[h,q,k] = softmax k: softmax q: value[h,q,0] * key[h,k,0]\n"
            "step context[h,q,f] = (sum k: weights[h,q,k] * values[h,k,f]) * first[h,q]\n");
        CHECK(result.has("first"));
        for (const double number : result["first"].numbers()) {
            CHECK(number == doctest::Approx(std::exp(1.0)).epsilon(1e-12));
        }
        WalkConfig standard = words_config("attention a\nstep context[h,q,f] = values[h,q,f]\n");
        standard.attentions.clear();
        const Plan plan = resolve(standard);
        const Ledger right = walk(plan, draw(plan));
        for (std::size_t i = 0; i < right["weights"].size(); ++i) {
            CHECK(std::abs(result["weights"].at(i) - right["weights"].at(i)) < 1e-15);
        }
        const Tensor &twice = result["twice"], &value = result["value"], &key = result["key"];
        const auto inner = [&](std::size_t q, std::size_t k) {
            double sum = 0;
            for (std::size_t j = 0; j < 5; ++j) {
                sum += std::exp(value.at(j * 3) * key.at(k * 3));
            }
            return std::exp(value.at(q * 3) * key.at(k * 3)) / sum;
        };
        double sum = 0;
        for (std::size_t j = 0; j < 5; ++j) sum += std::exp(inner(1, j));
        CHECK(twice.at(5 + 2) == doctest::Approx(std::exp(inner(1, 2)) / sum).epsilon(1e-12));
    }
    TEST_CASE("define: a rule with arguments replaces its name, with indices of its own") {
        const Ledger ledger = words_walk(
            "attention a\n"
            "define square(x) = x * x\n"
            "define unit(v, eps)[f] = v[f] / sqrt((sum e: square(v[e])) + eps)\n"
            "step a[h,t,f] = unit(values, 1 / 8)[h,t,f]\n"
            "step b[h,t,e] = sum f: unit(keys, 0)[h,t,f] * unit(keys, square(2))[h,t,e]\n"
            "step context[h,t,f] = a[h,t,f] + b[h,t,f]\n");
        const Tensor &value = ledger["value"], &key = ledger["key"];
        for (std::size_t row = 0; row < 10; ++row) {
            double values = 0, keys = 0, sum = 0;
            for (std::size_t f = 0; f < 3; ++f) {
                values += std::pow(value.at(row * 3 + f), 2);
                keys += std::pow(key.at(row * 3 + f), 2);
                sum += key.at(row * 3 + f);
            }
            for (std::size_t f = 0; f < 3; ++f) {
                const std::size_t i = row * 3 + f;
                CHECK(ledger["a"].at(i) ==
                      doctest::Approx(value.at(i) / std::sqrt(values + 0.125)).epsilon(1e-12));
                CHECK(ledger["b"].at(i) ==
                      doctest::Approx(sum / std::sqrt(keys) * key.at(i) / std::sqrt(keys + 4))
                          .epsilon(1e-12));
            }
        }
        const std::string begin = "attention a\ndefine unit(v)[f] = v[f] / sum e: v[e]\n";
        CHECK(words_refusal(begin + "step context[h,t,f] = unit(values, 1)[h,t,f]\n") ==
              "mine.attn:3: unit takes 1 argument, not 2");
        CHECK(words_refusal(begin + "step context[h,t,f] = unit(values)\n") ==
              "mine.attn:3: unit has 1 index, not 0");
        CHECK(words_refusal(begin + "step context[h,t,f] = unit(2 * 3)[h,t,f]\n") ==
              "mine.attn:3: unit takes a tensor as v: make the expression a step, and pass its "
              "name");
        CHECK(words_refusal("attention a\ndefine exp(x) = x\n") ==
              "mine.attn:2: there is a function exp already: choose another name");
        std::string large = "attention a\ndefine a0(x) = x + x\n";
        for (int i = 1; i < 20; ++i) {
            const std::string before = "a" + std::to_string(i - 1);
            large += "define a" + std::to_string(i) + "(x) = " + before + "(" + before + "(x))\n";
        }
        CHECK(words_refusal(large).find("expands to more than 4096 parts") != std::string::npos);
    }
    TEST_CASE("together: steps that read each other are made row by row") {
        const std::string text =
            "attention a\n"
            "together speed place\n"
            "step speed[h,t,f] = (if t == 0 then 0 else speed[h,t - 1,f] / 2 - place[h,t - 1,f]) + "
            "values[h,t,f]\n"
            "  title how fast it moves\n"
            "step place[h,t,f] = (if t == 0 then 0 else place[h,t - 1,f]) + sum e: speed[h,t,e]\n"
            "step context[h,t,f] = place[h,t,f] * speed[h,t,f]\n";
        const Ledger ledger = words_walk(text);
        const Tensor& value = ledger["value"];
        for (std::size_t h = 0; h < 2; ++h) {
            double speed[3] = {0, 0, 0}, place[3] = {0, 0, 0};
            for (std::size_t t = 0; t < 5; ++t) {
                double sum = 0;
                for (std::size_t f = 0; f < 3; ++f) {
                    speed[f] = speed[f] / 2 - place[f] + value.at((h * 5 + t) * 3 + f);
                    sum += speed[f];
                }
                for (std::size_t f = 0; f < 3; ++f) {
                    place[f] += sum;
                    CHECK(ledger["context"].at((h * 5 + t) * 3 + f) ==
                          doctest::Approx(place[f] * speed[f]).epsilon(1e-12));
                }
            }
        }
        CHECK(words_refusal("attention a\ntogether one two\n"
                            "step one[h,t,f] = two[h,t,f]\nstep two[h,t,f] = one[h,t,f]\n"
                            "step context[h,t,f] = two[h,t,f]\n")
                  .find("read each other in a circle") != std::string::npos);
        CHECK(words_refusal("attention a\nstep one[h,t,f] = if t == 0 then 0 else two[h,t - 1,f]\n"
                            "step two[h,t,f] = one[h,t,f]\nstep context[h,t,f] = two[h,t,f]\n") ==
              "mine.attn:2: two is made after one: they read each other; join them in a line "
              "`together one two`");
    }
    TEST_CASE("latest and exact names of scores, and an old file that uses neither") {
        const auto first = [](const std::string& rule) {
            return words_walk(
                       "attention a\nstep other[h,q,k] = " + rule +
                       "\nstep context[h,q,f] = sum k: other[h,q,k] * values[h,k,f]\n")["other"]
                .at(1);
        };
        const Ledger result =
            words_walk("attention a\nstep weights[h,q,k] = latest scores[h,q,k]\n");
        const double exact = result["scores"].at(1);
        CHECK(first("exact scores[h,q,k]") == exact);
        CHECK(first("scores[h,q,k]") == -INFINITY);
        CHECK(first("latest scores[h,q,k]") == -INFINITY);
        CHECK(first("scores[h,q,k] + 0 * latest scores[h,0,0]") == exact);
        const WalkConfig old = words_config("attention a\nstep weights[h,q,k] = scores[h,q,k]\n");
        CHECK(find_step(step_table(resolve(old)), "weights").remarks ==
              "scores here is masked_scores: write latest scores, because from the next version on "
              "scores is the step itself.");
        CHECK(words_refusal("attention a\nstep context[h,q,f] = latest value[h,q,f]\n")
                  .find("latest must be followed by queries") != std::string::npos);
    }
    TEST_CASE("stop: a constant for gradients") {
        const auto gradient = [](const std::string& rule) {
            const Plan plan =
                resolve(words_config("attention a\nstep context[h,q,f] = " + rule + "\n"));
            const StepTable table = with_gradients(step_table(plan), plan, {});
            const Ledger result = walk(plan, draw(plan), table);
            return result["d_value"].at(0) / result["value"].at(0);
        };
        CHECK(gradient("value[h,q,f] ^ 2") == doctest::Approx(2));
        CHECK(gradient("value[h,q,f] * stop(value[h,q,f])") == doctest::Approx(1));
    }
    TEST_CASE("a sum of integers is an index") {
        const Ledger ledger = words_walk(
            "attention a\n"
            "step seen[q] = sum k in 0..Tk: if k > q then 0 else 1\n"
            "step context[h,q,f] = value[h,seen[q] - 1,f] + key[h,sum j in 0..q: 1,f]\n");
        for (std::size_t i = 0; i < ledger["context"].size(); ++i) {
            CHECK(ledger["context"].at(i) == ledger["value"].at(i) + ledger["key"].at(i));
        }
        CHECK(words_refusal("attention a\nstep context[h,q,f] = key[h,mean j in 0..q: 1,f]\n")
                  .find("an index is made of integers") != std::string::npos);
    }
    TEST_CASE("a form for each of several files") {
        const std::string forms = "form one\nstep NAME[h,q] = 1\nform two\nstep NAME[h,q] = 2\n";
        const auto file = [&](const std::string& name) {
            std::string text = "attention " + name + "\n" + forms;
            for (std::size_t at; (at = text.find("NAME")) != text.npos;) text.replace(at, 4, name);
            return std::make_shared<const AttentionFile>(parse_attention(text, name));
        };
        WalkConfig config = words_config("attention z\nstep context[h,q,f] = values[h,q,f]\n");
        config.attentions = {file("left"), file("right")};
        const auto result = [&](const std::string& form) {
            config.form = form;
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            return std::pair(ledger["left"].at(0), ledger["right"].at(0));
        };
        CHECK(result("two") == std::pair(2.0, 2.0));
        CHECK(result("right=two") == std::pair(1.0, 2.0));
        CHECK(result("two,right=one") == std::pair(2.0, 1.0));
        CHECK_THROWS_WITH_AS(result("wrong=two"), doctest::Contains("no form wrong=two"),
                             ConfigError);
    }
}

}  // namespace attn
