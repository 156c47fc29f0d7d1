#include "attn/steps/latent.hpp"

#include <algorithm>

#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

namespace {

Matrix of_shape(const Shape& shape, const std::vector<double>& numbers) {
    Matrix matrix = empty_array<double>(shape);
    std::copy(numbers.begin(), numbers.end(), matrix.data());
    return matrix;
}

}  // namespace

TEST_SUITE("steps: latent") {
    TEST_CASE("shared features stand behind those of every head of their token") {
        const Matrix rows{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
        const Matrix shared = of_shape({2, 1}, {9, 10});
        FOR_BOTH_TWINS(append_shared) {
            check_cells(append_shared(rows, shared), {1, 2, 9, 3, 4, 10, 5, 6, 9, 7, 8, 10});
        }
    }

    TEST_CASE("each sequence of a batch has shared features of its own") {
        Matrix rows = empty_array<double>({2, 2, 1, 1});
        for (std::size_t i = 0; i < 4; ++i) rows.data()[i] = double(i);
        FOR_BOTH_TWINS(append_shared) {
            check_cells(append_shared(rows, of_shape({2, 1, 1}, {7, 8})), {0, 7, 1, 7, 2, 8, 3, 8});
            CHECK_THROWS_AS(append_shared(rows, of_shape({1, 1}, {7})), ShapeError);
        }
    }

    TEST_CASE("each head has a matrix of its own, and features behind it are left out") {
        const Matrix rows{{{1, 2, 50}}, {{3, 4, 50}}};
        const Matrix matrices{{{1, 0, 1}, {0, 1, 1}}, {{2, 0, 0}, {0, 0, 2}}};
        for (const bool in_loops : {true, false}) {
            const auto multiply =
                in_loops ? loop::multiply_heads<double> : vectorized::multiply_heads<double>;
            check_cells(multiply(rows, matrices, {}), {1, 2, 3, 6, 0, 8});
            CHECK_THROWS_AS(multiply(rows, Matrix{{{1.0, 1.0}}}, {}), ShapeError);
        }
    }

    TEST_CASE("a part of a weight is cut out head by head, in either layout") {
        // two heads of three features each, from two
        const Matrix out_in{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}};
        const Matrix in_out{{1, 3, 5, 7, 9, 11}, {2, 4, 6, 8, 10, 12}};
        for (const auto& [weight, layout] :
             {std::pair(&out_in, WeightLayout::out_in), std::pair(&in_out, WeightLayout::in_out)}) {
            const Matrix part = head_matrices(*weight, layout, 2, 1, 2);
            CHECK(part.shape() == Shape{2, 2, 2});
            check_cells(part, {3, 4, 5, 6, 9, 10, 11, 12});
        }
    }
}
