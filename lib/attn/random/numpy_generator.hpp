#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "attn/random/generator.hpp"
#include "attn/random/mersenne_twister.hpp"

namespace attn {

/// NumPy's legacy generator, the one behind `np.random.seed` and `np.random.RandomState`. Every
/// call fills its span as the call of the same name fills a fresh array.
///
/// NumPy draws in float64; a float32 span holds the same numbers rounded, as `.astype(np.float32)`
/// gives them. Normals come in pairs, whose second half is kept for the next normal; other draws
/// leave it alone and only seeding drops it.
class NumpyGenerator final : public Generator {
public:
    explicit NumpyGenerator(std::uint32_t seed) : engine_(seed) {}
    /// The stream of a list of integers. Range  at least one.
    explicit NumpyGenerator(std::span<const std::uint32_t> words) { seed(words); }

    /// Starts anew.
    void seed(std::uint32_t seed);
    void seed(std::span<const std::uint32_t> words);

    void rand(std::span<float> out) override;
    void rand(std::span<double> out) override;
    void randn(std::span<float> out) override;
    void randn(std::span<double> out) override;
    void uniform(std::span<float> out, double low, double high) override;
    void uniform(std::span<double> out, double low, double high) override;

    /// Normal with this mean and standard deviation.
    void normal(std::span<double> out, double mean, double deviation);

    /// Integers in [low, high).  Errors  ConfigError when there are none.
    void randint(std::span<std::int64_t> out, std::int64_t low, std::int64_t high);

    /// A permutation of 0, 1, 2, ...
    void permutation(std::span<std::int64_t> out);

private:
    std::uint32_t word() { return engine_(); }
    double unit();
    double standard_normal();
    std::uint64_t bounded(std::uint64_t largest);

    MersenneTwister engine_;
    std::optional<double> kept_normal_;
};

}  // namespace attn
