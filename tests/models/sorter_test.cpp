#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/generate.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"

namespace {

using namespace attn;
using namespace attn::models;

/// A tensor as the sorter's author published it: float32 in base64.
std::vector<double> published(const nlohmann::json& file, const std::string& name) {
    const std::string text = file.at(name).at("data");
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    for (std::size_t i = 0; i + 3 < text.size(); i += 4) {
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            const std::size_t value = letters.find(text[i + k]);
            bits = bits << 6U | static_cast<std::uint32_t>(value == letters.npos ? 0 : value);
        }
        for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift);
    }
    std::size_t count = 1;
    for (const std::size_t extent : file.at(name).at("shape")) count *= extent;
    REQUIRE(bytes.size() >= 4 * count);
    std::vector<float> numbers(count);
    std::memcpy(numbers.data(), bytes.data(), 4 * count);
    return {numbers.begin(), numbers.end()};
}

/// The largest difference of sequence `b` of a published tensor of three from ours; hidden scores
/// must be hidden in both.
double distance(const std::vector<double>& theirs, std::size_t b, const Tensor& ours) {
    REQUIRE(theirs.size() == 3 * ours.size());
    double largest = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double a = theirs[b * ours.size() + i];
        const double difference = a == ours.at(i) ? 0 : std::abs(a - ours.at(i));
        largest = std::max(largest, difference / std::max(1.0, std::abs(a)));
    }
    return largest;
}

}  // namespace

TEST_SUITE("models: sorter") {
    TEST_CASE("every tensor is what its author's PyTorch computed, for three sequences") {
        std::ifstream stream(ATTN_SOURCE_DIR "/data/models/gpt-nano-sort-t0-partials.json");
        const auto file = nlohmann::json::parse(stream);
        const Model model = open_model("sorter");
        const std::vector<double> all_ids = published(file, "idx");
        // Our name and layer of each of theirs.
        const std::map<std::string, std::string> names{
            {"0 x", "x"},
            {"0 normed_x", "ln1"},
            {"0 query", "q"},
            {"0 key", "k"},
            {"0 value", "v"},
            {"0 scaled_scores", "att"},
            {"0 weights", "attSm"},
            {"0 merged", "y"},
            {"0 output", "yProj"},
            {"0 x_after_attention", "attnResid"},
            {"0 mlp_normed_x", "ln2"},
            {"0 mlp_inner", "fc"},
            {"0 mlp_activated", "gelu"},
            {"0 mlp_output", "mlp"},
            {"0 x_after_mlp", "mlpResid"},
            {"1 x", "block0"},
            {"1 x_after_mlp", "block1"},
            {"2 x_after_mlp", "block2"},
        };
        for (std::size_t b = 0; b < 3; ++b) {
            std::vector<std::int64_t> ids;
            for (std::size_t t = 0; t < 11; ++t) {
                ids.push_back(static_cast<std::int64_t>(all_ids[b * 11 + t]));
            }
            Runtime<double> runtime(model);
            std::size_t compared = 0;
            runtime.watch([&](const Passing& passing) {
                const std::string ours =
                    std::to_string(passing.layer) + " " + std::string(passing.name);
                const auto theirs = names.find(ours);
                if (theirs == names.end()) return;
                ++compared;
                INFO(ours << " of sequence " << b);
                CHECK(distance(published(file, theirs->second), b, passing.tensor) < 1e-6);
            });
            const Array<double> x = runtime.advance(ids);
            CHECK(compared == names.size());
            // Their float32 has rounded through three layers by here.
            const Array<double> normed = Norm<double>(model, "g_final", "b_final")(x);
            CHECK(distance(published(file, "ln_f"), b, Tensor({"token", "feature"}, normed)) <
                  2e-6);
            Array<double> logits = runtime.logits(x);
            CHECK(distance(published(file, "lm_head"), b, Tensor({"token", "id"}, logits)) < 2e-6);
            for (std::size_t t = 0; t < 11; ++t) {
                double sum = 0;
                for (int id = 0; id < 3; ++id) sum += std::exp(logits(t, id));
                for (int id = 0; id < 3; ++id) logits(t, id) = std::exp(logits(t, id)) / sum;
            }
            CHECK(distance(published(file, "probs"), b, Tensor({"token", "id"}, logits)) < 1e-6);
        }
    }
    TEST_CASE("query, key and value are the thirds of what the file holds as one") {
        const Model model = open_model("sorter");
        const Tensor query = model.read("2.w_query");
        const Tensor key = model.read("2.w_key");
        CHECK(query.shape() == Shape{48, 48});
        CHECK(query.at(0) != key.at(0));
        CHECK(model.encode("c b, A") == std::vector<std::int64_t>{2, 1, 0});
    }

    TEST_CASE("what is called with no token, no layer or other widths is refused") {
        const Model model = open_model("sorter");
        Runtime<double> runtime(model);
        const auto zeros = [](const Shape& shape) { return Array<double>::filled(shape, 0); };
        CHECK_THROWS_AS(runtime.last_logits(zeros({0, 48})), Error);
        CHECK_THROWS_AS(runtime.logits(zeros({2, 47})), ShapeError);
        CHECK_THROWS_AS(runtime.logits(zeros({2, 96})), ShapeError);
        CHECK_THROWS_AS(NextTokens(model, nullptr, {}), Error);
        CHECK_THROWS_AS(inputs_of_layers(model, std::vector<std::int64_t>{0, 1}, 99), Error);
        const auto read = parameters_of<double>(model);
        CHECK_FALSE(first_parting(read, nullptr, {0, 1, 2}, 9).has_value());
    }
}
