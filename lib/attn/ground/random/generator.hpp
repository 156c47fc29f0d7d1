#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// Which library's random numbers are drawn.
enum class Rng { torch, numpy, numpy_pcg64 };

/// Which PyTorch build is followed. `avx2`: polynomial functions and FMA (multiply-add, one
/// rounding), as on every x86-64 machine with AVX2. `portable`: library functions, no FMA.
enum class TorchBuild { avx2, portable };

/// A seeded stream of random numbers that reproduces one library bit for bit.
///
/// Every call fills its span as that library would fill a fresh contiguous tensor of so many
/// elements: PyTorch's normals depend on the length of the tensor, so one call is one tensor.
///
/// NumPy draws float64 only: a float32 span gets those numbers rounded, as by
/// `.astype(np.float32)`. Cells of a 16-bit type are drawn into a float32 span.
class Generator {
public:
    virtual ~Generator() = default;

    /// Standard normal.
    virtual void randn(std::span<float> out, DType type = DType::float32) = 0;
    virtual void randn(std::span<double> out, DType type = DType::float64) = 0;

    /// Uniform in [low, high).
    virtual void uniform(std::span<float> out, double low, double high,
                         DType type = DType::float32) = 0;
    virtual void uniform(std::span<double> out, double low, double high,
                         DType type = DType::float64) = 0;

    /// Uniform in [0, 1).
    void rand(std::span<float> out) { uniform(out, 0, 1); }
    void rand(std::span<double> out) { uniform(out, 0, 1); }
};

/// A freshly seeded generator.
///
/// Range   torch: any seed in [-2^63, 2^64 - 1], of which the low 32 bits count (pass the bits as
///         uint64); numpy: [0, 2^32 - 1]; numpy_pcg64: any.
/// Errors  ConfigError when the seed is out of the library's range.
std::unique_ptr<Generator> make_generator(Rng rng, std::uint64_t seed,
                                          TorchBuild build = TorchBuild::avx2);

/// How a new tensor gets its numbers.
enum class Initialisation {
    zeros,          ///< nothing is drawn
    ones,           ///< nothing is drawn: a gain before training
    uniform,        ///< uniform in [0, 1)
    normal,         ///< standard normal
    small_normal,   ///< normal with deviation 0.1
    embedding,      ///< standard normal too: the table of PyTorch's `nn.Embedding`
    linear_weight,  ///< of PyTorch's `nn.Linear`: uniform within 1/sqrt(in), as PyTorch rounds it
    linear_bias,    ///< uniform within 1/sqrt(in)
    xavier,         ///< PyTorch's `xavier_uniform_`: uniform within sqrt(6 / (in + out))
};

/// Fills the cells of a tensor of this type that belongs to a layer of `in` and `out` features.
///
/// Source  Glorot and Bengio 2010, eq. (16), for xavier.
template <class T>
void initialise(std::span<T> cells, Initialisation how, std::size_t in, std::size_t out,
                Generator& generator, DType type = DType::float32);

}  // namespace attn
