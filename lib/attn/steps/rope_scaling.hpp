#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "attn/tensor/array.hpp"

namespace attn {

/// How a model trained on short inputs turns its features on longer ones.
struct RopeScaling {
    enum class Kind { linear, dynamic, llama3, yarn };
    Kind kind = Kind::linear;
    double factor = 1;  ///< how many times longer the inputs may be
    double length = 0;  ///< that the model was trained on: not for linear
    /// llama3: pairs that turn less often than `low` times in that length are stretched, those that
    /// turn `high` times or more are kept.
    double low = 1, high = 4;
    /// yarn: the same limits, as pairs; `truncate` takes whole ones.
    double beta_slow = 1, beta_fast = 32;
    bool truncate = true;
    std::optional<double> attention_factor{}, mscale{}, mscale_all_dim{};

    /// What cosines and sines are multiplied by: above 1 with yarn alone.
    double cosine_factor() const;
    /// The base that replaces theta: another one with dynamic alone, for inputs longer than
    /// `length`.
    double scaled_theta(double theta, std::size_t rotary_dim, std::int64_t tokens) const;
    /// yarn: the pair up to which nothing is stretched, and the one from which all of it is.
    std::pair<double, double> ramp(double theta, std::size_t rotary_dim) const;
};

/// Stretches the inverse frequencies of slow pairs, so that a long input turns them no further than
/// the inputs that the model was trained on.
///
///     scaled(i) = f(i) / factor * share(i) + f(i) * (1 - share(i)),   f the inverse frequencies
///     linear    share = 1
///     llama3    share(i) = 1 - clip((length / wavelength(i) - low) / (high - low), 0, 1)
///     yarn      share(i) = clip((i - first) / (last - first), 0, 1), first and last from ramp()
///
/// Shapes  inverse_frequencies (pairs); result the same. dynamic changes theta instead.
/// Source  Chen et al. 2023 (linear), Peng et al. 2023 (yarn), Llama 3.1's models.
namespace loop {
template <class T>
Array<T> scale_frequencies(const Array<T>& inverse_frequencies, const RopeScaling& scaling,
                           double theta);
}
namespace vectorized {
template <class T>
Array<T> scale_frequencies(const Array<T>& inverse_frequencies, const RopeScaling& scaling,
                           double theta);
}

}  // namespace attn
