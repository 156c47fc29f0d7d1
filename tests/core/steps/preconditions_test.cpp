// Every public step, called with invalid arguments, throws an error of the library's own: never a
// crash, and never a message of the standard library or of xtensor.

#include <doctest/doctest.h>

#include "attn/core/steps/context.hpp"
#include "attn/core/steps/heads.hpp"
#include "attn/core/steps/mask.hpp"
#include "attn/core/steps/norm.hpp"
#include "attn/core/steps/position_bias.hpp"
#include "attn/core/steps/projection.hpp"
#include "attn/core/steps/qk_norm.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/core/steps/sink.hpp"
#include "attn/core/steps/softmax.hpp"
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
    TEST_CASE("shapes that do not fit each other are refused, by loop and vectorized") {
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
        CHECK_REFUSED(project<float>(line, matrix, {}, WeightLayout::out_in));
        CHECK_REFUSED(project<float>(cube, matrix, {}, WeightLayout::out_in));
        CHECK_REFUSED(project<float>(matrix, line, {}, WeightLayout::in_out));
        CHECK_REFUSED(apply_mask<float>(matrix, Array<bool>::filled({3, 3}, true)));
    }

    TEST_CASE("parts of other forms of attention that do not fit each other are refused") {
        const Array<float> line = zeros({3});
        const Array<float> matrix = zeros({2, 3});
        const Array<float> cube = zeros({2, 3, 4});
        CHECK_THROWS_AS(norm<float>(zeros({}), line, line, NormKind::rms, 1e-6), ShapeError);
        CHECK_THROWS_AS(normalise<float>(cube, line, NormOver::head, 1e-6, 2), ShapeError);
        CHECK_THROWS_AS(normalise<float>(cube, zeros({12}), NormOver::all, 1e-6, 3), ShapeError);
        CHECK_THROWS_AS(normalise<float>(cube, zeros({4}), NormOver::all, 1e-6, 0), ShapeError);
        CHECK_THROWS_AS(position_bias<float>({}, 0, 3, 4), ShapeError);
        CHECK_THROWS_AS(position_bias<float>({{}, matrices_of(matrix), {}}, 0, 3, 4), ShapeError);
        CHECK_THROWS_AS(raise_to_sink<float>({}, MatrixView<float>{nullptr, 2, 1, 1, 1, 1}),
                        ShapeError);
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

    TEST_CASE("settings that no flag can express are refused") {
        const auto refused = [](const auto& set, const std::string& part) {
            WalkConfig config;
            set(config);
            const std::string reason = refusal<ConfigError>([&] { resolve(config); });
            CHECK_MESSAGE(reason.find(part) != std::string::npos, reason);
        };
        refused([](WalkConfig& c) { c.dtype = DType::int64; }, "floating");
        refused([](WalkConfig& c) { c.compute_dtype = DType::boolean; }, "floating");
        refused([](WalkConfig& c) { c.variant = static_cast<Variant>(9); }, "has an unknown value");
        refused([](WalkConfig& c) { c.empty_row = static_cast<EmptyRow>(-1); },
                "has an unknown value");
        refused([](WalkConfig& c) { c.layer = -1; }, "layers count from 0");
        refused([](WalkConfig& c) { c.scale = {ScaleChoice::By::number, std::nan("")}; }, "nan");
        refused(
            [](WalkConfig& c) {
                c.mask.given = Tensor({"query", "key"}, zeros({4, 4}));
            },
            "of bool");
        refused([](WalkConfig& c) { c.burn = {{Distribution::normal, std::size_t(-1)}}; }, "burn");
    }

    TEST_CASE("a ledger of another plan, and a parameter of another shape, are refused") {
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
