#pragma once
#include <cstddef>
#include <vector>

#include "tests/support/build.hpp"

/// Every fourth of many cases under the sanitizers, which check memory and take ten times as long;
/// all of them otherwise. Rates and counts are tested without sanitizers only.
inline const std::size_t thinned_by = build::is_sanitized ? 4 : 1;

template <class T>
std::vector<T> thinned(const std::vector<T>& all) {
    std::vector<T> kept;
    for (std::size_t i = 0; i < all.size(); i += thinned_by) kept.push_back(all[i]);
    return kept;
}
