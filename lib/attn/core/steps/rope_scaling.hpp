#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace attn {

/// The frequency scaling of a model that was trained on short inputs, for longer ones.
struct RopeScaling {
    enum class Kind { linear, dynamic, llama3, yarn, longrope };
    Kind kind = Kind::linear;
    double factor = 1;  ///< ratio of the longest input to the training length
    double length = 0;  ///< of training inputs; unused for linear
    /// llama3: pairs with less than `low` rotations in that length are scaled, those with at least
    /// `high` are kept.
    double low = 1, high = 4;
    /// yarn: the same limits, as pairs; `truncate` rounds them to integers.
    double beta_slow = 1, beta_fast = 32;
    bool truncate = true;
    std::optional<double> attention_factor{}, mscale{}, mscale_all_dim{};
    /// longrope: the divisors of the pairs' frequencies, for inputs up to `length` and for longer
    /// ones.
    std::vector<double> short_factors{}, long_factors{};

    bool operator==(const RopeScaling&) const = default;
    /// True if inputs longer than `length` have other frequencies.
    bool follows_length() const { return kind == Kind::dynamic || kind == Kind::longrope; }
    /// True if an input with that many tokens is longer than the training length.
    bool exceeds(std::int64_t tokens) const { return static_cast<double>(tokens) > length; }
    /// longrope: returns the list for an input with that many tokens.
    const std::vector<double>& pair_factors(std::int64_t tokens) const {
        return exceeds(tokens) ? long_factors : short_factors;
    }
    /// Returns the factor of cosines and sines: above 1 only for yarn and longrope.
    double cosine_factor() const;
    /// yarn: returns the factor of latent attention's scores, the square of its magnitude.
    double score_factor() const;
    /// Returns the base that replaces theta: a different one only for dynamic, with inputs longer
    /// than `length`.
    double scaled_theta(double theta, std::size_t rotary_dim, std::int64_t tokens) const;
    /// yarn: returns the last pair that is not scaled, and the first that is fully scaled.
    std::pair<double, double> ramp(double theta, std::size_t rotary_dim) const;
};

}  // namespace attn
