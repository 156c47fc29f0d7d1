#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/generate.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/models/open_model.hpp"

namespace {

using namespace attn;
using namespace attn::models;
using Ids = std::vector<std::int64_t>;

template <class Real>
Ids greedy(const Model& model, std::size_t count, const ModelMistake* mistake = nullptr) {
    Runtime<Real> runtime(parameters_of<Real>(model), mistake);
    Sampler sampler(Sampling{});
    Ids ids;
    generate<Real>(runtime, {1}, count, sampler, 0,
                   [&](const WrittenToken& token) { ids.push_back(token.id); });
    return ids;
}

std::string text_with(const Model& model, const char* mistake, std::size_t count) {
    const ModelMistake result = find_model_mistake(mistake, model);
    Ids ids = greedy<double>(model, count, &result);
    ids.insert(ids.begin(), 1);
    return text_of(*model.tokenizer, ids);
}

}  // namespace

TEST_SUITE("models: stories") {
    TEST_CASE("the greedy text is the published one") {
        const Model model = open_model("stories");
        Ids ids = greedy<float>(model, 100);
        CHECK(ids == greedy<double>(model, 100));
        const Ids beginning{403, 407, 261, 378, 432, 383, 286, 261, 376, 298,
                            315, 421, 395, 317, 426, 338, 401, 396, 267, 337,
                            410, 408, 419, 292, 411, 322, 265, 282, 295, 433};
        REQUIRE(ids.size() == 100);
        CHECK(Ids(ids.begin(), ids.begin() + 30) == beginning);
        ids.insert(ids.begin(), 1);
        CHECK(text_of(*model.tokenizer, ids)
                  .starts_with("Once upon a time, there was a little girl named Lily. She loved to "
                               "play outside in the park. One day, she saw a big, red ball."));
    }
    TEST_CASE("float32 stays within 1e-4 of float64 for 32 steps") {
        const Model model = open_model("stories");
        Runtime<float> narrow(model);
        Runtime<double> wide(model);
        Ids ids = greedy<double>(model, 32);
        ids.insert(ids.begin(), 1);
        const Array<float> logits = narrow.logits(narrow.advance(ids));
        const Array<double> exact = wide.logits(wide.advance(ids));
        REQUIRE(logits.size() == 33 * 512);
        double largest = 0;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            largest = std::max(largest, std::abs(logits.data()[i] - exact.data()[i]));
        }
        CHECK(largest < 1e-4);
        CHECK(largest > 0);
    }
    TEST_CASE("a prompt at once, in pieces and token by token gives the same numbers") {
        const Model model = open_model("stories");
        Ids ids = greedy<float>(model, 90);
        Runtime<float> whole(model);
        const Array<float> at_once = whole.advance(ids);
        for (const std::size_t piece : {1U, 2U, 7U, 64U}) {
            Runtime<float> pieces(model);
            std::vector<float> rows;
            for (std::size_t first = 0; first < ids.size(); first += piece) {
                const std::size_t count = std::min<std::size_t>(piece, ids.size() - first);
                const Array<float> x = pieces.advance({ids.data() + first, count});
                rows.insert(rows.end(), x.begin(), x.end());
            }
            CHECK(std::equal(rows.begin(), rows.end(), at_once.begin(), at_once.end(),
                             [](float a, float b) { return std::abs(a - b) < 1e-4F; }));
        }
    }
    TEST_CASE("each mistake writes its known text") {
        const Model model = open_model("stories");
        const auto begins = [&](const char* mistake, const std::string& text) {
            INFO(mistake);
            const std::string written = text_with(model, mistake, 40);
            CHECK_MESSAGE(written.find(text) != std::string::npos, written);
        };
        begins("rope-style", "a little goth mist fearddownely thing");
        begins("gqa-tile", "Once sheledipaning. tooporeambongixed");
        begins("rope-missing", "a little girlily and a little girlily");
        begins("rope-q-only", "there was a time, there was a time");
        begins("rope-offset-q", "girlyyyyyyyyy");
        begins("rope-exponent", "Once upon any.");
        begins("rope-value", "a little giry. The giress");
        for (const char* fluent : {"rope-theta", "scale-missing", "scale-twice", "scale-dmodel",
                                   "window=8", "window=16"}) {
            begins(fluent, "named Lily. She loved to play with her toys");
        }
        const std::string right = text_of(*model.tokenizer, greedy<double>(model, 40));
        for (const char* unchanged : {"positions-plus-one", "softmax-off-by-one", "window=32"}) {
            begins(unchanged, right.substr(1, 100));
        }
    }
    TEST_CASE("the numbers diverge where the mistake is made") {
        const Model model = open_model("stories");
        const auto parameters = parameters_of<double>(model);
        const auto divergence = [&](const char* id) {
            const ModelMistake mistake = find_model_mistake(id, model);
            return find_divergence(parameters, &mistake,
                                   {1, 403, 407, 261, 378, 432, 383, 286, 261, 376});
        };
        CHECK_FALSE(find_divergence(parameters, nullptr, {1, 403, 407}).has_value());
        CHECK(divergence("rope-q-only")->step == "rotated_key");
        CHECK(divergence("rope-q-only")->token == 1);
        CHECK(divergence("rope-value")->step == "value");
        CHECK(divergence("gqa-tile")->step == "scaled_scores");
        CHECK(divergence("gqa-tile")->head == 1);
        CHECK(divergence("window=8")->token == 8);
    }
    TEST_CASE("a mistake without effect is refused") {
        const Model gpt2 = open_model(ATTN_SOURCE_DIR "/tests/models/fixtures/gpt2");
        CHECK_THROWS_WITH_AS(find_model_mistake("gqa-tile", gpt2),
                             "bug gqa-tile has no effect: there are as many key heads as query "
                             "heads: choose another mistake or model",
                             ConfigError);
        // Generation never has as many queries as keys.
        CHECK_THROWS_AS(find_model_mistake("weights-transposed", gpt2), ConfigError);
        const ModelMistake hides_all = find_model_mistake("mask-inverted");
        CHECK_THROWS_WITH_AS(greedy<float>(open_model("stories"), 3, &hides_all),
                             "stories: the logits after token 0 are nan with this mistake: choose "
                             "another",
                             InputError);
        CHECK_THROWS_WITH_AS(find_model_mistake("rope-tetha"),
                             "bug: there is no mistake 'rope-tetha' of a model; did you mean "
                             "rope-theta?",
                             ConfigError);
    }
    TEST_CASE("a model makes any mistake of the catalogue, with its numbers, in every layer") {
        const Model model = open_model("stories");
        const Ids ids{1, 403, 407, 261, 378, 432};
        for (const char* id :
             {"scale-seq-len", "gqa-group-size", "rope-sign", "no-output-projection"}) {
            INFO(id);
            const ModelMistake mistake = find_model_mistake(id, model);
            CHECK(mistake.title == find_mistake(id).title);
            WalkConfig first;
            set_layer(model, 0, first);
            give_parameters(model, 0, first);
            Runtime<double> runtime(parameters_of<double>(model), &mistake);
            Tensor x, output;
            runtime.watch(
                [&](const LayerPass& passing) {
                    if (passing.layer != 0) return;
                    (passing.name == "x" ? x : output) = passing.tensor;
                },
                {"x", "output"});
            runtime.advance(ids);
            first.input = x;
            first.dtype = DType::float64;
            const Plan plan = resolve(first);
            const Ledger walked =
                walk(plan, draw(plan), with_mistakes(step_table(plan), plan, {id}));
            const std::vector<double> theirs = walked["output"].numbers();
            REQUIRE(theirs.size() == output.size());
            for (std::size_t i = 0; i < theirs.size(); ++i) {
                CHECK(output.at(i) == doctest::Approx(theirs[i]).epsilon(1e-9));
            }
        }
    }
    TEST_CASE("rows in the order of another format are noticed: the text is likelier with it") {
        Model model = open_model("stories");
        const Ids ids = model.encode("Once upon a time, there was a little girl named Lily.");
        CHECK(gain_of_other_pairing(model, ids) < 0);
        for (LayerKind& layer : model.architecture.layers) layer.pairing = Pairing::half;
        CHECK(gain_of_other_pairing(model, ids) > 0.5);
        CHECK(gain_of_other_pairing(model, {1, 403}) == 0);
        CHECK(gain_of_other_pairing(open_model(ATTN_SOURCE_DIR "/tests/models/fixtures/gpt2"),
                                    {0, 1, 2, 0, 1, 2, 0, 1}) == 0);
    }
    TEST_CASE(
        "a head is named by the target of more than half of its weights, or of far more than an "
        "even share") {
        const Model model = open_model("stories");
        const std::vector<HeadFigures> heads =
            survey_heads(
                model,
                model.encode("Tom and his dog went to the park. The dog saw a big red ball."))
                .heads;
        REQUIRE(heads.size() == 40);
        for (const HeadFigures& head : heads) {
            CHECK(head.self + head.previous + head.first < 1 + 1e-9);
            CHECK(std::abs(head.sink) < 1e-9);
            CHECK((head.evenness >= 0 && head.evenness <= 1));
            if (head.name == "previous token") CHECK(head.previous > 0.5);
            if (head.name == "first token") CHECK((head.first > 0.5 || head.first_lift >= 3));
            if (head.name.empty()) CHECK((head.previous <= 0.5 && head.first_lift < 3));
        }
        CHECK(heads[8 + 3].name == "previous token");
        CHECK(heads[8 + 1].name == "first token");
        CHECK(heads[8 + 1].first < 0.5);
        // A short text has too few tokens far from the first one for a first_lift.
        for (const HeadFigures& head : survey_heads(model, model.encode("A cat sat.")).heads) {
            CHECK(head.first_lift == 0);
        }
        CHECK_THROWS_AS(survey_heads(model, {1, 2}), ConfigError);
    }
}
