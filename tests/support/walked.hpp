#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/tensor.hpp"

/// Whole walks, and the differences between two of their tensors.
namespace attn::testing {

inline Ledger walked(const Plan& plan) { return walk(plan, draw(plan)); }
inline Ledger walked(const WalkConfig& config) { return walked(resolve(config)); }

/// The largest difference between cells of two tensors, which must have the same shape.
inline double largest_difference(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a.at(i) - b.at(i)));
    return most;
}

/// The number of cells in which two tensors differ; all cells if their shapes differ.
inline std::size_t differences(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return std::max<std::size_t>(1, a.size());
    return differing_cells(a, b);
}

}  // namespace attn::testing
