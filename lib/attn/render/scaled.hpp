#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "attn/render/digits.hpp"

namespace attn {

/// The magnitude of a number times a power of ten up to 10^7, to be rounded to an integer: these
/// are the digits of its fixed form.
///
/// The product of a float (24 bits) and 10^7 (17 bits without its factors 2) is exact. That of a
/// double may be rounded, which moves it up to a half but never across one, as halves are doubles
/// here. So only a product that is a half is in doubt, and is not known to be below any limit.
template <class T>
class Scaled {
public:
    Scaled(T value, double power)
        : product_(std::fabs(static_cast<double>(value)) * power),
          rounded_(product_),
          is_negative_(std::signbit(value)) {}

    /// Range  limit at most 10^15.  A nan is below nothing.
    bool is_below(double limit) const {
        if constexpr (std::is_same_v<T, double>) {
            if (std::fabs(product_ - rounded_.value()) == 0.5) return false;
        }
        return product_ < limit;
    }
    bool is_negative() const { return is_negative_; }

    /// Half to even. Only of a product below the limit.
    std::uint64_t rounded() const { return rounded_.integer(); }

private:
    double product_;
    RoundedHalfEven rounded_;
    bool is_negative_;
};

}  // namespace attn
