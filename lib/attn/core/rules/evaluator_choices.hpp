#pragma once
// The choices of an evaluator: `if a then b else c`.
#include "attn/core/rules/evaluator.hpp"

namespace attn {

template <class T>
void Evaluator<T>::choose(const BoundRule& node, Active active, T* out) {
    Row condition(spare_, count_);
    numbers(node.parts[0], active, condition.data());
    if (active == nullptr && choose_in_two(node, condition.data(), out)) return;
    Marks yes(marks_, count_), no(marks_, count_);
    const T* const holds = condition.data();
    const std::size_t count = count_;
    for (std::size_t r = 0; r < count; ++r) yes[r] = holds[r] != 0;
    for (std::size_t r = 0; r < count; ++r) no[r] = holds[r] == 0;
    for (std::size_t r = 0; active != nullptr && r < count; ++r) {
        yes[r] &= active[r];
        no[r] &= active[r];
    }
    if (!any(no.data())) return numbers(node.parts[1], active, out);
    if (!any(yes.data())) return numbers(node.parts[2], active, out);
    Row other(spare_, count);
    const T* const left = row_of(node.parts[1], yes.data(), out);
    const T* const right = row_of(node.parts[2], no.data(), other.data());
    for (std::size_t r = 0; r < count; ++r) {
        const T one = left[r], another = right[r];
        out[r] = holds[r] != 0 ? one : another;
    }
}

template <class T>
bool Evaluator<T>::choose_in_two(const BoundRule& node, const T* condition, T* out) {
    const auto is_yes = [&](std::size_t r) { return condition[r] != 0; };
    std::size_t split = 0, end = 0;
    while (split < count_ && is_yes(split) == is_yes(0)) ++split;
    for (end = split; end < count_ && is_yes(end) != is_yes(0);) ++end;
    if (end < count_ || count_ == 0) return false;
    const auto [start, count] = std::pair(start_, count_);
    count_ = split;
    numbers(node.parts[is_yes(0) ? 1 : 2], nullptr, out);
    if (split < count) {
        start_ = start + static_cast<Index>(split);
        count_ = count - split;
        numbers(node.parts[is_yes(0) ? 2 : 1], nullptr, out + split);
    }
    start_ = start;
    count_ = count;
    return true;
}

}  // namespace attn
