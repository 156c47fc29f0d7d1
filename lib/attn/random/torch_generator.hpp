#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "attn/random/generator.hpp"
#include "attn/random/mersenne_twister.hpp"

namespace attn {

/// PyTorch's CPU generator. Every call fills its span as the call of the same name fills a fresh
/// contiguous tensor.
///
/// Small normals (below sixteen elements) come in pairs, whose second half is kept for the next
/// small tensor, of either type; every other draw leaves it alone.
class TorchGenerator final : public Generator {
public:
    /// Range   any seed, of which the low 32 bits count.
    explicit TorchGenerator(std::uint64_t seed, TorchBuild build = TorchBuild::avx2)
        : engine_(static_cast<std::uint32_t>(seed)), build_(build) {}

    void rand(std::span<float> out) override;
    void rand(std::span<double> out) override;
    void randn(std::span<float> out) override { normal(out, 0.0, 1.0); }
    void randn(std::span<double> out) override { normal(out, 0.0, 1.0); }

    /// Uniform in [low, high). In float32 the limits are rounded first.
    void uniform(std::span<float> out, double low, double high) override;
    void uniform(std::span<double> out, double low, double high) override;

    /// Normal with this mean and standard deviation.
    void normal(std::span<float> out, double mean, double deviation);
    void normal(std::span<double> out, double mean, double deviation);

private:
    std::uint32_t random() { return engine_(); }
    std::uint64_t random64();
    double unit();
    template <class T>
    void fill_uniform(std::span<T> out, double low, double high);
    template <class T>
    void fill_normal(std::span<T> out, double mean, double deviation);
    double single_normal();

    MersenneTwister engine_;
    TorchBuild build_;
    std::optional<double> kept_normal_;
};

}  // namespace attn
