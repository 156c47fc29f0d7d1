#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/judge/diagnose/user_tensors.hpp"
#include "attn/judge/trace/scores.hpp"

// The tensors that were scaled or rotated to give a query or a key.

namespace attn {
namespace {

constexpr std::size_t most_between = 60;  // tensors between two forms of query or key

/// Returns the axes of a tensor with these lengths, chosen in this order with its last axis last;
/// axes of length 1 may be missing.
std::optional<std::vector<int>> axes_in(const Shape& from, const std::vector<int>& order,
                                        const Shape& lengths) {
    std::vector<int> axes;
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
        const auto is_one = [&] { return from[static_cast<std::size_t>(order[next])] == 1; };
        while (next < order.size() && lengths[i] != 1 && is_one()) ++next;
        const bool fits =
            next < order.size() && from[static_cast<std::size_t>(order[next])] == lengths[i];
        if (!fits && lengths[i] != 1) return std::nullopt;
        axes.push_back(fits ? order[next++] : -1);
    }
    for (; next < order.size(); ++next) {
        if (from[static_cast<std::size_t>(order[next])] != 1) return std::nullopt;
    }
    axes.push_back(static_cast<int>(from.size()) - 1);
    return axes;
}

}  // namespace

std::optional<Before> scaled_before(const Trace& trace, std::size_t place) {
    const auto largest = [](const Traced& tensor) {
        double most = 0;
        for (const double number : tensor.all) most = std::max(most, std::abs(number));
        return most;
    };
    const Traced& to = trace[place];
    std::vector<double> after;
    for (std::size_t i = place; i-- > 0 && place - i < most_between;) {
        const Traced& from = trace[i];
        if (from.all.size() != to.all.size() || !(largest(from) > 0)) continue;
        const double factor = largest(to) / largest(from);
        if (!(factor > 1e-3 && factor < 0.999)) continue;  // a scale makes scores smaller
        std::vector<double> before = from.all;
        std::ranges::sort(before);
        if (after.empty()) {
            after = to.all;
            std::ranges::sort(after);
        }
        const double slack = slack_of(from, to);
        const bool is_scaled = std::ranges::equal(before, after, [&](double a, double b) {
            return std::abs(a * factor - b) <= slack * std::abs(b);
        });
        if (is_scaled) return Before{i, factor};
    }
    return std::nullopt;
}

std::optional<Before> rotated_before(const Trace& trace, const Operand& operand) {
    const Arranged& to = operand.numbers;
    const std::size_t features = to.shape.back();
    if (features < 2 || features % 2 != 0) return std::nullopt;
    const double slack = (is_16_bit(to.dtype) ? 6 : 64) * unit_of(to.dtype);
    // The length of each rotated pair of features, and the other features unchanged.
    const auto norms_of = [&](const std::vector<double>& all, Pairing pairing,
                              std::size_t rotated) {
        std::vector<double> norms;
        for (std::size_t row = 0; row < all.size(); row += features) {
            for (std::size_t pair = 0; pair < rotated / 2; ++pair) {
                const bool is_half = pairing == Pairing::half;
                const std::size_t first = row + (is_half ? pair : 2 * pair);
                const std::size_t second = is_half ? first + rotated / 2 : first + 1;
                norms.push_back(std::hypot(all[first], all[second]));
            }
            for (std::size_t f = rotated; f < features; ++f) norms.push_back(all[row + f]);
        }
        return norms;
    };
    const auto length_of = [](const std::vector<double>& all) {
        return std::sqrt(std::inner_product(all.begin(), all.end(), all.begin(), 0.0));
    };
    const double length = length_of(to.all);
    std::optional<Before> earliest;
    for (std::size_t i = operand.place; i-- > 0 && operand.place - i < most_between;) {
        const Traced& from = trace[i];
        const bool may_be = from.all.size() == to.all.size() && from.rank() >= 2 &&
                            from.shape.back() == features &&
                            std::abs(length_of(from.all) - length) <= 1e-3 * length;
        if (!may_be) continue;
        // The axes of the earlier form may come in another order.
        std::vector<int> order(from.rank() - 1);
        std::iota(order.begin(), order.end(), 0);
        do {
            const std::optional<std::vector<int>> axes = axes_in(from.shape, order, to.shape);
            if (!axes) continue;
            const Arranged numbers = arranged(from, *axes, to.shape);
            const bool is_same = std::ranges::equal(numbers.all, to.all, [&](double a, double b) {
                return std::abs(a - b) <= 2 * unit_of(to.dtype) * std::abs(a);
            });
            if (is_same) break;  // at most converted to another type
            for (std::size_t rotated = features / 4 * 2; rotated <= features;
                 rotated += features - rotated > 0 ? features - rotated : features) {
                for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
                    const std::vector<double> before = norms_of(numbers.all, pairing, rotated);
                    const std::vector<double> after = norms_of(to.all, pairing, rotated);
                    const bool keeps =
                        rotated > 0 && std::ranges::equal(before, after, [&](double a, double b) {
                            return std::abs(a - b) <= slack * (std::abs(a) + length * 1e-3);
                        });
                    if (keeps) earliest = Before{i, 1, pairing, rotated, *axes};
                }
            }
        } while (std::ranges::next_permutation(order).found);
    }
    return earliest;
}

}  // namespace attn
