#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "attn/ground/random/generator.hpp"
#include "attn/ground/random/mersenne_twister.hpp"

namespace attn {

/// The base of NumPy's generators: draws float64 numbers one after another; a float32 span gets
/// them rounded, as by `.astype(np.float32)`, and then rounded to a 16-bit type if requested.
class NumpyDraws : public Generator {
public:
    void randn(std::span<float> out, DType type = DType::float32) override;
    void randn(std::span<double> out, DType type = DType::float64) override;
    void uniform(std::span<float> out, double low, double high,
                 DType type = DType::float32) override;
    void uniform(std::span<double> out, double low, double high,
                 DType type = DType::float64) override;

private:
    /// Draws a uniform number in [0, 1).
    virtual double unit() = 0;
    virtual double standard_normal() = 0;
};

/// NumPy's legacy generator, that of `np.random.seed` and `np.random.RandomState`. Each call fills
/// its span as the call of the same name fills a new array. Normals come in pairs: the second one
/// is kept for the next call of randn, and other draws do not affect it.
class NumpyGenerator final : public NumpyDraws {
public:
    explicit NumpyGenerator(std::uint32_t seed) : engine_(seed) {}

private:
    std::uint32_t word() { return engine_(); }
    double unit() override;
    double standard_normal() override;

    MersenneTwister engine_;
    std::optional<double> spare_normal_;
};

/// NumPy's `np.random.default_rng(seed)`. Each call fills its span as the corresponding method
/// fills a new array: rand `random`, randn `standard_normal`.
///
/// A float32 span gets the rounded float64 draws, as by `.astype(np.float32)`, not NumPy's separate
/// float32 stream.
/// Source  O'Neill 2014, the permuted congruential engine PCG XSL RR 128/64; seeded as NumPy's
///         SeedSequence does.
class NumpyPcg64Generator final : public NumpyDraws {
public:
    /// Takes a seed of any size.  Range  its 32-bit words, lowest first, at least one.
    explicit NumpyPcg64Generator(std::span<const std::uint32_t> seed);

private:
    __extension__ using Word128 = unsigned __int128;

    std::uint64_t next64();
    double unit() override { return static_cast<double>(next64() >> 11) * 0x1p-53; }
    double standard_normal() override;
    double normal_tail(bool negative);

    Word128 state_ = 0;
    Word128 increment_ = 0;
};

}  // namespace attn
