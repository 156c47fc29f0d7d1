// Every public step, called with what it cannot take: an error of the library's own, never a crash
// and never a word of the standard library's or of xtensor's.

#include <doctest/doctest.h>

#include "attn/steps/cache.hpp"
#include "attn/steps/context.hpp"
#include "attn/steps/differential.hpp"
#include "attn/steps/embedding.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/latent.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/norm.hpp"
#include "attn/steps/position_bias.hpp"
#include "attn/steps/projection.hpp"
#include "attn/steps/qk_norm.hpp"
#include "attn/steps/rope_scaling.hpp"
#include "attn/steps/rotary.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/sink.hpp"
#include "attn/steps/sinusoids.hpp"
#include "attn/steps/softmax.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/walked.hpp"

using namespace attn;

namespace {

Array<float> zeros(const Shape& shape) { return Array<float>::filled(shape, 0.0F); }

/// Calls both implementations of a step.
#define CHECK_REFUSED(call)                                  \
    do {                                                     \
        CHECK_THROWS_AS(attn::loop::call, ShapeError);       \
        CHECK_THROWS_AS(attn::vectorized::call, ShapeError); \
    } while (false)

}  // namespace

TEST_SUITE("steps: preconditions") {
    TEST_CASE("shapes that do not fit each other, in both twins") {
        const Array<float> line = zeros({3});
        const Array<float> one = zeros({});
        const Array<float> matrix = zeros({2, 3});
        const Array<float> cube = zeros({2, 3, 4});
        const Array<float> other = zeros({5, 7, 9});
        CHECK_REFUSED(scores<float>(line, line));
        CHECK_REFUSED(scores<float>(cube, other));
        CHECK_REFUSED(context<float>(one, cube));
        CHECK_REFUSED(context<float>(cube, other));
        CHECK_REFUSED(row_max<float>(matrix, 2));
        CHECK_REFUSED(row_sum<float>(one, 0));
        CHECK_REFUSED(exponentials<float>(matrix, line, 7));
        CHECK_REFUSED(exponentials<float>(matrix, line, 1));
        CHECK_REFUSED(softmax<float>(cube, 3));
        CHECK_REFUSED(split_heads<float>(line, 3));
        CHECK_REFUSED(split_heads<float>(matrix, 2));
        CHECK_REFUSED(split_heads<float>(matrix, 0));
        CHECK_REFUSED(merge_heads<float>(matrix));
        CHECK_REFUSED(repeat_heads<float>(line, 2));
        CHECK_REFUSED(rotate<float>(cube, zeros({3, 2}), zeros({3, 1}), Pairing::half, 0));
        CHECK_REFUSED(rotate<float>(cube, line, line, Pairing::half, 0));
        CHECK_REFUSED(rotate<float>(line, zeros({3, 1}), zeros({3, 1}), Pairing::interleaved, 0));
        CHECK_REFUSED(rotate<float>(cube, zeros({3, 2}), zeros({3, 2}), Pairing::half, 1));
        CHECK_REFUSED(project<float>(line, matrix, {}, WeightLayout::out_in));
        CHECK_REFUSED(project<float>(cube, matrix, {}, WeightLayout::out_in));
        CHECK_REFUSED(project<float>(matrix, line, {}, WeightLayout::in_out));
        CHECK_REFUSED(append_tokens<float>(cube, matrix));
        CHECK_REFUSED(append_tokens<float>(line, line));
        CHECK_REFUSED(apply_mask<float>(matrix, Array<bool>::filled({3, 3}, true)));
        CHECK_REFUSED(add_rows<float>(line, matrix));
        CHECK_REFUSED(add_rows<float>(cube, matrix));
        CHECK_REFUSED(embed<float>(Array<std::int64_t>{1, 2}, line));
    }

    TEST_CASE("parts of other forms of attention that do not fit each other") {
        const Array<float> line = zeros({3});
        const Array<float> matrix = zeros({2, 3});
        const Array<float> cube = zeros({2, 3, 4});
        const Array<float> heads = zeros({1, 2, 3, 4});
        CHECK_REFUSED(append_shared<float>(cube, zeros({2, 4})));
        CHECK_REFUSED(append_shared<float>(zeros({2, 1, 2, 3, 4}), zeros({2, 1, 3, 4})));
        CHECK_REFUSED(multiply_heads<float>(cube, zeros({2, 5, 4}), {}));
        CHECK_REFUSED(lambda<float>(matrix, matrix, matrix, matrix, 0.2));
        CHECK_REFUSED(subtract_pairs<float>(heads, Array<float>{}));
        CHECK_REFUSED(subtract_pairs<float>(heads, matrix));
        CHECK_REFUSED(norm<float>(zeros({}), line, line, NormKind::rms, 1e-6));
        CHECK_REFUSED(normalise<float>(cube, line, NormOver::head, 1e-6, 2));
        CHECK_REFUSED(normalise<float>(cube, zeros({12}), NormOver::all, 1e-6, 3));
        CHECK_REFUSED(normalise<float>(cube, zeros({4}), NormOver::all, 1e-6, 0));
        CHECK_REFUSED(position_bias<float>({}, 0, 3, 4));
        CHECK_REFUSED(position_bias<float>({{}, matrices_of(matrix), {}}, 0, 3, 4));
        CHECK_THROWS_AS(vectorized::position_bias<float>({matrices_of(matrix), {}, {}}, 0, 0, 0),
                        ShapeError);
        CHECK_REFUSED(raise_to_sink<float>({}, MatrixView<float>{nullptr, 2, 1, 1, 1, 1}));
        CHECK_REFUSED(sink_weight<float>({}, matrices_of(cube), matrices_of(cube),
                                         MatrixView<float>{nullptr, 3, 1, 1, 1, 1}));
        RopeScaling longrope;
        longrope.kind = RopeScaling::Kind::longrope;
        longrope.short_factors = longrope.long_factors = {1, 2, 3, 4, 5};
        CHECK_REFUSED(scale_frequencies<float>(line, longrope, 1e4, 9));
        longrope.short_factors = longrope.long_factors = {};
        CHECK_REFUSED(scale_frequencies<float>(line, longrope, 1e4, 9));
        for (const WeightLayout layout : {WeightLayout::in_out, WeightLayout::out_in}) {
            CHECK_THROWS_AS(head_matrices<float>(line, layout, 1, 0, 1), ShapeError);
            CHECK_THROWS_AS(head_matrices<float>(matrix, layout, 0, 0, 1), ShapeError);
            CHECK_THROWS_AS(head_matrices<float>(matrix, layout, 1, 2, 2), ShapeError);
        }
        CHECK_THROWS_AS(view_by_distance<float>(matrix, 4), ShapeError);
        CHECK_THROWS_AS(bucket_of(9, BucketRule{1, 8, true}), ConfigError);
        CHECK_THROWS_AS(bucket_of(9, BucketRule{8, 2, true}), ConfigError);
    }

    TEST_CASE("a tensor of another type is named") {
        const Tensor ids({"token"}, Array<std::int64_t>{4, 1});
        CHECK(refusal<ShapeError>([&] { ids.as<float>(); }).find("of int64, token 2") !=
              std::string::npos);
        CHECK_THROWS_AS(ids.as<bool>(), ShapeError);
        CHECK(ids.as<std::int64_t>()(1) == 1);
    }

    TEST_CASE("settings that no flag can say") {
        const auto refused = [](const auto& set, const std::string& part) {
            WalkConfig config;
            set(config);
            const std::string reason = refusal<ConfigError>([&] { resolve(config); });
            CHECK_MESSAGE(reason.find(part) != std::string::npos, reason);
        };
        refused([](WalkConfig& c) { c.dtype = DType::int64; }, "floating");
        refused([](WalkConfig& c) { c.compute_dtype = DType::boolean; }, "floating");
        refused([](WalkConfig& c) { c.variant = static_cast<Variant>(9); }, "beyond its words");
        refused([](WalkConfig& c) { c.empty_row = static_cast<EmptyRow>(-1); }, "beyond its words");
        refused([](WalkConfig& c) { c.layer = -1; }, "layers count from 0");
        refused([](WalkConfig& c) { c.scale = {ScaleChoice::By::number, std::nan("")}; }, "nan");
        refused(
            [](WalkConfig& c) {
                c.mask.given = Tensor({"query", "key"}, zeros({4, 4}));
            },
            "of bool");
        refused([](WalkConfig& c) { c.burn = {{Distribution::normal, std::size_t(-1)}}; }, "burn");
    }

    TEST_CASE("a ledger of another plan, and a parameter of another shape") {
        WalkConfig config;
        const Ledger drawn = draw(resolve(config));
        config.query_len = 5;
        const Plan longer = resolve(config);
        CHECK(refusal<ShapeError>([&] { walk(longer, drawn); }).find("the given x has shape") !=
              std::string::npos);
        Ledger other = draw(longer);
        other.record("w_query", Tensor({"out", "in"}, zeros({4, 3})));
        CHECK(refusal<ShapeError>([&] { walk(longer, other); }).find("w_query") !=
              std::string::npos);
        CHECK_THROWS_AS(walk(longer, {}), Error);
    }
}
