#pragma once
// The evaluator's sums, products and extremes.
#include "attn/core/rules/evaluator.hpp"

namespace attn {

template <class T>
void Evaluator<T>::reduce(const BoundRule& node, Active active, T* out) {
    const bool in_row = uses_row(node);
    if (!any(active)) {
        std::fill_n(out, count_, T{0});
        return;
    }
    KnownSums& kept = kept_.at(&node);
    if (!kept.is_shared) {
        std::fill_n(out, count_, in_row ? T{0} : alone(node));
        if (in_row && !joins_ranges(node) && read_along(node.parts[2], node.index) > 0) {
            for_each_active(active, [&](std::size_t r) { out[r] = alone(node); });
        } else if (in_row) {
            reduce_cells(node, active, out);
        }
        return;
    }
    const std::size_t width = in_row ? count_ : 1;
    if (kept.size + width > most_kept) {
        kept.rows.clear();
        kept.size = 0;
    }
    std::vector<Index> indices = others_of(in_row ? node.uses & ~index_bit(row_) : node.uses);
    if (in_row) indices.insert(indices.end(), {static_cast<Index>(row_), start_});
    typename KnownSums::Cells& cells = kept.rows[std::move(indices)];
    if (cells.numbers.size() < width) {
        kept.size += width;
        cells.numbers.resize(width);
        cells.known.resize(width, 0);
    }
    if (!in_row) {
        if (!cells.known[0]) cells.numbers[0] = alone(node);
        cells.known[0] = 1;
        std::fill_n(out, count_, cells.numbers[0]);
        return;
    }
    std::vector<char> requested(count_);
    for (std::size_t r = 0; r < count_; ++r) {
        requested[r] = !cells.known[r] && (active == nullptr || active[r]);
    }
    if (any(requested.data())) {
        const bool requests_all = std::ranges::find(requested, 0) == requested.end();
        reduce_cells(node, requests_all ? nullptr : requested.data(), out);
        for (std::size_t r = 0; r < count_; ++r) {
            if (!requested[r]) continue;
            cells.numbers[r] = out[r];
            cells.known[r] = 1;
        }
    }
    std::copy_n(cells.numbers.begin(), count_, out);
}

template <class T>
T Evaluator<T>::alone(const BoundRule& node) {
    const BoundRule& body = node.parts[2];
    const Index first = whole(node.parts[0]);
    const Index end = std::max(whole(node.parts[1]), first);
    const auto row = std::tuple(row_, count_, start_);
    T result = static_cast<T>(start_of(node.node->word));
    T best = -std::numeric_limits<T>::infinity();
    const bool nests = body.node->kind == Kind::reduce;
    const Index length = nests ? 1 : longest_row;
    for (Index at = first; at < end; at += length) {
        row_ = nests ? BoundRule::none : node.index;
        start_ = nests ? 0 : at;
        count_ = static_cast<std::size_t>(std::min(length, end - at));
        index_[node.index] = at;
        count_work(count_);
        Row buffer(spare_, count_);
        const T* const cells = row_of(body, nullptr, buffer.data());
        join(node.node->word, &result, &best, cells, count_, at, 0);
    }
    std::tie(row_, count_, start_) = row;
    return node.node->word == "mean" ? stored(result) / static_cast<T>(end - first) : result;
}

template <class T>
int Evaluator<T>::read_along(const BoundRule& node, std::size_t sum) const {
    int count = 0;
    for (const BoundRule::Place& place : node.places) {
        if (place.stride == 1) count += (place.index == sum) - (place.index == row_);
    }
    for (const BoundRule& part : node.parts) count += read_along(part, sum);
    return count;
}

template <class T>
const SumRanges& Evaluator<T>::ranges_of(const BoundRule& node, Active active) {
    auto& [known, ranges] = ranges_[&node];
    std::vector<Index> needs =
        others_of((node.parts[0].uses | node.parts[1].uses) & ~index_bit(row_));
    needs.insert(needs.end(), {static_cast<Index>(row_), start_});
    const bool is_whole = active == nullptr && index_.size() < 63;
    if (is_whole && known == needs && ranges.first.size() == count_) return ranges;
    known = is_whole ? std::move(needs) : std::vector<Index>();
    ranges = {std::vector<Index>(count_, 0), std::vector<Index>(count_, 0)};
    for (const bool ends : {false, true}) {
        const BoundRule& bound = node.parts[ends ? 1 : 0];
        std::vector<Index>& all = ends ? ranges.end : ranges.first;
        if (uses_row(bound)) {
            for_each_active(active, [&](std::size_t r) { all[r] = whole(bound); });
        } else {
            std::ranges::fill(all, whole(bound));
        }
    }
    ranges.look(active);
    return ranges;
}

template <class T>
void Evaluator<T>::reduce_cells(const BoundRule& node, Active active, T* out) {
    if (rank_along(node, out)) return;
    const SumRanges& ranges = ranges_of(node, active);
    const std::string& word = node.node->word;
    std::fill_n(out, count_, static_cast<T>(start_of(word)));
    if (has_one_row(node)) {
        join_along(node, ranges, out);
    } else {
        join_across(node, ranges, active == nullptr && ranges.are_one, out);
    }
    if (word != "mean") return;
    for_each_active(active, [&](std::size_t r) {
        out[r] = stored(out[r]) / static_cast<T>(std::max(ranges.length(r), Index{0}));
    });
}

template <class T>
bool Evaluator<T>::rank_along(const BoundRule& node, T* out) {
    const auto ranked = ranked_.find(&node);
    if (ranked == ranked_.end() || ranked->second.place->index != row_) return false;
    const Index first = whole(node.parts[0]), end = whole(node.parts[1]);
    const auto last = start_ + static_cast<Index>(count_);
    if (first > start_ || end < last) return false;
    const auto count = static_cast<std::size_t>(end - first);
    std::vector<T> along(count);
    count_work(count);
    numbers_along(node.index, first, count, *ranked->second.number, nullptr, along.data());
    if (std::ranges::any_of(along, [](T each) { return std::isnan(each); })) return false;
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t at) { return along[at]; });
    for (std::size_t rank = 0; rank < count; ++rank) {
        const Index place = first + static_cast<Index>(order[rank]);
        if (place >= start_ && place < last) {
            out[place - start_] = static_cast<T>(rank);
        }
    }
    return true;
}

