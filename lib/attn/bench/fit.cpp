#include "attn/bench/fit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace attn {

std::optional<double> fitted_exponent(const std::vector<std::pair<double, double>>& points) {
    const auto count = static_cast<double>(points.size());
    double mean_x = 0;
    double mean_y = 0;
    for (const auto& [x, y] : points) {
        mean_x += std::log(x) / count;
        mean_y += std::log(y) / count;
    }
    double covariance = 0;
    double variance = 0;
    bool differ = false;
    for (const auto& [x, y] : points) {
        const double from_mean = std::log(x) - mean_x;
        covariance += from_mean * (std::log(y) - mean_y);
        variance += from_mean * from_mean;
        differ = differ || x != points.front().first;
    }
    if (!differ) return std::nullopt;
    return covariance / variance;
}

double median(std::vector<double> numbers) {
    assert(!numbers.empty());
    std::sort(numbers.begin(), numbers.end());
    const std::size_t middle = numbers.size() / 2;
    if (numbers.size() % 2 == 1) return numbers[middle];
    return (numbers[middle - 1] + numbers[middle]) / 2;
}

}  // namespace attn
