#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/branches.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/layer_walk.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/support/refusal.hpp"

// A name of its own, as the files of a wing are compiled together.
namespace lens_test {
// tests/check_lens.py compares the numbers with PyTorch.
namespace {

using namespace attn;
using namespace attn::models;

const std::vector<std::int64_t> ids{3, 1, 4, 12, 5, 9};

Model checkpoint(const std::string& family) {
    return open_model(ATTN_SOURCE_DIR "/tests/models/fixtures/" + family);
}
const std::vector<std::string> families{"llama", "qwen3", "gemma2", "olmo2",
                                        "phi",   "gpt2",  "gpt_oss"};

std::vector<Without> parts(const std::vector<std::string>& words) {
    std::vector<Without> all;
    for (const std::string& word : words) all.push_back(parse_without(word));
    return all;
}

double largest_difference(const Array<double>& a, const Array<double>& b) {
    REQUIRE(a.shape() == b.shape());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(a.data()[i] - b.data()[i]));
    }
    return largest;
}

}  // namespace

TEST_SUITE("models: lens") {
    TEST_CASE("parts add up to the logit at every position, with any norms in between") {
        for (const std::string& family : families) {
            INFO(family);
            const Model model = checkpoint(family);
            const Lens lens = lens_of(model, nullptr, ids, true, false, {});
            CHECK(lens.places.size() == 5);
            for (std::size_t n = 0; n < lens.places.size(); ++n) {
                const NextTokens next(model, nullptr, ids, lens.places[n]);
                for (const NextToken& token : {next.of(lens.chosen), next.difference(4, 7)}) {
                    double sum = 0;
                    for (const Contribution& part : token.parts) sum += part.logit;
                    CHECK(std::abs(sum - token.sum) < 1e-12);
                }
                const Reading& reading = lens.readings[n].back();
                CHECK(reading.predicted == next.likeliest(1)[0]);
                CHECK(std::abs(reading.of_chosen - next.of(lens.chosen).probability) < 1e-12);
            }
            CHECK(lens.readings.back().back().rank == 1);
        }
    }
    TEST_CASE("layers that are left out leave x unchanged") {
        const Model model = checkpoint("llama");
        const auto inputs =
            inputs_of_layers(model, ids, 2, parts({"0.attn", "0.mlp", "1.attn", "1.mlp"}));
        CHECK(inputs[2] == inputs[0]);
        // The heads of a layer add up to its attention, except for biases.
        CHECK(largest_difference(
                  inputs_of_layers(model, ids, 1, parts({"0.0", "0.1", "0.2", "0.3"}))[1],
                  inputs_of_layers(model, ids, 1, parts({"0.attn"}))[1]) < 1e-15);
    }
    TEST_CASE("the rule of a part that is left out computes its tensor") {
        const Model model = checkpoint("qwen3");
        for (const std::string word : {"0.2", "0.2=mean", "0.attn", "0.attn=mean"}) {
            INFO(word);
            WalkConfig config;
            set_layer(model, 0, config);
            give_parameters(model, 0, config);
            config.dtype = DType::float64;
            config.query_len = 6;
            const Plan plan = resolve(config);
            const Mistake mistake = as_mistake(parse_without(word), 4);
            const StepTable table = with_mistake(step_table(plan), plan, mistake);
            Ledger given = draw(plan);
            given.record("x", Tensor({"token", "feature"}, inputs_of_layers(model, ids, 0)[0]));
            const Ledger ledger = walk(plan, given, table);
            const Step& step = find_step(table, mistake.step);
            const Rule rule = *rule_of({plan, table, step});
            const Outline outline = step.outline(plan);
            const Tensor by_rule = evaluate_rule(rule, outline.axes, outline.shape, DType::float64,
                                                 rule_scope(plan, ledger, step.name));
            CHECK(largest_difference(by_rule.as<double>(), ledger[step.name].as<double>()) < 1e-12);
        }
    }
    TEST_CASE("with an ablation to the mean, generated tokens get the mean of the prompt") {
        const Model model = checkpoint("gpt2");
        const auto all = parameters_of<double>(model);
        Runtime<double> runtime(all, nullptr, edits_of(parts({"1.mlp=mean"}), model.architecture));
        std::vector<double> rows;
        runtime.watch(
            [&](const LayerPass& passing) {
                if (passing.layer == 1) rows.push_back(passing.tensor.at(0));
            },
            {"mlp_output"});
        runtime.advance(std::vector<std::int64_t>{3, 1, 4});
        runtime.advance(std::vector<std::int64_t>{5});
        CHECK(rows[0] == rows[1]);
    }
    TEST_CASE(
        "a position that two texts share restores nothing, and the one that differs restores "
        "everything") {
        std::vector<std::int64_t> other = ids;
        other[2] = 7;
        for (const std::string family : {"llama", "gemma2", "phi"}) {
            INFO(family);
            const Model model = checkpoint(family);
            const Patching found = patch(model, ids, other, 4, 6, false, {});
            for (const Carried& each : found.carried) {
                if (each.layer > 0) continue;
                CHECK(each.share == doctest::Approx(each.place == 2 ? 1 : 0).epsilon(1e-12));
            }
        }
        CHECK_THROWS_AS(patch(checkpoint("llama"), ids, {1, 2}, 4, 6, true, {}), Error);
    }
    TEST_CASE("one layer in memory computes what all of them do") {
        for (const std::string& family : families) {
            INFO(family);
            const Model model = checkpoint(family);
            std::vector<Array<double>> result;
            for (const KeepWeights hold : {KeepWeights::all, KeepWeights::nothing}) {
                Runtime<double> runtime(parameters_of<double>(model, hold));
                result.push_back(runtime.last_logits(runtime.advance(ids)));
            }
            CHECK(result[0] == result[1]);
        }
    }
    TEST_CASE("a matrix keeps its numbers in their original bytes") {
        std::vector<float> room;
        for (const auto& numbers :
             {Array<float>{{1, -2.5F, 0}, {0x1p-24F, 65504, -0.0F}},      // float16
              Array<float>{{1, -2.5F, 0x1p120F}, {0x1p-100F, 3, -0.0F}},  // bfloat16
              Array<float>{{1.1F, 2, 3}, {4, 5, 0x1p-149F}}}) {
            const StoredMatrix stored(Tensor({"out", "in"}, numbers));
            for (std::size_t i = 0; i < 3; ++i) {
                const float* const row = stored.row(i, 0, 2, room);
                for (std::size_t o = 0; o < 2; ++o) {
                    CHECK(row[o] == numbers(o, i));
                    CHECK(std::signbit(row[o]) == std::signbit(numbers(o, i)));
                }
            }
        }
    }
    TEST_CASE("branches that run together end as each does alone") {
        for (const std::string& family : families) {
            INFO(family);
            const Model model = checkpoint(family);
            const Architecture& a = model.architecture;
            const auto none = [&](std::size_t head) {
                return [head, &a](std::span<double> context) {
                    const std::size_t each = context.size() / a.heads;
                    std::ranges::fill(context.subspan(head * each, each), 0.0);
                };
            };
            const auto x = [](Array<double>& rows) { rows(1, 2) += 0.5; };
            const std::vector<Branch> branches{
                {0, {}, none(1)}, {0, x, {}}, {0, {}, none(0)}, {1, {}, none(1)}, {1, x, {}}};
            for (const auto& without : {parts({}), parts({"0.1=mean", "1.attn=mean", "0.mlp"})}) {
                const Array<double> all = run_branches(model, ids, without, branches);
                CHECK(all.shape() == Shape{6, a.embed_dim});
                for (std::size_t b = 0; b < branches.size(); ++b) {
                    const Array<double> one = run_branches(model, ids, without, {branches[b]});
                    CHECK(std::equal(one.begin() + a.embed_dim, one.end(), &all(b + 1, 0)));
                    CHECK(std::equal(&one(0, 0), &one(1, 0), &all(0, 0)));
                }
            }
            // A run of its own with the head left out.
            Runtime<double> alone(parameters_of<double>(model), nullptr,
                                  edits_of(parts({"1.1"}), a));
            const Array<double> end = alone.advance(ids);
            const Array<double> branch = run_branches(model, ids, {}, {branches[3]});
            CHECK(std::equal(&branch(1, 0), &branch(1, 0) + a.embed_dim, &end(5, 0)));
        }
    }
    TEST_CASE("names that are not part of a model are refused") {
        for (const char* word : {"3", "3.", ".7", "x.1", "3.q", "3.7=max", "-1.0", "3.1.2"}) {
            INFO(word);
            CHECK_THROWS_AS(parse_without(word), ConfigError);
        }
        const Model model = checkpoint("llama");
        for (const char* word : {"2.0", "0.4"}) {
            CHECK_THROWS_AS(check_without(parse_without(word), model.architecture), ConfigError);
        }
        CHECK_THROWS_AS(lens_of(checkpoint("bert"), nullptr, ids, false, false, {}), ConfigError);
        CHECK_THROWS_AS(parse_place("2", model), ConfigError);
    }
}

}  // namespace lens_test
