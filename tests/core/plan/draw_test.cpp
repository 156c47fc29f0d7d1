#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"

#include <doctest/doctest.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/tokenize.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/ground/random/torch_generator.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/plan/random_plans.hpp"

using namespace attn;

namespace {

std::vector<std::string> names_of(const DrawList& list) {
    std::vector<std::string> names;
    for (const DrawnTensor& row : list) names.push_back(row.name);
    return names;
}

WalkConfig two_heads() {
    WalkConfig config = configured("heads 2, embed-dim 6, bias");
    return config;
}

Tensor numbered(const Axes& axes, const Shape& shape) {
    Array<float> cells = empty_array<float>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) cells.data()[i] = static_cast<float>(i);
    return {axes, std::move(cells)};
}

}  // namespace

TEST_SUITE("walk: draw") {
    TEST_CASE("the list names the drawn tensors in the order of the draws") {
        WalkConfig config = two_heads();
        config.draw_order = "kqv";
        config.burn = {{Distribution::uniform, 7}};
        config.output_projection = true;
        const Plan plan = resolve(config);
        CHECK(names_of(draw_list(plan)) == std::vector<std::string>{"x", "", "w_key", "b_key",
                                                                    "w_query", "b_query", "w_value",
                                                                    "b_value", "w_output"});
    }

    TEST_CASE("every drawn step that has lines of code is a row, and every row has its lines") {
        std::mt19937 random(3);
        for (int round = 0; round < 40; ++round) {
            const Plan plan = resolve(random_config(random));
            const DrawList list = draw_list(plan);
            const Ledger given = draw(plan);
            std::string program;
            for (const StepCode& step : program_of(plan, step_table(plan), CodeLanguage::torch)) {
                program += step.code + "\n";
            }
            for (const DrawnTensor& row : list) {
                if (row.name.empty()) continue;
                CAPTURE(row.name);
                CHECK(given[row.name].shape() == row.shape());
                CHECK(given[row.name].axes() == row.axes());
                CHECK(program.find(row.name + " = ") != std::string::npos);
            }
        }
    }

    TEST_CASE("discarded draws advance the stream: the tensors after them are drawn later") {
        WalkConfig config = two_heads();
        config.burn = {{Distribution::uniform, 20}};
        const Plan plan = resolve(config);
        TorchGenerator generator(config.seed);
        DrawList by_hand = draw_list(plan);
        by_hand[1].name = "spent";
        const Ledger spent = draw(by_hand, DType::float32, generator);
        CHECK(spent["spent"].size() == 20);
        CHECK(spent["w_query"].as<float>() == draw(plan)["w_query"].as<float>());
        config.burn.clear();
        CHECK(!(draw(resolve(config))["w_query"].as<float>() == spent["w_query"].as<float>()));
    }

    TEST_CASE("draws discarded before all others make x come later in the stream") {
        WalkConfig config = two_heads();
        config.burn_before = {{Distribution::normal, 24}, {Distribution::uniform, 3}};
        const Plan plan = resolve(config);
        CHECK(draw_list(plan).front().step == "x");
        TorchGenerator generator(config.seed);
        std::vector<float> normals(24);
        std::vector<float> uniforms(3);
        generator.randn(normals);
        generator.rand(uniforms);
        config.burn_before.clear();
        const Ledger later = draw(resolve(config), generator);
        const Ledger given = draw(plan);
        CHECK(given["x"].as<float>() == later["x"].as<float>());
        CHECK(given["b_value"].as<float>() == later["b_value"].as<float>());
    }

    TEST_CASE(
        "zeros and the identity draw nothing: value is x, and every key has the same weight") {
        for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
            WalkConfig config = two_heads();
            config.bias = false;
            config.init = std::array{Init::zeros, Init::zeros, Init::identity};
            config.weight_layout = layout;
            const Plan plan = resolve(config);
            const Ledger ledger = walk(plan, draw(plan));
            CHECK(ledger["merged"].shape() == ledger["x"].shape());
            const Tensor& x = ledger["x"];
            for (std::size_t f = 0; f < 6; ++f) {
                double mean = 0;
                for (std::size_t t = 0; t < 4; ++t) mean += x.at(t * 6 + f) / 4;
                CHECK(ledger["merged"].at(f) == doctest::Approx(mean));
            }
        }
    }

    TEST_CASE("the identity is in each head's matrix, up to its width") {
        WalkConfig config = two_heads();
        config.projection = Projection::stacked;
        config.bias = false;
        config.init = std::array{Init::identity, Init::uniform, Init::identity};
        const Tensor w_query = draw(resolve(config))["w_query"];
        REQUIRE(w_query.shape() == Shape{2, 3, 6});
        for (std::size_t i = 0; i < w_query.size(); ++i) {
            const std::size_t row = i / 6 % 3;
            CHECK(w_query.at(i) == (i % 6 == row ? 1 : 0));
        }
    }

    TEST_CASE("each head in turn draws the three matrices that it would draw alone") {
        WalkConfig config = two_heads();
        config.projection = Projection::per_head;
        const Plan plan = resolve(config);
        TorchGenerator generator(config.seed);
        const Ledger given = draw(plan, generator);
        TorchGenerator again(config.seed);
        DrawList one_head = draw_list(plan);
        for (DrawnTensor& row : one_head) {
            if (row.turns == 1) continue;
            row.turns = 1;
            row.extents.erase(row.extents.begin());
        }
        const Ledger first = draw(one_head, DType::float32, again);
        one_head.erase(one_head.begin());
        const Ledger second = draw(one_head, DType::float32, again);
        for (const DrawnTensor& row : one_head) {
            CAPTURE(row.name);
            const std::size_t size = first[row.name].size();
            REQUIRE(given[row.name].size() == 2 * size);
            for (std::size_t i = 0; i < size; ++i) {
                CHECK(given[row.name].at(i) == first[row.name].at(i));
                CHECK(given[row.name].at(size + i) == second[row.name].at(i));
            }
        }
    }

    TEST_CASE("a word has the same vector in every text, and leaves the matrices unchanged") {
        // torch.randn, RandomState.randn and default_rng.standard_normal, each seeded with
        // zlib.crc32("42 größer".encode()) = 2161611021
        const std::map<Rng, std::vector<double>> wanted{
            {Rng::torch, {-0.7664284110069275, 1.1583762168884277, 0.5499445796012878}},
            {Rng::numpy, {-0.8002299895808014, 0.10134524413662375, 1.1209269850571764}},
            {Rng::numpy_pcg64, {1.3918432640185614, -0.6660034466415238, 0.27016867860979316}}};
        CHECK(word_seed(42, "größer") == 2161611021);
        CHECK(word_seed(7, "cat") == 336504335);
        for (const auto& [rng, numbers] : wanted) {
            WalkConfig config;
            config.rng = rng;
            config.input = tokenize({"Größer"});
            const Ledger alone = draw(resolve(config));
            config.input = tokenize({"der Baum ist größer", "größer"});
            const Ledger among = draw(resolve(config));
            const Tensor &one = alone["embedding"], &four = among["embedding"];
            REQUIRE(one.shape() == Shape{2, 4});
            REQUIRE(four.shape() == Shape{5, 4});
            for (std::size_t c = 0; c < 4; ++c) {
                CHECK(one.at(c) == 0);
                CHECK(one.at(4 + c) == four.at(12 + c));
            }
            for (std::size_t c = 0; c < 3; ++c) {
                CHECK(one.at(4 + c) == doctest::Approx(numbers[c]).epsilon(1e-7));
            }
            CHECK(alone["w_query"].numbers() == among["w_query"].numbers());
        }
    }

    TEST_CASE("one table for all words is drawn at once, before the matrices") {
        WalkConfig config;
        Tokens tokens = tokenize({"cat"});
        tokens.by_word = false;
        config.input = tokens;
        const Ledger table = draw(resolve(config));
        config.input = Tokens{{{1}}, {}, 2, 0};
        const Ledger ids = draw(resolve(config));
        CHECK(table["embedding"].numbers() == ids["embedding"].numbers());
        CHECK(table["w_query"].numbers() == ids["w_query"].numbers());
    }

    TEST_CASE("one generator can be shared by successive walks") {
        const Plan plan = resolve(two_heads());
        TorchGenerator generator(plan.config.seed);
        const Ledger first = draw(plan, generator);
        const Ledger second = draw(plan, generator);
        CHECK(first["w_value"].as<float>() == draw(plan)["w_value"].as<float>());
        CHECK(!(second["w_value"].as<float>() == first["w_value"].as<float>()));
    }

    TEST_CASE("given parameters determine every size that no setting sets") {
        WalkConfig config = configured("heads 2, output-projection");
        config.parameters.record("w_query", numbered({"out", "in"}, {6, 5}));
        config.parameters.record("w_value", numbered({"out", "in"}, {8, 5}));
        config.parameters.record("w_output", numbered({"out", "in"}, {9, 8}));
        const Plan plan = resolve(config);
        CHECK(plan.embed_dim == 5);
        CHECK(plan.head_dim == 3);
        CHECK(plan.value_dim == 4);
        CHECK(plan.output_dim == 9);
    }

    TEST_CASE("the parameters of nn.MultiheadAttention give its width") {
        for (const char* name : {"w_qkv", "w_output"}) {
            WalkConfig config = configured("heads 2, projection mha");
            const std::size_t rows = name == std::string("w_qkv") ? 30 : 10;
            config.parameters.record(name, numbered({"out", "in"}, {rows, 10}));
            CHECK(resolve(config).head_dim == 5);
        }
    }

    TEST_CASE("one fused matrix gives the width of a head if values are as wide as keys") {
        WalkConfig config = configured("heads 2, projection fused");
        config.parameters.record("w_qkv", numbered({"out", "in"}, {18, 4}));
        CHECK(resolve(config).head_dim == 3);
        CHECK(resolve(config).embed_dim == 4);
        config.head_dim = 2;
        config.value_dim = 5;
        CHECK(draw(resolve(config))["w_qkv"].at(71) == 71);
    }

    TEST_CASE(
        "given query and key determine their lengths, and keys of another length come from a "
        "memory") {
        WalkConfig config = configured("projection none");
        config.parameters.record("query", numbered({"query", "feature"}, {3, 7}));
        config.parameters.record("value", numbered({"key", "feature"}, {5, 2}));
        const Plan plan = resolve(config);
        CHECK(plan.query_len == 3);
        CHECK(plan.key_len == 5);
        CHECK(plan.head_dim == 7);
        CHECK(plan.value_dim == 2);
        CHECK(plan.has_memory);
    }

    TEST_CASE("features that do not divide into the heads are refused by name") {
        WalkConfig config = configured("heads 4");
        config.parameters.record("w_key", numbered({"out", "in"}, {6, 6}));
        CHECK_THROWS_WITH_AS(resolve(config),
                             "the given w_key has 6 features for the heads, which do not divide "
                             "into 4: pass another heads or weight-layout",
                             ShapeError);
    }
}
