#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// The library whose random numbers are drawn.
enum class Rng { torch, numpy, numpy_pcg64 };

/// The PyTorch build to reproduce. `avx2`: polynomial functions and FMA (multiply-add with one
/// rounding), as on every x86-64 machine with AVX2. `portable`: library functions, no FMA.
enum class TorchBuild { avx2, portable };

/// A seeded stream of random numbers that reproduces one library bit for bit.
///
/// Each call fills its span as the library would fill a new contiguous tensor of that size:
/// PyTorch's normals depend on the length of the tensor, so one call is one tensor.
///
/// NumPy draws only float64: a float32 span gets the rounded numbers, as by `.astype(np.float32)`.
/// Cells of a 16-bit type are drawn into a float32 span.
class Generator {
public:
    virtual ~Generator() = default;

    /// Draws from the standard normal distribution.
    virtual void randn(std::span<float> out, DType type = DType::float32) = 0;
    virtual void randn(std::span<double> out, DType type = DType::float64) = 0;

    /// Draws uniform numbers in [low, high).
    virtual void uniform(std::span<float> out, double low, double high,
                         DType type = DType::float32) = 0;
    virtual void uniform(std::span<double> out, double low, double high,
                         DType type = DType::float64) = 0;

    /// Draws uniform numbers in [0, 1).
    void rand(std::span<float> out) { uniform(out, 0, 1); }
    void rand(std::span<double> out) { uniform(out, 0, 1); }
};

/// Returns a newly seeded generator.
///
/// Range   torch: any seed in [-2^63, 2^64 - 1], of which the low 32 bits are used (pass the bits
///         as uint64); numpy: [0, 2^32 - 1]; numpy_pcg64: any.
/// Errors  ConfigError if the seed is out of the library's range.
std::unique_ptr<Generator> make_generator(Rng rng, std::uint64_t seed,
                                          TorchBuild build = TorchBuild::avx2);

/// The initialisation of a new tensor.
enum class Initialisation {
    zeros,          ///< draws nothing
    ones,           ///< draws nothing: an untrained gain
    uniform,        ///< uniform in [0, 1)
    normal,         ///< standard normal
    small_normal,   ///< normal with deviation 0.1
    embedding,      ///< also standard normal: the table of PyTorch's `nn.Embedding`
    linear_weight,  ///< PyTorch's `nn.Linear`: uniform within 1/sqrt(in), rounded as in PyTorch
    linear_bias,    ///< uniform within 1/sqrt(in)
    xavier,         ///< PyTorch's `xavier_uniform_`: uniform within sqrt(6 / (in + out))
};

/// Initialises the cells of a tensor of this type, for a layer with `in` and `out` features.
///
/// Source  Glorot and Bengio 2010, eq. (16), for xavier.
template <class T>
void initialise(std::span<T> cells, Initialisation how, std::size_t in, std::size_t out,
                Generator& generator, DType type = DType::float32);

}  // namespace attn
