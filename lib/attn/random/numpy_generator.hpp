#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "attn/random/generator.hpp"
#include "attn/random/mersenne_twister.hpp"

namespace attn {

/// The base of NumPy's generators: numbers are drawn in float64, one after another; a float32 span
/// holds them rounded, as `.astype(np.float32)` gives them.
class NumpyDraws : public Generator {
public:
    void rand(std::span<float> out) override;
    void rand(std::span<double> out) override;
    void randn(std::span<float> out) override;
    void randn(std::span<double> out) override;
    void uniform(std::span<float> out, double low, double high) override;
    void uniform(std::span<double> out, double low, double high) override;

private:
    /// Uniform in [0, 1).
    virtual double unit() = 0;
    virtual double standard_normal() = 0;
};

/// NumPy's legacy generator, that of `np.random.seed` and `np.random.RandomState`. Every
/// call fills its span as the call of the same name fills a fresh array.
/// Normals come in pairs, whose second half is kept for the next normal; other draws leave it
/// alone.
class NumpyGenerator final : public NumpyDraws {
public:
    explicit NumpyGenerator(std::uint32_t seed) : engine_(seed) {}

private:
    std::uint32_t word() { return engine_(); }
    double unit() override;
    double standard_normal() override;

    MersenneTwister engine_;
    std::optional<double> kept_normal_;
};

}  // namespace attn
