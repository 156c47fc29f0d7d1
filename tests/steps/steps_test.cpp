// Each step against answers known on paper, both twins alike.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/steps/context.hpp"
#include "attn/steps/embedding.hpp"
#include "attn/steps/heads.hpp"
#include "attn/steps/mask.hpp"
#include "attn/steps/projection.hpp"
#include "attn/steps/scaling.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "attn/tensor/error.hpp"

using namespace attn;

namespace {

using Matrix = Array<double>;
const double inf = std::numeric_limits<double>::infinity();

void check_cells(const Matrix& array, const std::vector<double>& expected) {
    REQUIRE(array.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const bool same = array.data()[i] == doctest::Approx(expected[i]).epsilon(1e-14) ||
                          (std::isnan(array.data()[i]) && std::isnan(expected[i])) ||
                          array.data()[i] == expected[i];
        CHECK_MESSAGE(same, "cell " << i << ": " << array.data()[i] << " is not " << expected[i]);
    }
}

}  // namespace

#define BOTH_TWINS(step) \
    { &loop::step<double>, &vectorized::step<double> }

TEST_SUITE("steps: scores") {
    TEST_CASE("a score is the dot product of a query and a key") {
        for (const auto& scores : BOTH_TWINS(scores)) {
            const Matrix query{{1, 2}, {0, 3}};
            const Matrix key{{5, 7}, {-1, 1}, {0, 0}};
            check_cells(scores(query, key, {}), {19, 1, 0, 21, 3, 0});
        }
    }
    TEST_CASE("different numbers of features are refused") {
        for (const auto& scores : BOTH_TWINS(scores)) {
            CHECK_THROWS_AS(scores(Matrix{{1, 2}}, Matrix{{1, 2, 3}}, {}), ShapeError);
        }
    }
}

TEST_SUITE("steps: scaled_scores") {
    TEST_CASE("dividing by 2 halves, multiplying by 2 doubles") {
        using Operation = ScaleFactor::Operation;
        for (const auto& scale : BOTH_TWINS(scale)) {
            check_cells(scale(Matrix{{2, -3}}, {Operation::divide, 2}), {1, -1.5});
            check_cells(scale(Matrix{{2, -3}}, {Operation::multiply, 2}), {4, -6});
        }
    }
}

TEST_SUITE("steps: mask") {
    TEST_CASE("a causal mask hides what comes after the query") {
        const Array<bool> mask = causal_mask(2, 3, CausalAlign::start);
        CHECK(mask == Array<bool>{{false, true, true}, {false, false, true}});
        const Array<bool> end = causal_mask(2, 3, CausalAlign::end);
        CHECK(end == Array<bool>{{false, false, true}, {false, false, false}});
    }
    TEST_CASE("hidden cells become minus infinity, others stay") {
        for (const auto& apply : BOTH_TWINS(apply_mask)) {
            check_cells(apply(Matrix{{1, 2}, {3, 4}}, Array<bool>{{false, true}, {false, false}}),
                        {1, -inf, 3, 4});
            check_cells(apply(Matrix{{1, 2}, {3, 4}}, Array<bool>{{true, false}}),
                        {-inf, 2, -inf, 4});
        }
    }
    TEST_CASE("a mask that does not broadcast is refused") {
        for (const auto& apply : BOTH_TWINS(apply_mask)) {
            CHECK_THROWS_AS(apply(Matrix{{1, 2, 3}}, Array<bool>{{true, false}}), ShapeError);
        }
    }
    TEST_CASE("padding is hidden from every head and query of its own sequence") {
        const Array<bool> mask = padding_mask(Array<bool>{{false, true}, {false, false}}, 4);
        CHECK(shape_of(mask) == Shape{2, 1, 1, 2});
        CHECK(mask(0, 0, 0, 1));
        CHECK_FALSE(mask(1, 0, 0, 1));
    }
}