template <class T>
void Evaluator<T>::numbers_along(std::size_t index, Index first, std::size_t count,
                                 const BoundRule& node, Active active, T* out) {
    const auto row = std::tuple(row_, count_, start_);
    std::tie(row_, count_, start_) = std::tuple(index, count, first);
    numbers(node, active, out);
    std::tie(row_, count_, start_) = row;
}

template <class T>
bool Evaluator<T>::joins_ranges(const BoundRule& node) const {
    if (node.node->kind == Kind::reduce && has_one_row(node)) return true;
    if (ranked_.contains(&node)) return true;
    return std::ranges::any_of(
        node.parts, [&](const BoundRule& part) { return uses_row(part) && joins_ranges(part); });
}

template <class T>
bool Evaluator<T>::has_one_row(const BoundRule& node) const {
    return !uses_row(node.parts[2]) && node.parts[2].node->kind != Kind::reduce;
}

template <class T>
void Evaluator<T>::precompute(const BoundRule& sum, const BoundRule& node, const SumRanges& ranges,
                              std::vector<const BoundRule*>& found) {
    const bool is_operation = node.node->kind == Kind::call || node.node->kind == Kind::operate;
    if (is_operation && node.function->kind == RuleFunction::Kind::logic) return;
    const bool is_alike = !uses_row(node) && (node.uses & index_bit(sum.index)) != 0;
    if (is_alike && has_sum(node)) {
        Precomputed ahead{sum.index, ranges.least, {}};
        ahead.cells.resize(static_cast<std::size_t>(ranges.most - ranges.least));
        numbers_along(sum.index, ahead.first, ahead.cells.size(), node, nullptr,
                      ahead.cells.data());
        precomputed_.insert_or_assign(&node, std::move(ahead));
        found.push_back(&node);
    } else if (is_operation) {
        for (const BoundRule& part : node.parts) precompute(sum, part, ranges, found);
    }
}

template <class T>
void Evaluator<T>::join_across(const BoundRule& node, const SumRanges& ranges, bool takes_all,
                               T* out) {
    const std::string& word = node.node->word;
    Marks within(marks_, count_);
    Row row(spare_, count_), best(spare_, count_);
    std::fill_n(best.data(), count_, -std::numeric_limits<T>::infinity());
    std::vector<const BoundRule*> ahead;
    if (takes_all && count_ > 1 && index_.size() < 63)
        precompute(node, node.parts[2], ranges, ahead);
    for (Index i = ranges.least; i < ranges.most; ++i) {
        count_work(count_);
        index_[node.index] = i;
        if (takes_all) {
            const T* const next = row_of(node.parts[2], nullptr, row.data());
            join(word, out, best.data(), next, count_, i);
            continue;
        }
        for (std::size_t r = 0; r < count_; ++r) within[r] = ranges.has(r, i);
        numbers(node.parts[2], within.data(), row.data());
        for (std::size_t r = 0; r < count_; ++r) {
            if (within[r]) join(word, out + r, best.data() + r, row.data() + r, 1, i);
        }
    }
    for (const BoundRule* each : ahead) precomputed_.erase(each);
}

