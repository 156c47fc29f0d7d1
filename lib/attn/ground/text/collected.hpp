#pragma once
#include <functional>
#include <type_traits>
#include <vector>

namespace attn {

/// Returns a list with a property of each element: `collected(step_table(), &Step::name)`.
template <class Range, class Of>
auto collected(const Range& range, Of of) {
    std::vector<std::decay_t<std::invoke_result_t<Of, decltype(*std::begin(range))>>> all;
    for (const auto& each : range) all.push_back(std::invoke(of, each));
    return all;
}

/// Returns a list with a property of each element, as another type.
template <class Value, class Range, class Of>
std::vector<Value> collected(const Range& range, Of of) {
    std::vector<Value> all;
    for (const auto& each : range) all.emplace_back(std::invoke(of, each));
    return all;
}

}  // namespace attn
