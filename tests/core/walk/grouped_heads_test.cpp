// Grouped-query attention: several query heads share one head of keys and values.
#include <doctest/doctest.h>

#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/core/plan/random_plans.hpp"
#include "tests/support/refusal.hpp"

using namespace attn;

namespace {

constexpr std::array all_variants{Variant::loop, Variant::vectorized, Variant::fused};

WalkConfig grouped(std::int64_t heads, std::int64_t kv_heads, Projection projection) {
    WalkConfig config;
    config.heads = heads;
    config.kv_heads = kv_heads;
    config.head_dim = 3;
    config.value_dim = 5;
    config.embed_dim = 7;  // not heads * head_dim: head_dim is free
    config.batch = 2;
    config.query_len = 5;
    config.projection = projection;
    config.bias = projection != Projection::none;
    config.output_projection = true;
    config.mask.causal = true;
    return config;
}

bool same_bits(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a.at(i) != b.at(i)) return false;
    }
    return true;
}

/// Each of the `heads` equal parts of an axis, repeated `times` times.
Tensor copied(const Tensor& tensor, std::size_t axis, std::size_t heads, std::size_t times) {
    Shape shape = tensor.shape();
    std::size_t inner = shape[axis] / heads;
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    shape[axis] *= times;
    Array<float> result = empty_array<float>(shape);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::size_t block = i / inner;
        result.data()[i] = static_cast<float>(tensor.at(block / times * inner + i % inner));
    }
    return {tensor.axes(), std::move(result)};
}

/// Returns the same walk with a key and value head for each query head, whose parameters are
/// copies.
Ledger with_copied_rows(const WalkConfig& config, const Ledger& given) {
    const auto kv_heads = static_cast<std::size_t>(*config.kv_heads);
    const std::size_t times = static_cast<std::size_t>(config.heads) / kv_heads;
    Ledger parameters = given;
    for (const char* name : {"w_key", "b_key", "w_value", "b_value", "key", "value"}) {
        const Tensor* tensor = given.find(name);
        if (tensor == nullptr) continue;
        const bool headed = tensor->has_axis("head");
        const std::size_t axis = headed ? tensor->axis("head") : tensor->axis("out");
        parameters.record(name, copied(*tensor, axis, kv_heads, times));
    }
    return parameters;
}

}  // namespace

TEST_SUITE("walk: grouped heads") {
    TEST_CASE("it is multi-head attention whose keys and values are copies, bit for bit") {
        int compared = 0;
        for (const Projection projection :
             {Projection::split, Projection::stacked, Projection::none}) {
            for (const auto& [heads, kv_heads] : {std::pair(6, 2), {6, 3}, {4, 1}}) {
                for (const Variant variant : all_variants) {
                    WalkConfig config = grouped(heads, kv_heads, projection);
                    config.variant = variant;
                    const Plan plan = resolve(config);
                    const Ledger given = draw(plan);
                    const Ledger few = walk(plan, given);
                    const Ledger copies = with_copied_rows(config, given);
                    config.kv_heads.reset();
                    const Ledger many = walk(resolve(config), copies);
                    INFO("heads " << heads << ", kv_heads " << kv_heads);
                    for (const char* step : {"scores", "weights", "context", "output"}) {
                        REQUIRE(few.has(step) == many.has(step));
                        if (few.has(step)) CHECK_MESSAGE(same_bits(few[step], many[step]), step);
                    }
                    if (variant != Variant::fused) {
                        CHECK(same_bits(few["repeated_key"], many["key"]));
                        CHECK(same_bits(few["repeated_value"], many["value"]));
                    }
                    ++compared;
                }
            }
        }
        CHECK(compared == 27);
    }

    TEST_CASE("with as many key and value heads as heads, nothing changes, bit for bit") {
        std::mt19937 random(20261122);
        for (int i = 0; i < 60; ++i) {
            WalkConfig config = random_config(random);
            config.kv_heads.reset();
            const Plan plan = resolve(config);
            config.kv_heads = config.heads;
            const Plan specified = resolve(config);
            const Ledger without = walk(plan, draw(plan));
            const Ledger with = walk(specified, draw(specified));
            REQUIRE(without.entries().size() == with.entries().size());
            for (const auto& [name, tensor] : without.entries()) {
                INFO(name);
                for (std::size_t c = 0; c < tensor.size(); ++c) {
                    const bool both_nan = std::isnan(tensor.at(c)) && std::isnan(with[name].at(c));
                    CHECK((both_nan || tensor.at(c) == with[name].at(c)));
                }
            }
        }
    }

    TEST_CASE("one fused weight holds all query heads, then the key heads, then the value heads") {
        const Plan plan = resolve(grouped(4, 2, Projection::fused));
        const Ledger given = draw(plan);
        CHECK(given["w_qkv"].shape() == Shape{4 * 3 + 2 * 3 + 2 * 5, 7});
        const Ledger ledger = walk(plan, given);
        CHECK(ledger["qkv"].shape() == Shape{2, 5, 28});
        CHECK(ledger["query"].shape() == Shape{2, 4, 5, 3});
        CHECK(ledger["key"].shape() == Shape{2, 2, 5, 3});
        CHECK(ledger["value"].shape() == Shape{2, 2, 5, 5});
        // value head 1 of token 3 of the second sequence: after 12 query and 6 key features and
        // value head 0
        for (std::size_t f = 0; f < 5; ++f) {
            CHECK(ledger["value"].at(((1 * 2 + 1) * 5 + 3) * 5 + f) ==
                  ledger["qkv"].at((1 * 5 + 3) * 28 + 12 + 6 + 5 + f));
        }
    }

    TEST_CASE("head h reads key head h / (heads / kv_heads), and why states it") {
        const Plan plan = resolve(grouped(6, 2, Projection::split));
        const Ledger ledger = walk(plan, draw(plan));
        const Derivation derivation =
            derive(plan, step_table(), ledger,
                   parse_cell(plan, step_table(), ledger, "repeated_key[1,4,2,0]"));
        REQUIRE(derivation.sources.size() == 1);
        CHECK(derivation.sources[0].step == "key");
        CHECK(derivation.sources[0].indices == std::vector<std::size_t>{1, 1, 2, 0});
        CHECK(derivation.sources[0].value == derivation.cell.value);
    }

    TEST_CASE("numbers of heads that do not fit are refused in one line") {
        const auto message = [](const WalkConfig& config) {
            return refusal<Error>([&] { resolve(config); });
        };
        const auto starts = [](const std::string& text, const std::string& with) {
            CHECK_MESSAGE(text.starts_with(with), text);
        };
        starts(message(grouped(6, 4, Projection::split)), "kv-heads 4 does not divide heads 6");
        starts(message(grouped(2, 4, Projection::split)), "kv-heads 4 does not divide heads 2");
        starts(message(grouped(6, 0, Projection::split)), "kv-heads must be at least 1");
        for (const Projection projection :
             {Projection::mha, Projection::per_head, Projection::fused_by_head}) {
            starts(message(grouped(6, 2, projection)), "kv-heads 2");
        }
    }
}