template <class T>
void Evaluator<T>::join_along(const BoundRule& node, const SumRanges& ranges, T* out) {
    if (ranges.joining.empty()) return;
    const std::string& word = node.node->word;
    const bool adds = word == "sum" || word == "mean";
    GrowingSums* const grown = adds ? growing_sums(node) : nullptr;
    const auto is_grown = [&](std::size_t r) { return grown[r].begins(ranges, r); };
    if (grown != nullptr && std::ranges::any_of(ranges.joining, is_grown)) {
        return go_on(node, ranges, grown, out);
    }
    const std::vector<T> along = requested_along(node, ranges.least, ranges.places());
    const std::size_t joined = adds && !ranges.begin_at_one() && ranges.move_on()
                                   ? add_ranges(ranges, along.data(), out)
                                   : join_ranges(word, ranges, along.data(), out);
    count_work(joined / 4);
    if (grown == nullptr) return;
    for (const std::size_t r : ranges.joining) {
        grown[r] = {ranges.first[r], ranges.end[r], out[r]};
    }
}

template <class T>
std::vector<T> Evaluator<T>::requested_along(const BoundRule& node, Index first,
                                             const std::vector<char>& requested) {
    std::vector<T> along(requested.size());
    count_work(requested.size());
    const bool requests_all = std::ranges::find(requested, 0) == requested.end();
    numbers_along(node.index, first, requested.size(), node.parts[2],
                  requests_all ? nullptr : requested.data(), along.data());
    return along;
}

template <class T>
typename Evaluator<T>::GrowingSums* Evaluator<T>::growing_sums(const BoundRule& node) {
    const std::uint64_t others = node.parts[2].uses & ~index_bit(node.index);
    const std::uint64_t bounds = node.parts[0].uses | node.parts[1].uses;
    if ((bounds & ~others & ~index_bit(row_)) == 0 || index_.size() >= 63) return nullptr;
    if (grown_size_ > most_kept) {
        grown_.clear();
        grown_size_ = 0;
    }
    std::vector<GrowingSums>& sums = grown_[{&node, others_of(others)}];
    const std::size_t size = std::max(sums.size(), static_cast<std::size_t>(start_) + count_);
    grown_size_ += size - sums.size();
    sums.resize(size);
    return sums.data() + start_;
}

template <class T>
void Evaluator<T>::go_on(const BoundRule& node, const SumRanges& ranges, GrowingSums* grown,
                         T* out) {
    Index least = ranges.most;
    for (const std::size_t r : ranges.joining) {
        if (!grown[r].begins(ranges, r)) grown[r] = {ranges.first[r], ranges.first[r], T{0}};
        least = std::min(least, grown[r].end);
    }
    std::vector<char> requested(static_cast<std::size_t>(ranges.most - least), 0);
    for (const std::size_t r : ranges.joining) {
        std::fill(requested.begin() + (grown[r].end - least),
                  requested.begin() + (ranges.end[r] - least), 1);
    }
    const std::vector<T> along = requested_along(node, least, requested);
    std::size_t joined = 0;
    for (const std::size_t r : ranges.joining) {
        for (Index& at = grown[r].end; at < ranges.end[r]; ++at, ++joined) {
            grown[r].total += along[at - least];
        }
        out[r] = grown[r].total;
    }
    count_work(joined / 4);
}

inline const BoundRule* first_sum(const BoundRule& node) {
    if (node.node->kind == RuleNode::Kind::reduce) return &node;
    const BoundRule* found = nullptr;
    for (const BoundRule& part : node.parts) found = found != nullptr ? found : first_sum(part);
    return found;
}

template <class T>
void Evaluator<T>::report_work() {
    double before = work_;  // clang 14 cannot add to an atomic double
    while (!work_.compare_exchange_weak(before, before + unreported_work_)) continue;
    const double all = before + unreported_work_;
    unreported_work_ = 0;
    if (all <= most_work) return;
    // The same place in the message, whichever thread reaches the limit first.
    const BoundRule* const sum = first_sum(tree_.root);
    refuse(sum != nullptr ? *sum : tree_.root, too_many_numbers(tree_.other_forms));
}

}  // namespace attn
