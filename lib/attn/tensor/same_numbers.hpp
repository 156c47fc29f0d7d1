#pragma once
#include "attn/tensor/tensor.hpp"

namespace attn {

/// Whether two numbers are the same: nan is nan.
inline bool same_number(double a, double b) { return a == b || (a != a && b != b); }

/// How many cells of two tensors hold other numbers.
///
/// Shapes  both the same.
std::size_t differing_cells(const Tensor& a, const Tensor& b);

/// The same shape, type and numbers.
bool same_numbers(const Tensor& a, const Tensor& b);

}  // namespace attn
