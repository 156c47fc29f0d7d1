#include "attn/judge/trace/product.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

constexpr std::size_t most_summed = 2;

/// Rounding errors, in units, of a sum of products: 16 bits are added up in more.
double most_units(double unit) { return unit > 1e-4 ? 4 : 32; }

/// Tries assignments of axes until one reproduces the numbers.
class Search {
public:
    Search(const Traced& result, const Traced& a, const Traced& b, const Traced* bias,
           bool may_have_factor)
        : result_(result),
          a_(a),
          b_(b),
          bias_(bias),
          may_have_factor_(may_have_factor),
          strides_a_(row_strides(a.shape)),
          strides_b_(row_strides(b.shape)),
          unit_(std::max({unit_of(result.dtype), unit_of(a.dtype), unit_of(b.dtype)})) {}

    std::optional<Contraction> run() { return assign(0) ? std::optional(found_) : std::nullopt; }
    bool axes_fit() {
        looks_at_axes_only_ = true;
        return assign(0);
    }

private:
    bool is_free(const std::vector<int>& used_axes, int axis) const {
        return std::ranges::find(used_axes, axis) == used_axes.end();
    }

    /// Assigns the axes of `a`, then those of `b`, from number `i` of both on: each to an axis of
    /// the result, or to a sum, which begins with `a`.
    bool assign(std::size_t i) {
        if (i == a_.rank() && summed_.empty()) return false;
        if (i == a_.rank() + b_.rank()) return covers() && (looks_at_axes_only_ || holds());
        const bool is_b = i >= a_.rank();
        std::vector<int>& to = is_b ? found_.b : found_.a;
        const std::size_t length = is_b ? b_.shape[i - a_.rank()] : a_.shape[i];
        const auto leads_on = [&](int axis) {
            to.push_back(axis);
            if (assign(i + 1)) return true;
            to.pop_back();
            return false;
        };
        for (std::size_t which = 0; is_b && which < summed_.size(); ++which) {
            const int sum = -static_cast<int>(which) - 1;
            if (summed_[which] == length && is_free(to, sum) && leads_on(sum)) return true;
        }
        for (std::size_t axis = 0; axis < result_.rank(); ++axis) {
            const int own = static_cast<int>(axis);
            if (result_.shape[axis] != length || !is_free(to, own)) continue;
            if (looks_at_axes_only_ && is_b && !is_free(found_.a, own)) continue;
            if (leads_on(own)) return true;
            // Axes of length 1 are alike: the numbers would be the same at another one.
            if (length == 1) break;
        }
        if (is_b || summed_.size() == most_summed) return false;
        // x may have one feature; along other axes nearly everything is a sum of one number.
        if (looks_at_axes_only_ && length == 1 && i + 1 < a_.rank()) return false;
        summed_.push_back(length);
        if (leads_on(-static_cast<int>(summed_.size()))) return true;
        summed_.pop_back();
        return false;
    }

    /// True if each axis of the result comes from an operand and each sum runs over both.
    bool covers() const {
        for (std::size_t which = 0; which < summed_.size(); ++which) {
            if (is_free(found_.b, -static_cast<int>(which) - 1)) return false;
        }
        for (std::size_t axis = 0; axis < result_.rank(); ++axis) {
            const int to = static_cast<int>(axis);
            if (result_.shape[axis] > 1 && is_free(found_.a, to) && is_free(found_.b, to)) {
                return false;
            }
        }
        return true;
    }

    struct Sum {
        double sum = 0, magnitude = 0;
    };

    /// Returns the sum of products for one cell of the result.
    Sum at(const std::vector<std::size_t>& cell) const {
        std::size_t from_a = 0, from_b = 0;
        std::size_t steps_a[most_summed] = {}, steps_b[most_summed] = {};
        std::size_t lengths[most_summed] = {1, 1};
        for (std::size_t i = 0; i < a_.rank(); ++i) {
            const int to = found_.a[i];
            if (to >= 0) from_a += cell[static_cast<std::size_t>(to)] * strides_a_[i];
            if (to < 0) {
                steps_a[-to - 1] = strides_a_[i];
                lengths[-to - 1] = a_.shape[i];
            }
        }
        for (std::size_t i = 0; i < b_.rank(); ++i) {
            const int to = found_.b[i];
            if (to >= 0) from_b += cell[static_cast<std::size_t>(to)] * strides_b_[i];
            if (to < 0) steps_b[-to - 1] = strides_b_[i];
        }
        Sum outcome;
        for (std::size_t i = 0; i < lengths[0]; ++i) {
            for (std::size_t j = 0; j < lengths[1]; ++j) {
                const double product = a_.all[from_a + i * steps_a[0] + j * steps_a[1]] *
                                       b_.all[from_b + i * steps_b[0] + j * steps_b[1]];
                outcome.sum += product;
                outcome.magnitude += std::abs(product);
            }
        }
        return outcome;
    }

