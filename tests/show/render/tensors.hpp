#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attn/ground/tensor/tensor.hpp"

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// An array as a tensor, for tests that use only its text.
template <class T>
attn::Tensor named(const attn::Array<T>& array) {
    return {attn::Axes(array.dimension(), "axis"), array};
}

/// 0, 1, 2, ...
inline attn::Tensor counting(std::size_t count) {
    attn::Array<std::int64_t> array = attn::empty_array<std::int64_t>({count});
    for (std::size_t i = 0; i < count; ++i) array(i) = static_cast<std::int64_t>(i);
    return named(array);
}

}  // namespace
