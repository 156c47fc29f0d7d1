#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "attn/ground/random/generator.hpp"
#include "attn/ground/random/mersenne_twister.hpp"

namespace attn {

/// PyTorch's CPU generator. Each call fills its span as the call of the same name fills a new
/// contiguous tensor.
///
/// Small normal tensors (below sixteen elements) use pairs: the second number is kept for the next
/// small tensor, of either type; other draws do not affect it.
class TorchGenerator final : public Generator {
public:
    /// Range   any seed, of which the low 32 bits are used.
    explicit TorchGenerator(std::uint64_t seed, TorchBuild build = TorchBuild::avx2)
        : engine_(static_cast<std::uint32_t>(seed)), build_(build) {}

    void randn(std::span<float> out, DType type = DType::float32) override {
        fill_normal(out, type);
    }
    void randn(std::span<double> out, DType type = DType::float64) override {
        fill_normal(out, type);
    }

    /// Draws uniform numbers in [low, high). The limits are rounded first, except for float64.
    void uniform(std::span<float> out, double low, double high,
                 DType type = DType::float32) override;
    void uniform(std::span<double> out, double low, double high, DType = DType::float64) override {
        fill_uniform(out, low, high);
    }

private:
    double unit();
    void fill_unit(std::span<float> out, DType type = DType::float32);
    void fill_unit(std::span<double> out, DType type = DType::float64);
    template <class T>
    void fill_uniform(std::span<T> out, double low, double high);
    template <class T>
    void fill_normal(std::span<T> out, DType type);
    double single_normal();

    MersenneTwister engine_;
    TorchBuild build_;
    std::optional<double> spare_normal_;
};

}  // namespace attn
