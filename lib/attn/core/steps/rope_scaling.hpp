#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

}  // namespace attn
