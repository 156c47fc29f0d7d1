#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attn/core/rules/functions.hpp"
#include "attn/core/rules/indices.hpp"

namespace attn {

/// Adds numbers to a sum, product or extreme (`word`), in order. `place` is the sum's index there;
/// `best` has the largest numbers of argmax. `next` has one number for each of `count` sums or,
/// with `step` 0, those of one sum, from `place` on.
template <class T>
void join(const std::string& word, T* all, T* best, const T* next, std::size_t count,
          RuleIndices::Index place, std::size_t step = 1) {
    if (word == "sum" || word == "mean") {
        if (step == 0) return void(*all = std::accumulate(next, next + count, *all));
        for (std::size_t r = 0; r < count; ++r) all[r * step] += next[r];
        return;
    }
    if (word == "prod") {
        const RuleFunction& product = joins(word);
        for (std::size_t r = 0; r < count; ++r) {
            T& so_far = all[r * step];
            product.row(&so_far, next + r, true, &so_far, 1);
        }
        return;
    }
    const bool finds = word == "argmax", is_least = word == "min";
    T* const most = finds ? best : all;
    for (std::size_t r = 0; r < count; ++r) {
        T &so_far = most[r * step], &at = all[r * step];
        const bool wins = is_least ? next[r] < so_far : next[r] > so_far;
        const bool is_first = finds && at < 0;
        if (!wins && !is_first && (!std::isnan(next[r]) || std::isnan(so_far))) continue;
        so_far = next[r];
        if (finds) at = static_cast<T>(place + static_cast<RuleIndices::Index>(step == 0 ? r : 0));
    }
}

/// The places of a sum that each cell of a row includes.
struct SumRanges {
    using Index = RuleIndices::Index;

    std::vector<Index> first{}, end{};
    std::vector<std::size_t> joining{};  ///< cells with a non-empty range, the shortest first
    Index least = 0, most = 0;           ///< from the first included place to the end of the last
    bool are_one = true;                 ///< all cells include the same places

    /// Examines the ranges. An inactive cell has an empty range.
    void look(const char* requested) {
        for (std::size_t r = 0; r < first.size(); ++r) {
            if (requested != nullptr && !requested[r]) end[r] = first[r];
            are_one = are_one && first[r] == first[0] && end[r] == end[0];
            if (length(r) <= 0) continue;
            least = joining.empty() ? first[r] : std::min(least, first[r]);
            most = joining.empty() ? end[r] : std::max(most, end[r]);
            joining.push_back(r);
        }
        std::ranges::stable_sort(joining, {}, [&](std::size_t r) { return length(r); });
    }
    Index length(std::size_t r) const { return end[r] - first[r]; }
    bool has(std::size_t r, Index place) const { return first[r] <= place && place < end[r]; }
    bool begin_at_one() const {
        return std::ranges::all_of(joining, [&](std::size_t r) { return first[r] == least; });
    }
    bool move_on() const { return std::ranges::is_sorted(first) && std::ranges::is_sorted(end); }

    /// Returns which places from the least on are included by any cell.
    std::vector<char> places() const {
        std::vector<char> joined(static_cast<std::size_t>(most - least), 0);
        for (const std::size_t r : joining) {
            std::fill(joined.begin() + (first[r] - least), joined.begin() + (end[r] - least), 1);
        }
        return joined;
    }
};

/// Sums the numbers `along`, which begin at the least place, over the range of each cell, in order:
/// a sum has the same last bit everywhere. Returns the number of additions.
template <class T>
std::size_t join_ranges(const std::string& word, const SumRanges& ranges, const T* along, T* out) {
    using Index = SumRanges::Index;
    std::size_t joined = 0;
    const T nothing = static_cast<T>(start_of(word));
    T best{}, total{};
    const auto start = [&] {
        best = -std::numeric_limits<T>::infinity();
        total = nothing;
    };
    const auto add = [&](Index from, Index to) {
        const auto count = static_cast<std::size_t>(to - from);
        join(word, &total, &best, along + (from - ranges.least), count, from, 0);
        joined += count;
    };
    // If all ranges begin at one place, each one continues a shorter one.
    const bool go_on = ranges.begin_at_one();
    start();
    Index at = ranges.least;
    for (const std::size_t r : ranges.joining) {
        if (!go_on) start();
        add(go_on ? at : ranges.first[r], ranges.end[r]);
        at = ranges.end[r];
        out[r] = total;
    }
    return joined;
}

/// Does the same for sums with moving ranges: adds each number to all its cells.
template <class T>
std::size_t add_ranges(const SumRanges& ranges, const T* along, T* out) {
    std::size_t begin = 0, end = 0, added = 0;
    for (auto place = ranges.least; place < ranges.most; ++place) {
        const T number = along[place - ranges.least];
        while (end < ranges.first.size() && ranges.first[end] <= place) ++end;
        while (begin < end && ranges.end[begin] <= place) ++begin;
        for (std::size_t r = begin; r < end; ++r) out[r] += number;
        added += end - begin;
    }
    return added;
}

}  // namespace attn
