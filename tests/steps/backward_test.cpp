#include "attn/steps/backward.hpp"

#include <cmath>

#include "attn/steps/context.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softmax.hpp"
#include "tests/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

namespace {

Matrix waves(const Shape& shape, double turn) {
    Matrix cells = empty_array<double>(shape);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = std::sin(turn * static_cast<double>(i + 1));
    }
    return cells;
}

void check_same(const Matrix& a, const Matrix& b) {
    REQUIRE(a.shape() == b.shape());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(std::abs(a.data()[i] - b.data()[i]) < 1e-12);
    }
}

double dot(const Matrix& a, const Matrix& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a.data()[i] * b.data()[i];
    return sum;
}

/// Holds the gradient of dot(upstream, step(x)) to central differences.
template <class StepOf>
void check_gradient(const Matrix& x, const Matrix& upstream, const Matrix& gradient,
                    const StepOf& step) {
    REQUIRE(gradient.shape() == x.shape());
    for (std::size_t i = 0; i < x.size(); ++i) {
        Matrix more = x;
        Matrix less = x;
        more.data()[i] += 1e-5;
        less.data()[i] -= 1e-5;
        const double central = (dot(upstream, step(more)) - dot(upstream, step(less))) / 2e-5;
        INFO(i);
        CHECK(std::abs(gradient.data()[i] - central) < 1e-8);
    }
}

constexpr std::size_t awkward[][3] = {{1, 1, 1}, {2, 7, 3}, {3, 2, 7}, {7, 3, 2}, {40, 35, 3}};

}  // namespace

TEST_SUITE("steps: backward") {
    TEST_CASE("two weights of a half: the better one is raised by a quarter, the other lowered") {
        const Matrix weights{{0.5, 0.5}};
        const Matrix d_weights{{1, 0}};
        check_cells(loop::row_dot(weights, d_weights, 1), {0.5});
        check_cells(loop::d_softmax(weights, d_weights, loop::row_dot(weights, d_weights, 1), 1),
                    {0.25, -0.25});
        check_cells(vectorized::d_softmax(weights, d_weights,
                                          vectorized::row_dot(weights, d_weights, 1), 1),
                    {0.25, -0.25});
    }
    TEST_CASE("a token that stands twice adds twice to its row, and rows of no token get 0") {
        const Matrix d_x{{1, 2}, {10, 20}, {100, 200}};
        const Array<std::int64_t> ids{3, 0, 3};
        check_cells(loop::d_embedding(d_x, ids, 4), {10, 20, 0, 0, 0, 0, 101, 202});
        check_cells(vectorized::d_embedding(d_x, ids, 4), {10, 20, 0, 0, 0, 0, 101, 202});
        CHECK_THROWS_AS(loop::d_embedding(d_x, ids, 3), ShapeError);
    }
    TEST_CASE("back through scores and context, for more keys than queries and fewer") {
        for (const auto& [queries, keys, features] : awkward) {
            const Matrix query = waves({2, queries, features}, 0.7);
            const Matrix key = waves({2, keys, features}, 1.1);
            const Matrix upstream = waves({2, queries, keys}, 1.9);
            const Matrix d_query = loop::d_query(upstream, key);
            const Matrix d_key = loop::d_key(upstream, query);
            check_same(vectorized::d_query(upstream, key), d_query);
            check_same(vectorized::d_key(upstream, query), d_key);
            if (queries > 7) continue;
            check_gradient(query, upstream, d_query,
                           [&](const Matrix& q) { return loop::scores(q, key); });
            check_gradient(key, upstream, d_key,
                           [&](const Matrix& k) { return loop::scores(query, k); });
            const Matrix value = waves({2, keys, features}, 0.3);
            const Matrix d_context = waves({2, queries, features}, 2.3);
            check_gradient(upstream, d_context, loop::d_weights(d_context, value),
                           [&](const Matrix& w) { return loop::context(w, value); });
            check_gradient(value, d_context, vectorized::d_value(d_context, upstream),
                           [&](const Matrix& v) { return loop::context(upstream, v); });
        }
        CHECK_THROWS_AS(loop::d_query(Matrix{{1, 2}}, Matrix{{1, 2, 3}}), ShapeError);
        CHECK_THROWS_AS(vectorized::d_key(Matrix{{1, 2}}, Matrix{{1, 2}, {3, 4}}), ShapeError);
    }
    TEST_CASE("back through softmax along any axis: a row of gradients sums to 0") {
        for (const std::size_t axis : {0U, 1U, 2U}) {
            const Matrix scores = waves({2, 3, 4}, 0.9);
            const Matrix weights = loop::softmax(scores, axis);
            const Matrix upstream = waves({2, 3, 4}, 1.3);
            const Matrix dots = loop::row_dot(weights, upstream, axis);
            const Matrix gradient = loop::d_softmax(weights, upstream, dots, axis);
            check_gradient(scores, upstream, gradient,
                           [&](const Matrix& s) { return loop::softmax(s, axis); });
            check_same(vectorized::d_softmax(weights, upstream,
                                             vectorized::row_dot(weights, upstream, axis), axis),
                       gradient);
            for (const double sum : loop::row_sum(gradient, axis)) CHECK(std::abs(sum) < 1e-15);
        }
    }
    TEST_CASE("back through a projection, in both layouts") {
        for (const auto layout : {WeightLayout::out_in, WeightLayout::in_out}) {
            const bool out_in = layout == WeightLayout::out_in;
            const Matrix x = waves({2, 3, 5}, 0.7);
            const Matrix weight = waves(out_in ? Shape{4, 5} : Shape{5, 4}, 1.1);
            const Matrix upstream = waves({2, 3, 4}, 1.7);
            const Matrix none = empty_array<double>({0});
            const Matrix d_x = loop::d_projected_x(upstream, weight, layout);
            const Matrix d_weight = loop::d_projection(upstream, x, layout);
            check_gradient(x, upstream, d_x, [&](const Matrix& other) {
                return loop::project(other, weight, none, layout);
            });
            check_gradient(weight, upstream, d_weight, [&](const Matrix& other) {
                return loop::project(x, other, none, layout);
            });
            check_same(vectorized::d_projected_x(upstream, weight, layout), d_x);
            check_same(vectorized::d_projection(upstream, x, layout), d_weight);
        }
        CHECK_THROWS_AS(loop::d_projected_x(Matrix{{1, 2}}, Matrix{{1, 2}}, WeightLayout::out_in),
                        ShapeError);
    }
    TEST_CASE("back through a rotation is a rotation by the opposite angle") {
        const Matrix angles = waves({3, 2}, 1.3);
        const Matrix x = waves({2, 3, 5}, 0.7);
        const Matrix upstream = waves({2, 3, 5}, 1.1);
        const Matrix cosines = loop::cosines(angles);
        const Matrix sines = loop::sines(angles);
        for (const auto pairing : {Pairing::half, Pairing::interleaved}) {
            const Matrix gradient = loop::rotate_back(upstream, cosines, sines, pairing);
            check_gradient(x, upstream, gradient, [&](const Matrix& other) {
                return loop::rotate(other, cosines, sines, pairing);
            });
            check_same(vectorized::rotate_back(upstream, cosines, sines, pairing), gradient);
        }
    }
}
