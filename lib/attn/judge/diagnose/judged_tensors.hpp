#pragma once
#include <algorithm>
#include <vector>

#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

// Tensors as a judge looks at them: the sizes of their cells, and what counts of them.

/// The size of the sums of products that each cell may be, in each matrix of the last two axes: row
/// times column. One loud head or channel excuses no cell of another. Few rows or columns say
/// nothing of sizes, as sums that cancel are small: all cells of such a matrix have one size.
class Sizes {
public:
    explicit Sizes(const Tensor& expected);

    /// Calls `f(i, size of cell i, size of its matrix)` for all cells in order.
    void each(auto&& f) const {
        if (shape_.size() < 2) {
            for (std::size_t i = 0; i < element_count(shape_); ++i) f(i, usual_, usual_);
            return;
        }
        std::size_t i = 0;
        for (const auto& [rows, columns, largest] : matrices_) {
            const double of_matrix = std::max(largest, 1e-6 * usual_);
            for (const double row : rows) {
                for (const double column : columns) {
                    const double here =
                        has_sizes_ && largest > 0 ? row * column / largest : largest;
                    f(i++, std::max(here, 1e-6 * usual_), of_matrix);
                }
            }
        }
    }

private:
    struct Matrix {
        std::vector<double> rows, columns;  ///< the largest of each
        double largest = 0;
    };

    void measure(const auto& cells, std::size_t rows, std::size_t columns);

    Shape shape_;
    double usual_;
    bool has_sizes_ = false;
    std::vector<Matrix> matrices_{};
};

/// Whether what parts two tensors is as small as the digits say, goes up here and down there, and
/// is everywhere about as much, for numbers of these sizes: no head alone is exact.
bool looks_rounded(const Tensor& tensor, const Tensor& expected, double epsilon);

/// `tensor` with the expected numbers where the mask hides in every sequence and head.
Tensor as_seen(const Tensor& tensor, const Tensor& expected, const Tensor& mask);

/// `tensor` with a number added to each row of keys, so that the query's own key is as expected:
/// softmax takes such a number out again.
Tensor as_shifted(const Tensor& tensor, const Tensor& expected, std::ptrdiff_t offset);

/// The part of each head's key that all heads share, as it is once turned.
Tensor rotated_part(const Plan& plan, const Tensor& rotated_key, const Tensor& rotary_key);

}  // namespace attn
