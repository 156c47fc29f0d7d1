#pragma once
#include <cstddef>
#include <vector>

/// Every fourth of many cases under the sanitizers, which check memory and take ten times as long;
/// all of them otherwise. Rates and counts are tested without sanitizers only.
#if defined(ATTN_SANITIZED)
inline constexpr std::size_t thinned_by = 4;
#else
inline constexpr std::size_t thinned_by = 1;
#endif

template <class T>
std::vector<T> thinned(const std::vector<T>& all) {
    std::vector<T> kept;
    for (std::size_t i = 0; i < all.size(); i += thinned_by) kept.push_back(all[i]);
    return kept;
}
