#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/core/rules/bound.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/join.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/core/rules/rank.hpp"
#include "attn/core/rules/row_pool.hpp"
#include "attn/core/rules/rows.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {

/// Upper limit on scalar evaluations, to keep a walk from taking minutes.
inline constexpr double most_work = 1e9;
inline std::string too_many_numbers(const std::string& other_forms) {
    return "this rule evaluates more than 1000000000 numbers: shorten its sums" +
           (other_forms.empty() ? "" : ", or use another form: " + other_forms);
}
/// Upper limit on the cached numbers of one sum.
inline constexpr std::size_t most_kept = std::size_t{1} << 22;
/// Places of a sum that are processed at a time.
inline constexpr RuleIndices::Index longest_row = 4096;

/// Evaluates one row of the result at a time: each node for all cells of the last index, so that
/// the overhead per cell is small. A boolean is 1 or 0.
template <class T>
class Evaluator : RuleRows {
public:
    /// `loops`: the axes over which rows are computed, slowest first; a row runs along the
    /// remaining one. `work`: the numbers evaluated in sums, by all threads that fill the same
    /// cells.
    Evaluator(const Rule& rule, BoundTree tree, DType type, std::vector<RuleOrder> loops,
              std::atomic<double>& work)
        : RuleRows(rule, tree.indices),
          tree_(std::move(tree)),
          type_(type),
          loops_(std::move(loops)),
          work_(work) {
        const std::vector<std::size_t>& lengths = tree_.lengths;
        const bool has_rows = loops_.size() < lengths.size();
        row_ = has_rows ? lengths.size() - 1 : BoundRule::none;
        count_ = has_rows ? lengths.back() : 1;
        std::uint64_t around = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i) around |= index_bit(i);
        mark(tree_.root, around);
    }

    Evaluator(const Evaluator&) = delete;  // caches use addresses of nodes as keys
    Evaluator& operator=(const Evaluator&) = delete;

    /// Computes the cells of these rows.
    void fill(T* cells, std::size_t begin, std::size_t end) {
        const Shape strides = row_strides(tree_.lengths);
        for (std::size_t row = begin; row < end; ++row) {
            std::size_t first = 0;
            for (std::size_t i = loops_.size(), rest = row; i-- > 0;) {
                const auto [axis, backwards] = loops_[i];
                const std::size_t length = tree_.lengths[axis];
                const std::size_t at = backwards ? length - 1 - rest % length : rest % length;
                rest /= length;
                index_[axis] = static_cast<Index>(at);
                first += at * strides[axis];
            }
            numbers(tree_.root, nullptr, cells + first);
        }
        report_work();
    }

