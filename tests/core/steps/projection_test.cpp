#include "attn/core/steps/projection.hpp"

#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: query") {
    TEST_CASE("a projection mixes features, and its bias is added to each token") {
        FOR_BOTH_TWINS(project) {
            const Matrix x{{1, 2}, {3, 4}};
            const Matrix weight{{1, 0}, {0, 1}, {1, 1}};
            check_cells(project(x, weight, Matrix::from_shape({0}), WeightLayout::out_in),
                        {1, 2, 3, 3, 4, 7});
            check_cells(project(x, weight, Matrix{10, 20, 30}, WeightLayout::out_in),
                        {11, 22, 33, 13, 24, 37});
            const Matrix by_input{{1, 0, 1}, {0, 1, 1}};
            check_cells(project(x, by_input, Matrix::from_shape({0}), WeightLayout::in_out),
                        {1, 2, 3, 3, 4, 7});
            CHECK_THROWS_AS(project(x, by_input, Matrix::from_shape({0}), WeightLayout::out_in),
                            ShapeError);
        }
    }
    TEST_CASE("matrices with a head axis project the same tokens for each head") {
        FOR_BOTH_TWINS(project) {
            Matrix weight = Matrix::from_shape({2, 1, 2});
            std::copy_n(std::vector<double>{1, 0, 0, 1}.begin(), 4, weight.data());
            const Matrix result = project(Matrix{{1, 2}, {3, 4}}, weight, Matrix::from_shape({0}),
                                          WeightLayout::out_in);
            CHECK(shape_of(result) == Shape{2, 2, 1});
            check_cells(result, {1, 3, 2, 4});
        }
    }
}
