#pragma once
#include <algorithm>
#include <vector>

#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

// Views of tensors for a judge: the sizes of their cells, and the cells that count.

/// Typical size of each cell's sum of products, per matrix of the last two axes: row size times
/// column size. A large head or channel does not widen the bounds of other cells. With few rows or
/// columns, sums that cancel would give too small a size: all cells of such a matrix have the same.
class CellSizes {
public:
    explicit CellSizes(const Tensor& expected);

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
        std::vector<double> rows, columns;  ///< the largest of each row and column
        double largest = 0;
    };

    void measure(const auto& cells, std::size_t rows, std::size_t columns);

    Shape shape_;
    double usual_;
    bool has_sizes_ = false;
    std::vector<Matrix> matrices_{};
};

/// True if the difference of two tensors looks like rounding: of the size of `epsilon`, with both
/// signs, and of about the same relative size in every head.
bool looks_rounded(const Tensor& tensor, const Tensor& expected, double epsilon);

/// Returns `tensor` with the expected numbers in cells that are masked in every sequence and head.
Tensor as_seen(const Tensor& tensor, const Tensor& expected, const Tensor& mask);

/// Returns `tensor` with a constant added to each row, so that the query's own key has the expected
/// number: softmax cancels such a constant.
Tensor as_shifted(const Tensor& tensor, const Tensor& expected, std::ptrdiff_t offset);

/// Returns the rotated part of each head's key, which all heads share.
Tensor rotated_part(const Plan& plan, const Tensor& rotated_key, const Tensor& rotary_key);

}  // namespace attn