TEST_SUITE("steps: weights") {
    TEST_CASE("scores ln 1, ln 2, ln 5 give weights 1/8, 2/8, 5/8") {
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            const Matrix scores{{std::log(1.0), std::log(2.0), std::log(5.0)}};
            check_cells(softmax(scores, 1, EmptyRow::nan), {0.125, 0.25, 0.625});
        }
    }
    TEST_CASE("equal scores give equal weights, one key takes all") {
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            check_cells(softmax(Matrix{{7, 7, 7, 7}}, 1, EmptyRow::nan), {.25, .25, .25, .25});
            check_cells(softmax(Array<double>::filled({1, 1}, -3.0), 1, EmptyRow::nan), {1});
        }
    }
    TEST_CASE("a hidden key has weight exactly 0 and the rest share its part") {
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            check_cells(softmax(Matrix{{0, -inf, 0}}, 1, EmptyRow::nan), {0.5, 0, 0.5});
        }
    }
    TEST_CASE("scores that would overflow exp() do not") {
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            check_cells(softmax(Matrix{{1000, 1000}}, 1, EmptyRow::nan), {0.5, 0.5});
        }
    }
    TEST_CASE("a row that hides every key gives nan, zeros or a refusal") {
        const Matrix scores{{-inf, -inf}, {0, 0}};
        const double nan = std::nan("");
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            check_cells(softmax(scores, 1, EmptyRow::nan), {nan, nan, 0.5, 0.5});
            check_cells(softmax(scores, 1, EmptyRow::zero), {0, 0, 0.5, 0.5});
            CHECK_THROWS_AS(softmax(scores, 1, EmptyRow::error), ConfigError);
        }
    }
    TEST_CASE("along another axis it is the columns that sum to 1") {
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            check_cells(softmax(Matrix{{0, std::log(3.0)}, {0, 0}}, 0, EmptyRow::nan),
                        {0.5, 0.75, 0.5, 0.25});
        }
    }
    TEST_CASE("nan in a score spreads over its row only") {
        const double nan = std::nan("");
        for (const auto& softmax : BOTH_TWINS(softmax)) {
            check_cells(softmax(Matrix{{nan, 0}, {0, 0}}, 1, EmptyRow::nan), {nan, nan, 0.5, 0.5});
        }
    }
    TEST_CASE("the parts are the largest score, the exponentials and their sum") {
        const Matrix scores{{0, std::log(3.0)}, {-inf, -inf}};
        for (const auto& row_max : BOTH_TWINS(row_max)) {
            check_cells(row_max(scores, 1), {std::log(3.0), -inf});
        }
        for (const auto& exponentials : BOTH_TWINS(exponentials)) {
            check_cells(exponentials(Matrix{{0, std::log(3.0)}}, Array<double>{std::log(3.0)}, 1),
                        {1.0 / 3, 1});
        }
        for (const auto& row_sum : BOTH_TWINS(row_sum)) {
            check_cells(row_sum(Matrix{{1, 2}, {3, 4}}, 1), {3, 7});
            check_cells(row_sum(Matrix{{1, 2}, {3, 4}}, 0), {4, 6});
        }
    }
}

TEST_SUITE("steps: context") {
    TEST_CASE("equal weights give the mean of the values, a single one gives its value back") {
        for (const auto& context : BOTH_TWINS(context)) {
            const Matrix value{{1, 10}, {3, 30}};
            check_cells(context(Matrix{{0.5, 0.5}, {0, 1}}, value, {}), {2, 20, 3, 30});
        }
    }
    TEST_CASE("a weight for every key is required") {
        for (const auto& context : BOTH_TWINS(context)) {
            CHECK_THROWS_AS(context(Matrix{{1, 0, 0}}, Matrix{{1, 2}}, {}), ShapeError);
        }
    }
}

TEST_SUITE("steps: query") {
    TEST_CASE("a projection mixes features, and its bias is added to each token") {
        for (const auto& project : BOTH_TWINS(project)) {
            const Matrix x{{1, 2}, {3, 4}};
            const Matrix weight{{1, 0}, {0, 1}, {1, 1}};
            check_cells(project(x, weight, Matrix::from_shape({0}), WeightLayout::out_in, {}),
                        {1, 2, 3, 3, 4, 7});
            check_cells(project(x, weight, Matrix{10, 20, 30}, WeightLayout::out_in, {}),
                        {11, 22, 33, 13, 24, 37});
            const Matrix by_input{{1, 0, 1}, {0, 1, 1}};
            check_cells(project(x, by_input, Matrix::from_shape({0}), WeightLayout::in_out, {}),
                        {1, 2, 3, 3, 4, 7});
            CHECK_THROWS_AS(project(x, by_input, Matrix::from_shape({0}), WeightLayout::out_in, {}),
                            ShapeError);
        }
    }
    TEST_CASE("matrices with a head axis project the same tokens for each head") {
        for (const auto& project : BOTH_TWINS(project)) {
            Matrix weight = Matrix::from_shape({2, 1, 2});
            std::copy_n(std::vector<double>{1, 0, 0, 1}.begin(), 4, weight.data());
            const Matrix result = project(Matrix{{1, 2}, {3, 4}}, weight, Matrix::from_shape({0}),
                                          WeightLayout::out_in, {});
            CHECK(shape_of(result) == Shape{2, 2, 1});
            check_cells(result, {1, 3, 2, 4});
        }
    }
    TEST_CASE("a head is a run of neighbouring features, and merging undoes splitting") {
        const Matrix projected{{1, 2, 3, 4}, {5, 6, 7, 8}};
        for (const auto& split : BOTH_TWINS(split_heads)) {
            const Matrix heads = split(projected, 2);
            CHECK(shape_of(heads) == Shape{2, 2, 2});
            check_cells(heads, {1, 2, 5, 6, 3, 4, 7, 8});
            for (const auto& merge : BOTH_TWINS(merge_heads)) CHECK(merge(heads) == projected);
            CHECK_THROWS_AS(split(projected, 3), ShapeError);
        }
    }
}

TEST_SUITE("steps: x") {
    TEST_CASE("an id takes its row of the table, and one without a row is refused") {
        const Array<double> table{{1, 2}, {3, 4}};
        for (const auto& embed : BOTH_TWINS(embed)) {
            check_cells(embed(Array<std::int64_t>{1, 0, 1}, table), {3, 4, 1, 2, 3, 4});
            CHECK_THROWS_AS(embed(Array<std::int64_t>{2}, table), ShapeError);
        }
    }
}
