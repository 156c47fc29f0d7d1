// The fused kernel's errors against attention in double, beside those of PyTorch's float32 path.
#include <doctest/doctest.h>

#include <span>

#include "attn/random/generator.hpp"
#include "tests/fused/fused_reference.hpp"

namespace {

/// The largest error of softmax(q @ k^T / sqrt(d)) @ v in float32, as PyTorch 1.13 computes it:
/// over the seeds 0 to 9, two heads of `length` tokens drawn by torch.randn for q, k and v in turn,
/// with and without a causal mask.
struct TorchError {
    std::size_t length, head_dim;
    double largest;
};

constexpr TorchError torch_errors[] = {
    {1, 1, 0},        {1, 3, 0},        {1, 64, 0},        {1, 128, 0},
    {7, 1, 129e-9},   {7, 3, 243e-9},   {7, 64, 472e-9},   {7, 128, 368e-9},
    {63, 1, 294e-9},  {63, 3, 444e-9},  {63, 64, 784e-9},  {63, 128, 1460e-9},
    {65, 1, 331e-9},  {65, 3, 424e-9},  {65, 64, 679e-9},  {65, 128, 1260e-9},
    {129, 1, 531e-9}, {129, 3, 503e-9}, {129, 64, 734e-9}, {129, 128, 1270e-9},
};

/// The same inputs, drawn as PyTorch draws them.
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

double largest_error(const attn::test::Problem<float>& problem, const attn::FusedOptions& options) {
    const attn::FusedShape& shape = problem.shape;
    std::vector<float> context(problem.query.size());
    attn::fused_attention(problem.query.data(), problem.key.data(), problem.value.data(),
                          context.data(), shape, options);
    double largest = 0;
    for (std::size_t row = 0; row < shape.heads * shape.query_len; ++row) {
        const std::vector<double> expected = attn::test::reference_row(
            problem, options, 0, row / shape.query_len, row % shape.query_len);
        for (std::size_t d = 0; d < shape.value_dim; ++d) {
            const double error = std::abs(expected[d] - context[row * shape.value_dim + d]);
            largest = std::max(largest, error);
        }
    }
    return largest;
}

}  // namespace

TEST_SUITE("fused: errors") {
    // Both round in every sum, each in an order of its own: which of them is nearer differs from
    // size to size, and with the instruction set.
    TEST_CASE("they are less than three times those of PyTorch's float32 path, at awkward sizes") {
        for (const attn::FusedArchitecture architecture : attn::available_architectures()) {
            for (const TorchError& size : torch_errors) {
                double largest = 0;
                for (std::uint64_t seed = 0; seed < 10; ++seed) {
                    const attn::test::Problem<float> problem = drawn_as_by_torch(size, seed);
                    attn::FusedOptions options;
                    options.architecture = architecture;
                    options.scale = 1 / std::sqrt(static_cast<double>(size.head_dim));
                    for (const bool causal : {false, true}) {
                        options.mask.causal = causal;
                        largest = std::max(largest, largest_error(problem, options));
                    }
                }
                INFO(attn::architecture_name(architecture)
                     << " " << size.length << " x " << size.head_dim << ": " << largest
                     << " beside " << size.largest);
                CHECK(largest <= 3 * size.largest);
            }
        }
    }
}
