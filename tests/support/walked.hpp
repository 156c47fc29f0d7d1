#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/tensor.hpp"

/// Whole walks, and how far apart two of their tensors are.
namespace attn::testing {

inline Ledger walked(const Plan& plan) { return walk(plan, draw(plan)); }
inline Ledger walked(const WalkConfig& config) { return walked(resolve(config)); }

/// Over the cells of two tensors, which must have one shape.
inline double largest_difference(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a.at(i) - b.at(i)));
    return most;
}

/// How many cells of two tensors are not the same; all where they have not one shape.
inline std::size_t differences(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return std::max<std::size_t>(1, a.size());
    return differing_cells(a, b);
}

}  // namespace attn::testing
