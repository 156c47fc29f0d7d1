#include "attn/core/steps/rope_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

/// Returns yarn's factor: `0.1 weight ln(factor) + 1`.
double magnitude(double factor, double weight) {
    return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
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

}  // namespace attn