private:
    using Kind = RuleNode::Kind;
    using Row = typename RowPool<T>::Row;
    using Marks = typename RowPool<char>::Row;

    /// Known numbers of a sum, one row for each combination of the other indices.
    struct KnownSums {
        struct Cells {
            std::vector<T> numbers;
            std::vector<char> known;
        };
        bool is_shared = false;  ///< some enclosing index does not change it
        std::map<std::vector<Index>, Cells> rows{};
        std::size_t size = 0;
    };

    /// A sum extended from earlier rows: in `sum t in k + 1..q + 1` each q adds one number to the
    /// sum of the previous q.
    struct GrowingSums {
        Index first = -1, end = -1;
        T total{};
        bool begins(const SumRanges& ranges, std::size_t r) const {
            return first == ranges.first[r] && end <= ranges.end[r];
        }
    };

    /// Numbers of a row that are the same in other rows.
    struct Same {
        Index start = -1;
        std::vector<T> cells{};
    };

    /// The inputs of a sum at each of its places, which do not depend on the cell of the row.
    struct Precomputed {
        std::size_t index;
        Index first;
        std::vector<T> cells;
        const T* at(const std::vector<Index>& indices) const {
            return &cells[static_cast<std::size_t>(indices[index] - first)];
        }
    };

    /// Marks sums that do not depend on all indices in `around`. Nodes that depend on none of them
    /// and read no tensor are evaluated, within an index as integers.
    void mark(BoundRule& node, std::uint64_t around, bool in_index = false) {
        const Kind kind = node.node->kind;
        for (BoundRule& part : node.parts) {
            const bool is_body = kind == Kind::reduce && &part == &node.parts.back();
            const bool is_place = kind == Kind::cell || (kind == Kind::reduce && !is_body);
            mark(part, is_body ? around | index_bit(node.index) : around, in_index || is_place);
        }
        if (kind == Kind::reduce) {
            if (is_product(*node.node)) exact_.insert(&node.parts.back());
            if (const std::optional<RankedBy> by = ranked_by(node)) ranked_.emplace(&node, *by);
            kept_[&node].is_shared = (around & ~node.uses) != 0 && index_.size() < 63;
        }
        const bool is_operation = kind == Kind::call || kind == Kind::operate;
        const bool may_be_plain =
            is_operation || kind == Kind::choose || kind == Kind::number || kind == Kind::name;
        if (may_be_plain && std::ranges::all_of(node.parts, [&](const BoundRule& part) {
                return plain_.contains(&part);
            })) {
            plain_.insert(&node);
        }
        const bool is_constant =
            is_operation && std::ranges::all_of(node.parts, &BoundRule::is_constant);
        if (!is_constant || gives_truth(*node.node)) return;
        node.number = in_index ? value(node) : folded(node);
        node.is_constant = true;
    }

    /// Evaluates a constant expression, such as `sqrt(4)`, once.
    double folded(const BoundRule& node) {
        const std::size_t count = std::exchange(count_, 1);
        const DType type = std::exchange(type_, DType::float32);
        T number{};
        numbers(node, nullptr, &number);
        count_ = count;
        type_ = type;
        return static_cast<double>(number);
    }

    /// The numbers of a node for the cells of a row: in their existing place, or in a buffer.
    struct Operand {
        const T* numbers;
        bool is_one;  ///< one number for all cells
    };

    Operand operand(const BoundRule& node, Active active, T* buffer) {
        if (node.is_constant) {
            *buffer = static_cast<T>(node.number);
            store(node, buffer, 1);
            return {buffer, true};
        }
        // A node that does not depend on the row's index has one number for all cells.
        if (count_ > 1 && row_ != BoundRule::none && !uses_row(node) && !node.parts.empty()) {
            const auto ahead = precomputed_.find(&node);
            if (ahead != precomputed_.end()) return {ahead->second.at(index_), true};
            *buffer = T{0};
            if (any(active)) numbers_along(BoundRule::none, 0, 1, node, nullptr, buffer);
            return {buffer, true};
        }
        // All cells take the same branch.
        const bool requests_once =
            node.node->kind == Kind::choose && count_ > 1 && !uses_row(node.parts[0]);
        if (requests_once && any(active)) {
            T holds{};
            numbers_along(BoundRule::none, 0, 1, node.parts[0], nullptr, &holds);
            return operand(node.parts[holds != 0 ? 1 : 2], active, buffer);
        }
        if (node.node->kind == Kind::cell && active == nullptr && count_ > 0) {
            const std::optional<Line> line = line_of(node, 0, count_ - 1);
            const T* cells = cells_.of(*node.tensor).data();
            if (line && line->stride <= 1) return {cells + line->base, line->stride == 0};
        }
        // A node that depends only on numbers and the place in the row is the same in every row.
        const bool is_same = row_ < 63 && node.uses == index_bit(row_) && !node.parts.empty();
        if (!is_same || !plain_.contains(&node)) {
            evaluate_node(node, active, buffer);
            return {buffer, false};
        }
        Same& same = same_[&node];
        if (same.start != start_ || same.cells.size() != count_) {
            same.start = start_;
            same.cells.resize(count_);
            evaluate_node(node, nullptr, same.cells.data());
        }
        return {same.cells.data(), false};
    }

    /// Returns a number for each cell.
    const T* row_of(const BoundRule& node, Active active, T* buffer) {
        const Operand found = operand(node, active, buffer);
        if (!found.is_one) return found.numbers;
        std::fill_n(buffer, count_, T{*found.numbers});
        return buffer;
    }

    void numbers(const BoundRule& node, Active active, T* out) {
        if (count_ == 0) return;
        const T* const row = row_of(node, active, out);
        if (row != out) std::copy_n(row, count_, out);
    }

    void evaluate_node(const BoundRule& node, Active active, T* out) {
        switch (node.node->kind) {
            case Kind::name:
                if (node.index == row_) {
                    std::iota(out, out + count_, static_cast<T>(start_));
                } else {
                    std::fill_n(out, count_, static_cast<T>(index_[node.index]));
                }
                break;
            case Kind::cell:
                read_cells(node, active, out);
                break;
            case Kind::choose:
                choose(node, active, out);
                break;
            case Kind::reduce:
                reduce(node, active, out);
                store(node, out, count_);
                break;
            default:
                calculate(node, active, out);
                store(node, out, count_);
        }
    }

    /// Rounds to a 16-bit type. A mean is a stored sum, divided.
    T stored(T number) const {
        return is_16_bit(type_) ? static_cast<T>(nearest(static_cast<float>(number), type_))
                                : number;
    }

    /// Rounds a row to a 16-bit type, as libraries round the result of each operation and
    /// constants, except for integers and booleans; sums are computed in float32 before.
    void store(const BoundRule& node, T* row, std::size_t count) const {
        if constexpr (std::is_same_v<T, float>) {
            const bool is_number = node.is_constant ? node.number != std::floor(node.number)
                                                    : node.node->type == RuleType::number;
            if (!is_16_bit(type_) || exact_.contains(&node)) return;
            for (std::size_t r = 0; r < count; ++r) {
                row[r] = is_number ? stored(row[r]) : row[r] + 0;  // no integer is -0
            }
        }
    }

    void calculate(const BoundRule& node, Active active, T* out) {
        const RuleFunction& function = *node.function;
        if (node.parts.size() == 1) {
            const T* const x = row_of(node.parts[0], active, out);
            return function.row(x, x, false, out, count_);
        }
        Row right(spare_, count_);
        if (function.kind != RuleFunction::Kind::logic) {
            const T* const x = row_of(node.parts[0], active, out);
            const Operand y = operand(node.parts[1], active, right.data());
            return function.row(x, y.numbers, y.is_one, out, count_);
        }
        // The right side may read what the left side has checked.
        numbers(node.parts[0], active, out);
        const bool is_or = node.node->word == "or";
        Marks open(marks_, count_);
        for (std::size_t r = 0; r < count_; ++r) {
            open[r] = (active == nullptr || active[r]) && (out[r] != 0) != is_or;
        }
        if (any(open.data())) numbers(node.parts[1], open.data(), right.data());
        for (std::size_t r = 0; r < count_; ++r) {
            if (open[r]) out[r] = right[r];
        }
    }

    /// Evaluates each branch for the cells that take it.
    void choose(const BoundRule& node, Active active, T* out);
    /// Splits a row that begins with cells of one branch and ends with cells of the other into two
    /// rows without inactive cells: halves of rotated features. Returns false for other rows.
    bool choose_in_two(const BoundRule& node, const T* condition, T* out);
    /// Evaluates a sum once for the indices that it depends on, whatever the enclosing ones are.
    void reduce(const BoundRule& node, Active active, T* out);
    /// Evaluates one number, with rows along the sum.
    T alone(const BoundRule& node);
    /// Counts the tensors that are contiguous along a sum, and not along the row.
    int read_along(const BoundRule& node, std::size_t sum) const;
    /// Returns the places of the sum that each cell of the row includes. Those of a whole row are
    /// cached as long as their dependencies do not change.
    const SumRanges& ranges_of(const BoundRule& node, Active active);
    void reduce_cells(const BoundRule& node, Active active, T* out);
    /// Computes `rank` for all cells of the row at once, by sorting the compared numbers. Returns
    /// false for other sums, and if a number is nan.
    bool rank_along(const BoundRule& node, T* out);
    /// Evaluates a node along another index than the row's.
    void numbers_along(std::size_t index, Index first, std::size_t count, const BoundRule& node,
                       Active active, T* out);
    /// True if cells of the row sum the same numbers over different ranges, here or in a part.
    bool joins_ranges(const BoundRule& node) const;
    /// True if all cells of the row sum the same numbers over one range.
    bool has_one_row(const BoundRule& node) const;
    /// Evaluates inner sums that the row does not change, for all places of the outer sum together,
    /// and records them in `found`: scores, for a row of weighted values.
    void precompute(const BoundRule& sum, const BoundRule& node, const SumRanges& ranges,
                    std::vector<const BoundRule*>& found);
    /// Adds the places of the sum one after another, for all cells of the row.
    void join_across(const BoundRule& node, const SumRanges& ranges, bool takes_all, T* out);
    /// Evaluates sums of the same numbers over different ranges: the numbers once, and common parts
    /// of the ranges once.
    void join_along(const BoundRule& node, const SumRanges& ranges, T* out);
    /// Returns the numbers of a sum from a place on, for the requested places.
    std::vector<T> requested_along(const BoundRule& node, Index first,
                                   const std::vector<char>& requested);
    /// Returns the sums of earlier rows for each cell of the row; nullptr if the ranges are the
    /// same in every row.
    GrowingSums* growing_sums(const BoundRule& node);
    /// Adds the parts of the ranges beyond those of earlier rows to their sums.
    void go_on(const BoundRule& node, const SumRanges& ranges, GrowingSums* grown, T* out);

    void count_work(std::size_t numbers) {
        constexpr double worth_reporting = 1e6;
        unreported_work_ += static_cast<double>(numbers);
        if (unreported_work_ > worth_reporting) report_work();
    }

    /// Adds the work of this thread to the total, and stops if it is too much.
    void report_work();

    void read_cells(const BoundRule& node, Active active, T* out) {
        if (active != nullptr) std::fill_n(out, count_, T{0});
        if (count_ == 0 || !any(active)) return;
        const T* cells = cells_.of(*node.tensor).data();
        const auto [first, last] = requested_between(active);
        const std::optional<Line> line = line_of(node, first, last);
        if (!line) {
            return for_each_place(node, active,
                                  [&](std::size_t r, std::size_t at) { out[r] = cells[at]; });
        }
        // Inactive cells in between do no harm.
        for (std::size_t r = first; r <= last; ++r) {
            out[r] = cells[line->base + (r - first) * line->stride];
        }
    }

    BoundTree tree_;
    DType type_;
    std::vector<RuleOrder> loops_;
    RowPool<T> spare_;
    RowPool<char> marks_;
    TypedCells<T> cells_;
    std::map<const BoundRule*, KnownSums> kept_;
    std::set<const BoundRule*> exact_;  ///< sums of matrix products: not rounded
    std::set<const BoundRule*> plain_;  ///< only indices and numbers, without sums
    std::map<const BoundRule*, Same> same_;
    std::map<const BoundRule*, Precomputed> precomputed_;
    std::map<std::pair<const BoundRule*, std::vector<Index>>, std::vector<GrowingSums>> grown_;
    std::size_t grown_size_ = 0;
    std::map<const BoundRule*, RankedBy> ranked_;
    std::map<const BoundRule*, std::pair<std::vector<Index>, SumRanges>> ranges_;
    std::atomic<double>& work_;
    double unreported_work_ = 0;  ///< not reported yet
};

}  // namespace attn
