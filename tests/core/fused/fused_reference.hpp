#pragma once
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "attn/core/fused/fused_attention.hpp"

// Attention as one would write it on paper, in float64, as the reference for the fused kernel.
namespace attn::test {

template <class Real>
struct Problem {
    AttentionShape shape;
    std::vector<Real> query, key, value;
};

template <class Real>
std::vector<Real> normal(std::size_t count, std::mt19937& generator) {
    std::normal_distribution<double> distribution;
    std::vector<Real> values(count);
    for (Real& value : values) value = static_cast<Real>(distribution(generator));
    return values;
}

template <class Real>
Problem<Real> random_problem(const AttentionShape& shape, unsigned seed) {
    std::mt19937 generator(seed);
    const std::size_t groups = shape.batch * shape.heads;
    return {shape, normal<Real>(groups * shape.query_len * shape.head_dim, generator),
            normal<Real>(groups * shape.key_len * shape.head_dim, generator),
            normal<Real>(groups * shape.key_len * shape.value_dim, generator)};
}

/// One row of context: its exponentials over the keys it sees, divided by their sum.
template <class Real>
std::vector<double> reference_row(const Problem<Real>& problem, const FusedOptions& options,
                                  std::size_t b, std::size_t h, std::size_t q) {
    const AttentionShape& shape = problem.shape;
    const std::size_t group = b * shape.heads + h;
    std::vector<double> scores(shape.key_len, -std::numeric_limits<double>::infinity());
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < shape.key_len; ++k) {
        if (options.mask.hides(b, h, q, k)) continue;
        double score = 0;
        for (std::size_t d = 0; d < shape.head_dim; ++d) {
            score += double(problem.query[(group * shape.query_len + q) * shape.head_dim + d]) *
                     double(problem.key[(group * shape.key_len + k) * shape.head_dim + d]);
        }
        scores[k] = score * options.scale;
        maximum = std::fmax(maximum, scores[k]);
    }
    double sum = 0;
    std::vector<double> context(shape.value_dim, 0.0);
    for (std::size_t k = 0; k < shape.key_len; ++k) {
        if (options.mask.hides(b, h, q, k)) continue;
        const double exponential = std::exp(scores[k] - maximum);
        sum += exponential;
        for (std::size_t j = 0; j < shape.value_dim; ++j) {
            context[j] += exponential *
                          double(problem.value[(group * shape.key_len + k) * shape.value_dim + j]);
        }
    }
    const double empty =
        options.empty_row == EmptyRow::zero ? 0 : std::numeric_limits<double>::quiet_NaN();
    for (double& number : context) number = sum == 0 ? empty : number / sum;
    return context;
}

template <class Real>
std::vector<double> reference(const Problem<Real>& problem, const FusedOptions& options) {
    std::vector<double> context;
    for (std::size_t b = 0; b < problem.shape.batch; ++b) {
        for (std::size_t h = 0; h < problem.shape.heads; ++h) {
            for (std::size_t q = 0; q < problem.shape.query_len; ++q) {
                const std::vector<double> row = reference_row(problem, options, b, h, q);
                context.insert(context.end(), row.begin(), row.end());
            }
        }
    }
    return context;
}

template <class Real>
std::vector<Real> fused(const Problem<Real>& problem, const FusedOptions& options) {
    const AttentionShape& shape = problem.shape;
    // The context starts as nan, so any cell left unwritten shows.
    std::vector<Real> context(shape.batch * shape.heads * shape.query_len * shape.value_dim,
                              Real(-99));
    fused_attention(problem.query.data(), problem.key.data(), problem.value.data(), context.data(),
                    shape, options);
    return context;
}

struct Difference {
    double largest = 0;
    std::size_t index = 0;
    double got = 0, expected = 0;
};

/// The largest distance between two results; infinite if only one of them has a nan in some place.
template <class Real>
Difference difference(const std::vector<Real>& got, const std::vector<double>& expected) {
    Difference worst;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        double distance = std::fabs(double(got[i]) - expected[i]);
        if (std::isnan(distance)) {
            const bool both = std::isnan(got[i]) && std::isnan(expected[i]);
            distance = both ? 0 : std::numeric_limits<double>::infinity();
        }
        if (distance > worst.largest) worst = {distance, i, double(got[i]), expected[i]};
    }
    return worst;
}

/// Compares fused with the reference, on every instruction set that this processor has.
#define CHECK_FUSED(problem, options, tolerance)                                                 \
    do {                                                                                         \
        const std::vector<double> expected_ = attn::test::reference(problem, options);           \
        for (const attn::InstructionSet instruction_set_ : attn::available_instruction_sets()) { \
            attn::FusedOptions options_ = options;                                               \
            options_.instruction_set = instruction_set_;                                         \
            const auto difference_ =                                                             \
                attn::test::difference(attn::test::fused(problem, options_), expected_);         \
            INFO(std::string(attn::instruction_set_name(instruction_set_)), " element ",         \
                 difference_.index, ": got ", difference_.got, ", expected ",                    \
                 difference_.expected);                                                          \
            CHECK(difference_.largest <= (tolerance));                                           \
        }                                                                                        \
    } while (false)

}  // namespace attn::test
