#pragma once
#include <cmath>
#include <cstddef>

#include "attn/tensor/matrix_view.hpp"

namespace attn {

/// How a step computes where more than one way is right.
struct Arithmetic {
    bool fma = true;  ///< loop twins: round each product and sum together, as PyTorch's AVX2
                      ///< build does
    bool single_chain = false;  ///< loop twins: sum each dot product in a single chain
};

namespace loop {

/// One dot product, summed as a build of PyTorch sums it: the even and the odd positions in a chain
/// each, the two chains added at the end; an odd last position is added after that. With
/// `single_chain` all positions make one chain: so does PyTorch when a factor is a vector.
template <class T>
class Dot {
public:
    explicit Dot(const Arithmetic& arithmetic) : arithmetic_(arithmetic) {}

    /// Adds the product of the next two numbers.
    void add(T x, T y) {
        if (arithmetic_.single_chain) {
            even_ = plus_product(even_, x, y);
        } else if (!waits_) {
            x_ = x;
            y_ = y;
            waits_ = true;
        } else {
            even_ = plus_product(even_, x_, y_);
            odd_ = plus_product(odd_, x, y);
            waits_ = false;
        }
    }

    T sum() const {
        const T both = arithmetic_.single_chain ? even_ : even_ + odd_;
        return waits_ ? plus_product(both, x_, y_) : both;
    }

private:
    T plus_product(T sum, T x, T y) const {
        return arithmetic_.fma ? std::fma(x, y, sum) : sum + x * y;
    }

    const Arithmetic& arithmetic_;
    T even_ = 0, odd_ = 0;
    T x_ = 0, y_ = 0;  ///< the last even position, until it is known whether an odd one follows
    bool waits_ = false;
};

}  // namespace loop
}  // namespace attn
