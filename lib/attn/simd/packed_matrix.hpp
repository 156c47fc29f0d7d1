#pragma once
#include <algorithm>
#include <cstddef>

#include "attn/simd/kernels.hpp"
#include "attn/simd/parallel.hpp"

namespace attn {

/// A matrix packed once for products with rows that come one or a few at a time, as the parameters
/// of a model that writes a text.
///
/// Range  the digits of a row do not depend on the rows that it is multiplied with.
template <class Real>
class PackedMatrix {
public:
    PackedMatrix() = default;
    /// Packs a matrix (out, in) in row-major order.
    PackedMatrix(const Real* matrix, std::size_t out, std::size_t in) : out_(out), in_(in) {
        Real* const numbers = memory_.reserve<Real>(panel_operations<Real>().size(in, out));
        panel_operations<Real>().pack(matrix, in, out, true, numbers);
        numbers_ = numbers;
    }

    std::size_t out() const { return out_; }
    std::size_t in() const { return in_; }

    /// result(r, o) = sum over i of rows(r, i) matrix(o, i), for `count` rows of `in` numbers.
    void multiply(const Real* rows, std::size_t count, Real* result) const {
        constexpr std::size_t most_rows = 96;
        for (std::size_t r = 0; r < count; r += most_rows) {
            panel_operations<Real>().multiply(rows + r * in_, in_, std::min(most_rows, count - r),
                                              {numbers_, in_, out_}, in_, out_, result + r * out_,
                                              out_);
        }
    }

private:
    Scratch memory_;
    const Real* numbers_ = nullptr;
    std::size_t out_ = 0;
    std::size_t in_ = 0;
};

}  // namespace attn
