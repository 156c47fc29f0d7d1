// Properties of whole walks over seeded random configurations.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/support/walked.hpp"

using namespace attn;

namespace {

Ledger walked(WalkConfig config, Variant variant) {
    config.variant = variant;
    return testing::walked(config);
}

double largest_magnitude(const Tensor& tensor) {
    double largest = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isfinite(tensor.at(i))) largest = std::max(largest, std::abs(tensor.at(i)));
    }
    return largest;
}

/// The largest number in a normalised query or key.
double largest_row_of(const Ledger& ledger) {
    return std::max(largest_magnitude(ledger["normed_query"]),
                    largest_magnitude(ledger["normed_key"]));
}

bool close(double a, double b, double tolerance) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
}

}  // namespace

TEST_SUITE("walk") {
    TEST_CASE("loop and vectorized agree on every step, within a bound that follows the sums") {
        // Two correct evaluations of a sum of n products differ by at most 2 n eps times the sum of
        // the products' magnitudes. Along the walk each sum reads tensors that already differ, so
        // the bound of a step adds the bounds of what it reads, scaled by what they are multiplied
        // with; softmax multiplies an absolute difference of its scores by at most 2 and adds
        // (n + 4) eps of rounding of its own.
        std::mt19937 random(20260101);
        for (int i = 0; i < 400; ++i) {
            const WalkConfig config = random_config(random);
            const Ledger loops = walked(config, Variant::loop);
            const Ledger arrays = walked(config, Variant::vectorized);
            const double eps = std::numeric_limits<float>::epsilon();
            const auto size = [&](const char* name) { return largest_magnitude(loops[name]); };
            const auto size_if_there = [&](const char* name) {
                return loops.has(name) ? size(name) : 0.0;
            };
            const Plan plan = resolve(config);
            const double width = static_cast<double>(plan.embed_dim + 1);
            double x = loops.has("x") ? std::max(size("x"), size_if_there("memory")) : 0.0;
            double parameter = 0;
            for (const auto& [name, tensor] : loops.entries()) {
                if (name[1] == '_') parameter = std::max(parameter, largest_magnitude(tensor));
            }
            // Positions are at most 9, and times an inverse frequency they are angles.
            const double angle = 9 * 4 * eps;
            const double placed = plan.adds_positions() ? angle + eps * (x + 4) : 0;
            const double projected = plan.config.projection == Projection::none
                                         ? 0.0
                                         : 2 * width * eps * (width * x * parameter + parameter) +
                                               width * placed * parameter;
            // Projections of latents follow their norm, whose gain is 1: at most the square root of
            // its features, and divided by a root mean square of 1e-3 at least.
            const double latent = std::max(size_if_there("latent"), size_if_there("query_latent"));
            const double rank = static_cast<double>(std::max(
                plan.config.latent.rank.value_or(0), plan.config.latent.query_rank.value_or(0)));
            const double normed_latent =
                2e3 * latent * (rank + 1) * (projected + 8 * eps * (latent + 1));
            const double up = rank * parameter * (normed_latent + 2 * rank * eps * rank);
            const double result = plan.has_latent() ? std::max(projected, up) : projected;
            const double head_dim = static_cast<double>(plan.head_dim);
            const double keys = static_cast<double>(plan.key_len);
            // A rotated feature is a sum of two products with a cosine and a sine, which differ by
            // as much as their angle.
            const double largest = std::max(size("query"), size("key"));
            // A norm divides by a root mean square, whose own difference is that of the
            // numbers times what they are divided by: relative to a root mean square of 1e-3 at
            // least, eps.
            const double grows =
                plan.norms() ? 2e3 * largest * (static_cast<double>(plan.head_dim) + 1) : 1;
            const double normed =
                plan.norms() ? grows * (result + 8 * eps * (largest + 1)) : result;
            const double row = plan.norms() ? largest_row_of(loops) : largest;
            const double turned =
                plan.rotates() ? 2 * (normed + row * grows * (angle + 4 * eps)) : normed;
            const double q = plan.norms() ? 1.5 * row : (plan.rotates() ? 1.5 : 1) * size("query");
            const auto with_past = [&](double part, const char* past) {
                return loops.has(past) ? std::max(part, size(past)) : part;
            };
            const double k = with_past(
                plan.norms() ? 1.5 * row : (plan.rotates() ? 1.5 : 1) * size("key"), "past_key");
            const double v = with_past(size("value"), "past_value");
            const double scores =
                head_dim * turned * (q + k + turned) + 2 * head_dim * eps * head_dim * q * k;
            const double softmax_input = scores + 2 * eps * size("scores");
            // A cap is never steeper than 1; a bias is added to its result.
            const double capped = softmax_input + 8 * eps * size("scores");
            const double bias = size_if_there("position_bias");
            const double biased = capped + 4 * eps * (size("scores") + bias);
            const double weights = 2 * biased + (keys + 4) * eps;
            const double context =
                keys * (weights * v + result * (1 + weights)) + 2 * keys * eps * v;
            const double output = 2 * static_cast<double>(plan.heads * plan.value_dim + 1) *
                                  (context + eps * (size("context") + 1)) * (parameter + 1);
            const std::vector<std::pair<std::string, double>> bounds{
                {"query_latent", projected},
                {"projected_latent", projected},
                {"latent", projected},
                {"rotary_key", projected},
                {"normed_latent", normed_latent},
                {"normed_query_latent", normed_latent},
                {"projected_key_value", result},
                {"projected_query", result},
                {"projected_key", projected},
                {"projected_value", projected},
                {"qkv", projected},
                {"query", result},
                {"key", result},
                {"value", result},
                {"repeated_value", result},
                {"position_embedding", placed},
                {"x", placed},
                {"inverse_frequencies", 4 * eps},
                {"angles", angle},
                {"cos", angle + eps},
                {"sin", angle + eps},
                {"memory_angles", angle},
                {"memory_cos", angle + eps},
                {"memory_sin", angle + eps},
                {"normed_query", turned},
                {"normed_key", turned},
                {"rotated_query", turned},
                {"rotated_key", turned},
                {"present_key", turned},
                {"present_value", result},
                {"repeated_key", turned},
                {"scores", scores},
                {"scaled_scores", softmax_input},
                {"capped_scores", capped},
                {"position_bias", 4 * eps * bias},
                {"biased_scores", biased},
                {"masked_scores", biased},
                {"row_max", biased},
                {"exponentials", 2 * biased + 4 * eps},
                {"row_sum", keys * (2 * biased + 4 * eps) + keys * keys * eps},
                {"weights", weights},
                {"sink_weight", weights},
                {"context", context},
                {"merged", context},
                {"output", output}};
            REQUIRE(loops.entries().size() == arrays.entries().size());
            for (const auto& [name, tensor] : loops.entries()) {
                double bound = 0;
                for (const auto& [step, step_bound] : bounds) {
                    if (step == name) bound = step_bound;
                }
                for (std::size_t c = 0; c < tensor.size(); ++c) {
                    REQUIRE_MESSAGE(close(tensor.at(c), arrays[name].at(c), bound),
                                    "configuration " << i << ", " << name << " cell " << c << ": "
                                                     << tensor.at(c) << " and "
                                                     << arrays[name].at(c) << ", bound " << bound);
                }
            }
        }
    }

    TEST_CASE("every row of weights sums to 1 and hidden cells are exactly 0") {
        std::mt19937 random(7);
        for (int i = 0; i < 200; ++i) {
            const Ledger ledger = walked(random_config(random), Variant::vectorized);
            const Tensor& weights = ledger["weights"];
            const Tensor* masked = ledger.find("masked_scores");
            const Tensor* sink = ledger.find("sink_weight");
            const std::size_t keys = weights.extent("key");
            for (std::size_t row = 0; row < weights.size() / keys; ++row) {
                double sum = sink ? sink->at(row) : 0;
                bool all_hidden = !sink;
                for (std::size_t k = 0; k < keys; ++k) {
                    const double weight = weights.at(row * keys + k);
                    const bool hidden = masked && std::isinf(masked->at(row * keys + k));
                    all_hidden = all_hidden && hidden;
                    if (hidden && !std::isnan(weight)) REQUIRE(weight == 0);
                    sum += weight;
                }
                if (all_hidden) {
                    REQUIRE(std::isnan(sum));
                } else {
                    REQUIRE(std::abs(sum - 1) <= 1e-6);
                }
            }
        }
    }

    TEST_CASE("under a causal mask a later token changes nothing before it") {
        for (const Variant variant : {Variant::loop, Variant::vectorized}) {
            WalkConfig config = configured("heads 2, seq-len 5, mask causal");
            const Plan plan = resolve(config);
            const Tensor x = draw(plan)["x"];
            Array<float> changed = x.as<float>();
            for (std::size_t f = 0; f < x.extent("feature"); ++f) changed(4, f) += 1;
            const auto context_of = [&](const Array<float>& input) {
                WalkConfig given = config;
                given.query_len.reset();
                given.input = Tensor({"query", "feature"}, input);
                return walked(given, variant)["merged"];
            };
            const Tensor before = context_of(x.as<float>());
            const Tensor after = context_of(changed);
            const std::size_t features = before.extent("feature");
            for (std::size_t i = 0; i < 4 * features; ++i) REQUIRE(before.at(i) == after.at(i));
            CHECK(before.at(4 * features) != after.at(4 * features));
        }
    }

    TEST_CASE("masking the last keys has the effect of deleting them") {
        WalkConfig config = configured("seq-len 3");
        config.memory = RandomInput{};
        config.key_len = 5;
        config.compute_dtype = DType::float64;
        const Plan plan = resolve(config);
        const Ledger given = draw(plan);
        WalkConfig masked = config;
        masked.mask.padding = true;
        masked.lengths = {3};
        WalkConfig deleted = config;
        Array<double> rest = empty_array<double>({3, 4});
        std::copy_n(given["memory"].as<double>().data(), 12, rest.data());
        deleted.memory = Tensor({"key", "feature"}, rest);
        deleted.key_len.reset();
        for (const char* name : {"w_query", "w_key", "w_value"}) {
            deleted.parameters.record(name, given[name]);
            masked.parameters.record(name, given[name]);
        }
        const Tensor first = walked(masked, Variant::loop)["context"];
        const Tensor second = walked(deleted, Variant::loop)["context"];
        for (std::size_t i = 0; i < first.size(); ++i) {
            CHECK(first.at(i) == doctest::Approx(second.at(i)).epsilon(1e-12));
        }
    }

    TEST_CASE("one sequence of ids serves the whole batch, for x and for memory") {
        const auto tokens = [](std::vector<std::vector<std::int64_t>> sequences) {
            return Tokens{std::move(sequences), {"<pad>", "a", "b", "c", "d"}, {}, 0};
        };
        const Source one = tokens({{4, 1, 3}});
        const Source three = tokens({{4, 1, 3}, {4, 1, 3}, {4, 1, 3}});
        const Source others = tokens({{1, 2, 0}, {3}, {2, 4, 1}});
        WalkConfig config = configured("mask padding");
        const auto with = [&](const Source& x, const Source& memory) {
            config.input = x;
            config.memory = memory;
            return resolve(config);
        };
        for (const auto& [lone, repeated] : {std::pair(with(one, others), with(three, others)),
                                             std::pair(with(others, one), with(others, three))}) {
            CHECK(lone.query_tokens == repeated.query_tokens);
            CHECK(lone.key_tokens == repeated.key_tokens);
            const Ledger ledger = testing::walked(lone);
            const Ledger of_repeated = testing::walked(repeated);
            for (const auto& [name, tensor] : of_repeated.entries()) {
                CAPTURE(name);
                CHECK(testing::differences(ledger[name], tensor) == 0);
            }
        }
        CHECK_THROWS_WITH_AS(with(tokens({{1}, {2}}), others),
                             doctest::Contains("x has 2 sequences and memory 3"), ConfigError);
        config.batch = 9'223'372'036'854'775'807;
        CHECK_THROWS_WITH_AS(with(one, one), doctest::Contains("EB"), ConfigError);
    }

    TEST_CASE("an absurd size is refused before memory is allocated, with the size it would need") {
        WalkConfig config;
        config.query_len = 1'000'000'000;
        config.head_dim = 1000;
        CHECK_THROWS_WITH_AS(resolve(config), doctest::Contains("4.1 TB"), ConfigError);
        config.head_dim = 1;
        config.query_len = 1'000'000;
        const Plan plan = resolve(config);
        CHECK_THROWS_WITH_AS(walk(plan, {}), doctest::Contains("16.0 TB"), ConfigError);
        CHECK_THROWS_WITH_AS(walk(plan, {}), doctest::Contains("variant fused"), ConfigError);
    }

    TEST_CASE("given parameters replace drawn ones, and the rest stays the same") {
        WalkConfig config = configured("seq-len 2");
        const Plan plan = resolve(config);
        const Ledger drawn = draw(plan);
        const auto zero = Array<float>::filled({4, 4}, 0);
        config.parameters.record("w_key", Tensor({"a", "b"}, zero));
        const Ledger ledger = walked(config, Variant::loop);
        CHECK(ledger["w_query"].at(3) == drawn["w_query"].at(3));
        CHECK(ledger["w_value"].at(3) == drawn["w_value"].at(3));
        CHECK(ledger["weights"].at(0) == 0.5);
        config.parameters.record("w_key", Tensor({"a"}, Array<float>{1.0F}));
        CHECK_THROWS_AS(walked(config, Variant::loop), ShapeError);
    }
}
