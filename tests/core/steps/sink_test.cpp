#include "attn/core/steps/sink.hpp"

#include "attn/core/steps/softmax.hpp"
#include "tests/core/steps/twins.hpp"

using namespace attn;
using namespace steps_test;

TEST_SUITE("steps: sink") {
    TEST_CASE("scores ln 1, ln 2, ln 5 and a sink of ln 2 give 1/10, 2/10, 5/10") {
        const Matrix scores{{0, std::log(2.0), std::log(5.0)}};
        const std::vector<double> sink{std::log(2.0)};
        FOR_BOTH_TWINS(softmax) {
            check_cells(softmax(scores, 1, EmptyRow::nan, std::span<const double>(sink)),
                        {0.1, 0.2, 0.5});
        }
    }

    TEST_CASE("a sink of 0 is off-by-one softmax, whatever is subtracted first") {
        // 1 + sum of exp(score); with all scores far below 0 the query attends to nearly nothing.
        const std::vector<double> sink{0};
        for (const double shift : {0.0, -6.0, 300.0}) {
            const Matrix scores{{shift, shift + 1}};
            const double all = std::exp(shift) + std::exp(shift + 1);
            const double part = std::exp(shift) / (1 + all);
            FOR_BOTH_TWINS(softmax) {
                const Matrix weights =
                    softmax(scores, 1, EmptyRow::nan, std::span<const double>(sink));
                CHECK(weights(0, 0) == doctest::Approx(part).epsilon(1e-12));
            }
        }
    }

    TEST_CASE(
        "a sink of -inf changes no bit, and a fully masked row gives everything to the sink") {
        const Matrix scores{{1, -2}, {-inf, -inf}};
        const std::vector<double> none{-inf};
        const std::vector<double> zero{0};
        FOR_BOTH_TWINS(softmax) {
            const Matrix plain = softmax(scores, 1);
            const Matrix same = softmax(scores, 1, EmptyRow::nan, std::span<const double>(none));
            CHECK(same(0, 0) == plain(0, 0));
            CHECK(same(0, 1) == plain(0, 1));
            const Matrix all = softmax(scores, 1, EmptyRow::nan, std::span<const double>(zero));
            CHECK(all(1, 0) == 0);
            CHECK(all(1, 1) == 0);
        }
    }

    TEST_CASE("each head has its own sink") {
        // 2 batch entries, 3 heads, 2 queries, 4 keys
        Array<double> scores = empty_array<double>({2, 3, 2, 4});
        for (std::size_t i = 0; i < scores.size(); ++i) {
            scores.data()[i] = std::sin(static_cast<double>(3 * i + 1));
        }
        const std::vector<double> sink{-1, 0.5, 2};
        const std::span<const double> logits = sink;
        FOR_BOTH_TWINS(softmax) {
            const Array<double> weights = softmax(scores, 3, EmptyRow::nan, logits);
            for (std::size_t row = 0; row < 12; ++row) {
                double exponentials = 0, sum = 0;
                for (std::size_t k = 0; k < 4; ++k) {
                    exponentials += std::exp(scores.data()[row * 4 + k]);
                    sum += weights.data()[row * 4 + k];
                }
                const double own = std::exp(sink[row / 2 % 3]);
                CHECK(1 - sum == doctest::Approx(own / (exponentials + own)).epsilon(1e-12));
            }
        }
    }
}
