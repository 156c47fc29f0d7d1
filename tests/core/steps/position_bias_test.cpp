#include "attn/core/steps/position_bias.hpp"

#include <doctest/doctest.h>

#include "attn/ground/tensor/error.hpp"

using namespace attn;

namespace {

std::vector<std::int64_t> buckets(const std::vector<std::int64_t>& distances,
                                  const BucketRule& rule) {
    std::vector<std::int64_t> found;
    for (const std::int64_t distance : distances) found.push_back(bucket_of(distance, rule));
    return found;
}

template <class T>
DistanceBias<T> of_slopes(const Array<T>& slopes) {
    return {column_of(slopes.data(), 1, slopes.size()), {}, {}};
}

}  // namespace

TEST_SUITE("steps: position_bias") {
    TEST_CASE("slopes halve from head to head if there are eight") {
        CHECK(alibi_slopes(8) == std::vector<double>{1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32,
                                                     1.0 / 64, 1.0 / 128, 1.0 / 256});
        CHECK(alibi_slopes(1) == std::vector<double>{1.0 / 256});
        CHECK(alibi_slopes(2) == std::vector<double>{1.0 / 16, 1.0 / 256});
    }
    TEST_CASE("6 and 12 heads take every second slope of the next power of two") {
        CHECK(alibi_slopes(6) == std::vector<double>{.25, .0625, .015625, .00390625, .5, .125});
        const std::vector<double> twelve = alibi_slopes(12);
        const std::vector<double> known{.5,       .25,       .125,    .0625,   .03125,  .015625,
                                        .0078125, .00390625, .707107, .353553, .176777, .0883883};
        REQUIRE(twelve.size() == 12);
        for (std::size_t h = 0; h < 12; ++h) {
            CHECK(twelve[h] == doctest::Approx(known[h]).epsilon(1e-6));
        }
    }
    TEST_CASE("the buckets of T5's encoder and decoder") {
        CHECK(buckets({-128, -20, -9, -8, -7, -1, 0, 1, 7, 8, 9, 20, 127}, {}) ==
              std::vector<std::int64_t>{15, 10, 8, 8, 7, 1, 0, 17, 23, 24, 24, 26, 31});
        CHECK(buckets({-200, -128, -40, -17, -16, -15, -1, 0, 3}, {32, 128, false}) ==
              std::vector<std::int64_t>{31, 31, 23, 16, 16, 15, 1, 0, 0});
    }
    TEST_CASE("a key loses its slope for each token of distance, before and after the query") {
        const Array<float> slopes{0.5F, 0.25F};
        const Array<float> bias = position_bias(of_slopes(slopes), 1, 2, 3);
        CHECK(bias == Array<float>{{{-0.5F, 0.0F, -0.5F}, {-1.0F, -0.5F, 0.0F}},
                                   {{-0.25F, 0.0F, -0.25F}, {-0.5F, -0.25F, 0.0F}}});
    }
    TEST_CASE("the bias of all cells, the line of distances and its view agree") {
        const Array<double> slopes{0.5, 0.3, 0.1};
        Array<double> table = empty_array<double>({8, 3});
        for (std::size_t i = 0; i < table.size(); ++i) table.data()[i] = 0.1 * double(i);
        for (const bool alibi : {true, false}) {
            const DistanceBias<double> bias =
                alibi ? of_slopes(slopes)
                      : DistanceBias<double>{{}, matrices_of(table), {8, 6, true}};
            for (const std::ptrdiff_t first : {-2, 0, 3}) {
                for (const std::size_t queries : {1U, 2U, 7U}) {
                    for (const std::size_t keys : {1U, 3U, 7U}) {
                        const auto whole = position_bias(bias, first, queries, keys);
                        const auto line = bias_by_distance(bias, first, queries, keys);
                        const auto view = view_by_distance(line, keys);
                        const auto last = view.from(5, queries - 1);  // head 2 of entry 1
                        CHECK(last.at(0, 0, keys - 1) == whole(2, queries - 1, keys - 1));
                    }
                }
            }
        }
    }
    TEST_CASE("a bias is read as it broadcasts") {
        Array<float> column{10.0F, 20.0F};
        column.reshape({2, 1});
        const BiasView<float> view = bias_view(column, Shape{2, 2});
        CHECK(view.at(0, 0, 1) == 10);
        CHECK(view.at(0, 1, 0) == 20);
        CHECK_THROWS_AS(bias_view(Array<float>{1.0F, 2.0F, 3.0F}, Shape{2, 2}), ShapeError);
    }
}
