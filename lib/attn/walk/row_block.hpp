#pragma once
#include <functional>
#include <span>
#include <utility>

#include "attn/steps/arithmetic.hpp"
#include "attn/tensor/attention_shape.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// Some rows of queries of one head, and what a step from scores to context reads and writes for
/// them. The cells of these rows are written in their place by one step after the other.
template <class T>
struct RowBlock {
    using Number = T;

    const Plan& plan;
    const Arithmetic& arithmetic;
    MaskView mask;     ///< of these rows
    BiasView<T> bias;  ///< of these rows
    MatrixView<const T> query, key, value;
    MatrixView<const T> cells;  ///< scores, or what the last step made of them
    MatrixView<const T> row_max, row_sum;
    MatrixView<T> result;
    std::span<const T> sink{};  ///< of this head; empty without one
};

/// What a step makes of each row of queries: one cell for each key, one of the numbers that later
/// steps read, or features.
enum class PerRow { cells, row_max, row_sum, sink_weight, features };

/// How a step works on a block of rows.
struct RowStep {
    RowStep() = default;
    /// `step` takes a RowBlock of either type of number.
    template <class Step>
    explicit RowStep(Step step, bool is_product = false, bool can_begin = true)
        : of_float(step), of_double(step), multiplies(is_product), begins(can_begin) {}

    std::function<void(const RowBlock<float>&)> of_float;
    std::function<void(const RowBlock<double>&)> of_double;
    bool multiplies = false;  ///< a matrix product, best for many rows at a time
    bool begins = true;       ///< reads no more of these rows than their cells
    bool masks = false;       ///< makes -inf of the cells that its block's mask hides
    PerRow makes = PerRow::cells;

    RowStep making(PerRow what) && {
        makes = what;
        return std::move(*this);
    }
    RowStep masking() && {
        masks = true;
        return std::move(*this);
    }

    explicit operator bool() const { return of_float != nullptr; }
    void operator()(const RowBlock<float>& block) const { of_float(block); }
    void operator()(const RowBlock<double>& block) const { of_double(block); }
};

}  // namespace attn
