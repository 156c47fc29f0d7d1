#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {

/// The print options of a library with its defaults filled in.
struct Settings {
    int precision;
    std::size_t threshold;
    std::size_t edgeitems;
    std::size_t linewidth;
    SciMode sci_mode;
};

/// Fills in the defaults.
/// Errors  ConfigError if the precision is negative or larger than any double needs.
Settings settings_for(const PrintOptions& options, const Settings& defaults);

/// The printed indices of one axis: the first `head` and the last `tail`, with three dots in
/// between if the axis is `cut`.
struct ShownAxis {
    std::size_t length;
    std::size_t head;
    std::size_t tail;
    bool cut;
    std::size_t stride;  ///< distance of consecutive indices, in elements

    /// Returns the printed indices, and nullopt for the dots between them.
    std::vector<std::optional<std::size_t>> places() const {
        std::vector<std::optional<std::size_t>> result;
        for (std::size_t i = 0; i < head; ++i) result.emplace_back(i);
        if (cut) result.emplace_back();
        for (std::size_t i = length - tail; i < length; ++i) result.emplace_back(i);
        return result;
    }
};

/// The printed elements of a tensor. Printing a large tensor reads only its corners.
class Shown {
public:
    /// Every element.
    explicit Shown(const Shape& shape);
    /// Every element of a tensor with up to `threshold` elements; otherwise the first and last
    /// `edgeitems` of each longer axis.
    Shown(const Shape& shape, const Settings& settings);

    std::size_t dimension() const { return axes_.size(); }
    const ShownAxis& axis(std::size_t position) const { return axes_[position]; }

    /// Calls `visit(begin, end)` with the printed ranges of flat indices, in order.
    template <class Visit>
    void for_each_range(Visit&& visit) const {
        if (!summarised_ || axes_.empty()) {
            visit(std::size_t{0}, size_);
        } else {
            visit_axis(0, 0, visit);
        }
    }

private:
    std::vector<ShownAxis> axes_;
    std::size_t size_;
    bool summarised_ = false;

    template <class Visit>
    void visit_axis(std::size_t position, std::size_t offset, Visit&& visit) const {
        const ShownAxis& axis = axes_[position];
        if (position + 1 == axes_.size()) {
            visit(offset, offset + axis.head);
            visit(offset + axis.length - axis.tail, offset + axis.length);
            return;
        }
        for (std::size_t i = 0; i < axis.head; ++i) {
            visit_axis(position + 1, offset + i * axis.stride, visit);
        }
        for (std::size_t i = axis.length - axis.tail; i < axis.length; ++i) {
            visit_axis(position + 1, offset + i * axis.stride, visit);
        }
    }
};

/// Results of one pass over the printed floating-point values: all that the choice of a style
/// needs.
struct Survey {
    /// Finite non-zero values by sign, negative ones at [1]: the smallest and the largest
    /// magnitude.
    double least[2] = {std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity()};
    double greatest[2] = {0.0, 0.0};
    bool whole = true;  ///< every finite value is an integer
    bool zero = false;
    bool negative_zero = false;
    bool not_a_number = false;
    bool infinity = false;
    bool negative_infinity = false;

    bool has_nonzero() const { return greatest[0] > 0.0 || greatest[1] > 0.0; }
    bool has_finite() const { return has_nonzero() || zero; }
    bool has_non_finite() const { return not_a_number || infinity; }
    double minimum() const { return std::min(least[0], least[1]); }
    double maximum() const { return std::max(greatest[0], greatest[1]); }

    /// Returns the length of the longest of nan, inf and -inf that occur.
    std::size_t longest_word() const { return negative_infinity ? 4 : has_non_finite() ? 3 : 0; }

    /// Returns the longest of the lengths `length(value)` of the non-zero values. Evaluates only
    /// the four extreme ones, because a number's text grows towards them.
    template <class Length>
    std::size_t longest(Length&& length) const {
        std::size_t result = 0;
        for (const int sign : {0, 1}) {
            if (greatest[sign] == 0.0) continue;
            for (const double magnitude : {least[sign], greatest[sign]}) {
                result = std::max(result, length(sign == 1 ? -magnitude : magnitude));
            }
        }
        return result;
    }
};

/// Surveys the printed elements.
template <class T>
Survey survey(const T* data, const Shown& shown);

}  // namespace attn