    double bias_at(std::size_t flat) const {
        return bias_ == nullptr ? 0 : bias_->all[flat % bias_->all.size()];
    }

    bool holds() {
        constexpr std::size_t most_cells = 400;
        const std::size_t count = result_.all.size();
        const std::size_t cells = std::min(count, most_cells);
        // A stride coprime to the number of cells visits all rows and columns.
        std::size_t step = count <= most_cells ? 1 : count / most_cells;
        while (std::gcd(step, count) != 1) ++step;
        double factor = 1;
        if (may_have_factor_) {
            double largest = 0;
            for (std::size_t i = 0; i < std::min<std::size_t>(cells, 8); ++i) {
                const std::size_t flat = i * step % count;
                if (is_hidden_score(result_.all[flat])) continue;
                const Sum outcome = at(indices_of(flat, result_.shape));
                if (!(std::abs(outcome.sum) > largest)) continue;
                largest = std::abs(outcome.sum);
                factor = result_.all[flat] / outcome.sum;
            }
            if (!(std::abs(factor) > 1e-6) || !std::isfinite(factor)) return false;
            if (std::abs(factor - 1) < 2 * most_units(unit_) * unit_) factor = 1;
        }
        std::size_t distance = 0, looked_at = 0;
        for (std::size_t i = 0; i < cells; ++i) {
            const std::size_t flat = i * step % count;
            if (is_hidden_score(result_.all[flat])) continue;
            const Sum outcome = at(indices_of(flat, result_.shape));
            if (std::isnan(outcome.sum) && std::isnan(result_.all[flat])) continue;
            ++looked_at;
            const double expected = factor * outcome.sum + bias_at(flat);
            const double magnitude = std::abs(factor) * outcome.magnitude + std::abs(bias_at(flat));
            const double bound = unit_ * magnitude * most_units(unit_) + 1e-30;
            if (std::abs(result_.all[flat] - expected) <= bound) continue;
            if (looked_at <= 8 || ++distance > cells / 50) return false;
        }
        found_.factor = factor;
        return looked_at > 2;
    }

    const Traced &result_, &a_, &b_;
    const Traced* bias_;
    bool may_have_factor_, looks_at_axes_only_ = false;
    Shape strides_a_, strides_b_;
    double unit_;
    Contraction found_;
    std::vector<std::size_t> summed_;  ///< lengths
};

std::vector<std::size_t> axes(const std::vector<int>& of, const std::vector<int>& other,
                              bool also_other) {
    std::vector<std::size_t> found;
    for (const int axis : of) {
        const bool is_shared = std::ranges::find(other, axis) != other.end();
        if (axis >= 0 && is_shared == also_other) found.push_back(static_cast<std::size_t>(axis));
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace

double unit_of(DType dtype) {
    return dtype == DType::int64 || dtype == DType::boolean ? epsilon(DType::float32)
                                                            : epsilon(dtype);
}

std::vector<std::size_t> Contraction::axes_of_a(bool also_of_b) const {
    return axes(a, b, also_of_b);
}
std::vector<std::size_t> Contraction::axes_of_b(bool also_of_a) const {
    return axes(b, a, also_of_a);
}

bool axes_fit(const Traced& result, const Traced& a, const Traced& b) {
    return Search(result, a, b, nullptr, false).axes_fit();
}

std::optional<Contraction> contraction_of(const Traced& result, const Traced& a, const Traced& b,
                                          const Traced* bias, bool may_have_factor) {
    if (bias != nullptr && result.all.size() % bias->all.size() != 0) {
        return std::nullopt;
    }
    return Search(result, a, b, bias, may_have_factor).run();
}

}  // namespace attn
