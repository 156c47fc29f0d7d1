#include "attn/core/steps/position_bias.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "attn/core/steps/arithmetic.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {
std::vector<double> alibi_slopes(std::size_t heads) {
    const std::size_t lower = std::bit_floor(heads);
    std::vector<double> slopes;
    const auto slope = [](std::size_t h, std::size_t of) {
        return std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(of));
    };
    for (std::size_t h = 0; h < lower; ++h) slopes.push_back(slope(h, lower));
    for (std::size_t h = 0; slopes.size() < heads; h += 2) slopes.push_back(slope(h, 2 * lower));
    return slopes;
}

std::int64_t bucket_of(std::int64_t distance, const BucketRule& rule) {
    if (rule.exact() < 1 || rule.max_distance <= rule.exact()) {
        throw ConfigError(std::to_string(rule.buckets) + " buckets for distances up to " +
                          std::to_string(rule.max_distance) + ": give more of either");
    }
    const std::int64_t half = rule.bidirectional ? rule.buckets / 2 : rule.buckets;
    const std::int64_t offset = rule.bidirectional && distance > 0 ? half : 0;
    const std::int64_t n =
        rule.bidirectional ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
    const std::int64_t exact = rule.exact();
    if (n < exact) return offset + n;
    const auto whole = static_cast<float>(exact);
    const auto range = static_cast<float>(
        std::log(static_cast<double>(rule.max_distance) / static_cast<double>(exact)));
    const float beyond =
        std::log(static_cast<float>(n) / whole) / range * static_cast<float>(half - exact);
    return offset + std::min(exact + static_cast<std::int64_t>(beyond), half - 1);
}

template <class T>
Array<T> bias_by_distance(const DistanceBias<T>& bias, std::ptrdiff_t first, std::size_t query_len,
                          std::size_t key_len) {
    constexpr std::size_t room = 64;
    const std::size_t count = query_len + std::max<std::size_t>(key_len, 1) - 1;
    const auto last_key = static_cast<std::int64_t>(key_len) - 1;
    Array<T> result = Array<T>::filled({bias.heads(), count + room}, 0);
    for (std::size_t h = 0; h < bias.heads(); ++h) {
        for (std::size_t i = 0; i < count; ++i) {
            result(h, i) = bias.at(h, last_key - static_cast<std::int64_t>(i) - first);
        }
    }
    return result;
}

template <class T>
BiasView<T> view_by_distance(const Array<T>& by_distance, std::size_t key_len) {
    require_fit(
        by_distance.dimension() == 2 && key_len > 0 && by_distance.shape(1) >= key_len,
        "a bias by distance " + shape_text(by_distance.shape()) + " has fewer columns than keys");
    BiasView<T> view;
    view.numbers = by_distance.data() + key_len - 1;
    view.heads = by_distance.shape(0);
    view.head_stride = static_cast<std::ptrdiff_t>(by_distance.shape(1));
    view.query_stride = 1;
    view.key_stride = -1;
    return view;
}

template <class T>
BiasView<T> bias_view(const Array<T>& bias, const Shape& scores) {
    const std::vector<std::size_t> strides =
        broadcast_strides("the bias", bias.shape(), "the scores", scores);
    BiasView<T> view;
    view.numbers = bias.data();
    view.heads = scores.size() > 2 ? scores[scores.size() - 3] : 1;
    std::ptrdiff_t* const axes[]{&view.key_stride, &view.query_stride, &view.head_stride,
                                 &view.batch_stride};
    for (std::size_t i = 0; i < std::min(strides.size(), std::size(axes)); ++i) {
        *axes[i] = static_cast<std::ptrdiff_t>(strides[strides.size() - 1 - i]);
    }
    return view;
}

template <class T>
Array<T> position_bias(const DistanceBias<T>& bias, std::ptrdiff_t first, std::size_t query_len,
                       std::size_t key_len) {
    Array<T> result = empty_array<T>({bias.heads(), query_len, key_len});
    for (std::size_t h = 0; h < bias.heads(); ++h) {
        for (std::size_t q = 0; q < query_len; ++q) {
            for (std::size_t k = 0; k < key_len; ++k) {
                const std::int64_t position = first + static_cast<std::int64_t>(q);
                result(h, q, k) = bias.at(h, static_cast<std::int64_t>(k) - position);
            }
        }
    }
    return result;
}

template <class T>
Array<T> add_position_bias(Array<T> scores, const BiasView<T>& bias) {
    return with_each_cell(std::move(scores), [&](std::size_t g, std::size_t q, std::size_t k,
                                                 T& score) { score += bias.at(g, q, k); });
}

template Array<float> bias_by_distance(const DistanceBias<float>&, std::ptrdiff_t, std::size_t,
                                       std::size_t);
template BiasView<float> view_by_distance(const Array<float>&, std::size_t);
template BiasView<float> bias_view(const Array<float>&, const Shape&);
template Array<float> position_bias(const DistanceBias<float>&, std::ptrdiff_t, std::size_t,
                                    std::size_t);
template Array<double> bias_by_distance(const DistanceBias<double>&, std::ptrdiff_t, std::size_t,
                                        std::size_t);
template BiasView<double> view_by_distance(const Array<double>&, std::size_t);
template BiasView<double> bias_view(const Array<double>&, const Shape&);
template Array<double> position_bias(const DistanceBias<double>&, std::ptrdiff_t, std::size_t,
                                     std::size_t);
template Array<float> add_position_bias(Array<float>, const BiasView<float>&);
template Array<double> add_position_bias(Array<double>, const BiasView<double>&);

}  // namespace attn
