#include "attn/steps/rope_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <xtensor/xmath.hpp>

#include "attn/steps/twins.hpp"
#include "attn/tensor/matrix_view.hpp"
#include "attn/tensor/xtensor.hpp"

namespace attn {
namespace {

/// `0.1 weight ln(factor) + 1`: what yarn multiplies by.
double magnitude(double factor, double weight) {
    return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

/// longrope's list of factors, one for each pair.
const std::vector<double>& factors_of(const RopeScaling& scaling, std::int64_t tokens,
                                      std::size_t pairs) {
    const std::vector<double>& factors = scaling.pair_factors(tokens);
    require_fit(factors.size() == pairs, std::to_string(factors.size()) + " factors do not fit " +
                                             std::to_string(pairs) + " pairs: give one for each");
    return factors;
}

}  // namespace

double RopeScaling::cosine_factor() const {
    if (attention_factor) return *attention_factor;
    if (kind == Kind::longrope) {
        return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(length));
    }
    if (kind != Kind::yarn) return 1;
    if (mscale && mscale_all_dim) {
        return magnitude(factor, *mscale) / magnitude(factor, *mscale_all_dim);
    }
    return magnitude(factor, 1);
}

double RopeScaling::score_factor() const {
    if (kind != Kind::yarn || !mscale_all_dim) return 1;
    return magnitude(factor, *mscale_all_dim) * magnitude(factor, *mscale_all_dim);
}

double RopeScaling::scaled_theta(double theta, std::size_t rotary_dim, std::int64_t tokens) const {
    if (kind != Kind::dynamic) return theta;
    const double longest = std::max(static_cast<double>(tokens), length);
    const auto width = static_cast<double>(rotary_dim);
    return theta * std::pow(factor * longest / length - (factor - 1), width / (width - 2));
}

std::pair<double, double> RopeScaling::ramp(double theta, std::size_t rotary_dim) const {
    const auto width = static_cast<double>(rotary_dim);
    const auto pair_that_rotates = [&](double times) {
        return width * std::log(length / (times * 2 * std::numbers::pi)) / (2 * std::log(theta));
    };
    double first = pair_that_rotates(beta_fast);
    double last = pair_that_rotates(beta_slow);
    if (truncate) {
        first = std::floor(first);
        last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, width - 1);
    return {first, first == last ? last + 0.001 : last};
}

template <class T>
Array<T> loop::scale_frequencies(const Array<T>& inverse_frequencies, const RopeScaling& scaling,
                                 double theta, std::int64_t tokens) {
    using Kind = RopeScaling::Kind;
    const auto number = [](double value) { return static_cast<T>(value); };
    const auto [first, last] = scaling.ramp(theta, 2 * inverse_frequencies.size());
    Array<T> result = inverse_frequencies;
    if (scaling.kind == Kind::dynamic) return result;
    if (scaling.kind == Kind::longrope) {
        const std::vector<double>& factors = factors_of(scaling, tokens, result.size());
        for (std::size_t i = 0; i < result.size(); ++i) result(i) /= number(factors[i]);
        return result;
    }

    // Divide each pair's frequency by the factor, as far as it is stretched.
    for (std::size_t i = 0; i < result.size(); ++i) {
        const T frequency = inverse_frequencies(i);
        T share = 1;
        if (scaling.kind == Kind::llama3) {
            const T wavelength = number(2 * std::numbers::pi) / frequency;
            const T rotations = number(scaling.length) / wavelength;
            const T kept = (rotations - number(scaling.low)) / number(scaling.high - scaling.low);
            share = T{1} - std::clamp(kept, T{0}, T{1});
        } else if (scaling.kind == Kind::yarn) {
            const T along = (static_cast<T>(i) - number(first)) / number(last - first);
            share = std::clamp(along, T{0}, T{1});
        }
        result(i) = frequency / number(scaling.factor) * share + frequency * (T{1} - share);
    }
    return result;
}

template <class T>
Array<T> vectorized::scale_frequencies(const Array<T>& inverse_frequencies,
                                       const RopeScaling& scaling, double theta,
                                       std::int64_t tokens) {
    const auto number = [](double value) { return static_cast<T>(value); };
    const auto frequencies = as_xtensor(inverse_frequencies);
    Array<T> shares = Array<T>::filled(inverse_frequencies.shape(), T{1});
    switch (scaling.kind) {
        case RopeScaling::Kind::linear:
            break;
        case RopeScaling::Kind::dynamic:
            return inverse_frequencies;
        case RopeScaling::Kind::longrope: {
            const auto& factors = factors_of(scaling, tokens, shares.size());
            std::ranges::transform(factors, shares.begin(), number);
            return evaluated<T>(frequencies / as_xtensor(shares));
        }
        case RopeScaling::Kind::llama3: {
            const auto rotations =
                number(scaling.length) / (number(2 * std::numbers::pi) / frequencies);
            const auto kept =
                (rotations - number(scaling.low)) / number(scaling.high - scaling.low);
            shares = evaluated<T>(T{1} - xt::clip(kept, T{0}, T{1}));
            break;
        }
        case RopeScaling::Kind::yarn: {
            const auto [first, last] = scaling.ramp(theta, 2 * inverse_frequencies.size());
            const auto pairs = xt::arange<T>(0, static_cast<T>(inverse_frequencies.size()));
            const auto along = (pairs - number(first)) / number(last - first);
            shares = evaluated<T>(xt::clip(along, T{0}, T{1}));
            break;
        }
    }
    const auto share = as_xtensor(shares);
    return evaluated<T>(frequencies / number(scaling.factor) * share +
                        frequencies * (T{1} - share));
}

#define ATTN_INSTANTIATE(twin, T)                                                          \
    template Array<T> twin::scale_frequencies(const Array<T>&, const RopeScaling&, double, \
                                              std::int64_t);
ATTN_FOR_EACH_TWIN(ATTN_INSTANTIATE)
#undef ATTN_INSTANTIATE

}  // namespace attn
