#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attn/tensor/array.hpp"

namespace attn {

/// How a model trained on short inputs rotates its features on longer ones.
struct RopeScaling {
    enum class Kind { linear, dynamic, llama3, yarn, longrope };
    Kind kind = Kind::linear;
    double factor = 1;  ///< how many times longer the inputs may be
    double length = 0;  ///< that the model was trained on: not for linear
    /// llama3: pairs that rotate less often than `low` times in that length are stretched, those
    /// that rotate `high` times or more are kept.
    double low = 1, high = 4;
    /// yarn: the same limits, as pairs; `truncate` takes whole ones.
    double beta_slow = 1, beta_fast = 32;
    bool truncate = true;
    std::optional<double> attention_factor{}, mscale{}, mscale_all_dim{};
    /// longrope: what the frequency of each pair is divided by, for inputs up to `length` and for
    /// longer ones.
    std::vector<double> short_factors{}, long_factors{};

    bool operator==(const RopeScaling&) const = default;
    /// Whether the frequencies of inputs longer than `length` are others.
    bool follows_length() const { return kind == Kind::dynamic || kind == Kind::longrope; }
    /// Whether an input of so many tokens is longer than those of training.
    bool exceeds(std::int64_t tokens) const { return static_cast<double>(tokens) > length; }
    /// longrope: the list that an input of so many tokens takes.
    const std::vector<double>& pair_factors(std::int64_t tokens) const {
        return exceeds(tokens) ? long_factors : short_factors;
    }
    /// The factor of cosines and sines: above 1 with yarn and longrope alone.
    double cosine_factor() const;
    /// yarn: what the scores of latent attention are multiplied by, the square of its magnitude.
    double score_factor() const;
    /// The base that replaces theta: another one with dynamic alone, for inputs longer than
    /// `length`.
    double scaled_theta(double theta, std::size_t rotary_dim, std::int64_t tokens) const;
    /// yarn: the pair up to which nothing is stretched, and the one from which all of it is.
    std::pair<double, double> ramp(double theta, std::size_t rotary_dim) const;
};

/// Lowers the inverse frequencies of slow pairs, so that a long input rotates them no further
/// than the inputs that the model was trained on.
///
///     scaled(i) = f(i) / factor * share(i) + f(i) * (1 - share(i)),   f the inverse frequencies
///     linear    share = 1
///     llama3    share(i) = 1 - clip((length / wavelength(i) - low) / (high - low), 0, 1)
///     yarn      share(i) = clip((i - first) / (last - first), 0, 1), first and last from ramp()
///     longrope  scaled(i) = f(i) / pair_factors(tokens)(i)
///
/// Shapes  inverse_frequencies (pairs); result the same. dynamic changes theta instead.
/// Source  Chen et al. 2023 (linear), Peng et al. 2023 (yarn), Ding et al. 2024 (longrope), Llama
///         3.1's models.
namespace loop {
template <class T>
Array<T> scale_frequencies(const Array<T>& inverse_frequencies, const RopeScaling& scaling,
                           double theta, std::int64_t tokens);
}
namespace vectorized {
template <class T>
Array<T> scale_frequencies(const Array<T>& inverse_frequencies, const RopeScaling& scaling,
                           double theta, std::int64_t tokens);
}

}  // namespace attn
