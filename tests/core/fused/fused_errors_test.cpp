// The fused kernel's errors against attention in double, compared with PyTorch's float32 path.
#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "attn/ground/random/generator.hpp"
#include "tests/core/fused/fused_reference.hpp"
#include "tests/support/thinned.hpp"

namespace {

/// The root mean square error of softmax(q @ k^T / sqrt(d)) @ v in float32, as PyTorch 1.13
/// computes it: over the seeds 0 to 39, two heads of `length` tokens drawn by torch.randn for q, k
/// and v in that order, with and without a causal mask.
struct TorchError {
    std::size_t length, head_dim;
    double root_mean_square;
};

constexpr std::uint64_t seeds = 40;
const std::vector<TorchError> torch_errors = thinned<TorchError>({
    {7, 1, 41.12e-9},
    {7, 3, 45.79e-9},
    {7, 64, 45.81e-9},
    {7, 128, 48.35e-9},
    {63, 1, 33.04e-9},
    {63, 3, 29.2e-9},
    {63, 64, 59.81e-9},
    {63, 128, 78.86e-9},
    {65, 1, 35.7e-9},
    {65, 3, 30.52e-9},
    {65, 64, 59.35e-9},
    {65, 128, 78.22e-9},
    {129, 1, 33.96e-9},
    {129, 3, 25.8e-9},
    {129, 64, 52.09e-9},
    {129, 128, 67.05e-9},
});

/// Returns the same inputs, drawn by PyTorch's generator.
attn::test::Problem<float> drawn_as_by_torch(const TorchError& size, std::uint64_t seed) {
    const auto generator = attn::make_generator(attn::Rng::torch, seed);
    const auto draw = [&] {
        std::vector<float> values(2 * size.length * size.head_dim);
        generator->randn(std::span<float>(values));
        return values;
    };
    attn::test::Problem<float> problem;
    problem.shape = {1, 2, size.length, size.length, size.head_dim, size.head_dim};
    problem.query = draw();
    problem.key = draw();
    problem.value = draw();
    return problem;
}

using Reference = std::vector<std::vector<double>>;

Reference in_double(const attn::test::Problem<float>& problem, const attn::FusedOptions& options) {
    const attn::AttentionShape& shape = problem.shape;
    Reference rows;
    for (std::size_t row = 0; row < shape.heads * shape.query_len; ++row) {
        rows.push_back(attn::test::reference_row(problem, options, 0, row / shape.query_len,
                                                 row % shape.query_len));
    }
    return rows;
}

/// The sum of the squared errors of the context.
double squared_errors(const attn::test::Problem<float>& problem, const attn::FusedOptions& options,
                      const Reference& expected) {
    const std::size_t dim = problem.shape.value_dim;
    std::vector<float> context(problem.query.size());
    attn::fused_attention(problem.query.data(), problem.key.data(), problem.value.data(),
                          context.data(), problem.shape, options);
    double sum = 0;
    for (std::size_t i = 0; i < context.size(); ++i) {
        sum += std::pow(expected[i / dim][i % dim] - context[i], 2);
    }
    return sum;
}

/// Returns the root mean square error of each instruction set that this processor has.
std::vector<double> errors_at(const TorchError& size) {
    const std::vector<attn::InstructionSet> instruction_sets = attn::available_instruction_sets();
    std::vector<double> errors(instruction_sets.size());
    std::size_t numbers = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const attn::test::Problem<float> problem = drawn_as_by_torch(size, seed);
        attn::FusedOptions options;
        options.scale = 1 / std::sqrt(static_cast<double>(size.head_dim));
        for (const bool causal : {false, true}) {
            options.mask.causal = causal;
            const Reference expected = in_double(problem, options);
            for (std::size_t a = 0; a < instruction_sets.size(); ++a) {
                options.instruction_set = instruction_sets[a];
                errors[a] += squared_errors(problem, options, expected);
            }
            numbers += problem.query.size();
        }
    }
    for (double& error : errors) error = std::sqrt(error / static_cast<double>(numbers));
    return errors;
}

}  // namespace

TEST_SUITE("fused: errors") {
    // Both round in every sum, each in its own order: which has the smaller error varies a little
    // with the size and the instruction set.
    TEST_CASE("over awkward sizes errors are smaller than those of PyTorch's float32 path") {
        const auto instruction_sets = attn::available_instruction_sets();
        std::vector<double> logarithms(instruction_sets.size());
        for (const TorchError& size : torch_errors) {
            const std::vector<double> errors = errors_at(size);
            for (std::size_t a = 0; a < instruction_sets.size(); ++a) {
                const double ratio = errors[a] / size.root_mean_square;
                INFO(attn::instruction_set_name(instruction_sets[a])
                     << " " << size.length << " x " << size.head_dim << ": " << ratio);
                CHECK(ratio < 1.15);
                logarithms[a] += std::log(ratio);
            }
        }
        for (std::size_t a = 0; a < instruction_sets.size(); ++a) {
            INFO(attn::instruction_set_name(instruction_sets[a]));
            if (thinned_by > 1) continue;
            CHECK(std::exp(logarithms[a] / static_cast<double>(torch_errors.size())) < 1);
        }
    }

    TEST_CASE("one token is passed through without any error") {
        for (const std::size_t head_dim : {1, 3, 64, 128}) {
            for (const double error : errors_at({1, head_dim, 0})) CHECK(error == 0);
        }
    }
}
