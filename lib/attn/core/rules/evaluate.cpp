#include "attn/core/rules/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "attn/core/rules/bound.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/core/rules/rows.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Index = RuleIndices::Index;

/// More numbers than this are not worked out one by one: minutes, where a walk takes moments.
constexpr double most_work = 1e9;
/// So many numbers of one sum are kept for others of its cells.
constexpr std::size_t most_kept = std::size_t{1} << 22;
/// So many places of a sum are worked on at a time.
constexpr Index longest_row = 4096;

/// Works on one row of the result at a time: every node on all cells of the last index, so that
/// going through the tree costs little. A truth is 1 or 0 there.
template <class T>
class Evaluator : RuleRows {
public:
    Evaluator(const Rule& rule, BoundTree tree, DType type)
        : RuleRows(rule, tree.indices), tree_(std::move(tree)), type_(type) {
        const std::vector<std::size_t>& lengths = tree_.lengths;
        row_ = lengths.empty() ? BoundRule::none : lengths.size() - 1;
        count_ = lengths.empty() ? 1 : lengths.back();
        std::uint64_t around = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i) around |= bit(i);
        mark(tree_.root, around);
    }

    /// Makes all cells, row after row; those of a rule that reads itself in the order of its axes.
    void fill(T* cells, const std::vector<RuleOrder>& orders) {
        const Shape& lengths = tree_.lengths;
        const auto is_ordered = [&](std::size_t axis) {
            return std::ranges::count(orders, axis, &RuleOrder::axis) > 0;
        };
        if (is_ordered(row_)) row_ = BoundRule::none, count_ = 1;  // a cell waits for one before
        std::vector<std::size_t> axes;                             // slowest first
        for (const RuleOrder& order : orders) axes.push_back(order.axis);
        for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
            if (axis != row_ && !is_ordered(axis)) axes.push_back(axis);
        }
        const Shape strides = row_strides(lengths);
        const std::size_t rows = count_ == 0 ? 0 : element_count(lengths) / count_;
        for (std::size_t row = 0; row < rows; ++row) {
            std::size_t first = 0;
            for (std::size_t i = axes.size(), rest = row; i-- > 0;) {
                const std::size_t length = lengths[axes[i]];
                std::size_t at = rest % length;
                rest /= length;
                if (i < orders.size() && orders[i].backwards) at = length - 1 - at;
                index_[axes[i]] = static_cast<Index>(at);
                first += at * strides[axes[i]];
            }
            numbers(tree_.root, nullptr, cells + first);
        }
    }

private:
    /// A row to work in, given back at the end of its scope.
    class Row {
    public:
        explicit Row(Evaluator& owner) : owner_(owner) {
            if (owner.spare_.empty()) owner.spare_.emplace_back();
            cells_ = std::move(owner.spare_.back());
            owner.spare_.pop_back();
            if (cells_.size() < owner.count_) cells_.resize(owner.count_);
        }
        ~Row() { owner_.spare_.push_back(std::move(cells_)); }
        Row(const Row&) = delete;
        Row& operator=(const Row&) = delete;
        T* data() { return cells_.data(); }
        T operator[](std::size_t r) const { return cells_[r]; }

    private:
        Evaluator& owner_;
        std::vector<T> cells_;
    };

    /// Numbers of a sum that are known, a row of them for each of the other indices.
    struct Kept {
        struct Cells {
            std::vector<T> numbers;
            std::vector<char> known;
        };
        bool is_shared = false;  ///< there are indices around that it does not need
        std::map<std::vector<Index>, Cells> rows{};
        std::size_t size = 0;
    };

    /// Numbers of a row that are the same in others.
    struct Same {
        Index start = -1;
        std::vector<T> cells{};
    };

    /// Notes for each node which indices it needs, of those `around` it: those beyond the
    /// sixty-third share a bit. What needs none and reads nothing is worked out, in an index as
    /// whole numbers.
    void mark(BoundRule& node, std::uint64_t around, bool in_index = false) {
        const Kind kind = node.node->kind;
        node.uses = kind == Kind::name && !node.is_constant ? bit(node.index) : 0;
        for (BoundRule& part : node.parts) {
            const bool is_body = kind == Kind::reduce && &part == &node.parts.back();
            const bool is_place = kind == Kind::cell || (kind == Kind::reduce && !is_body);
            mark(part, is_body ? around | bit(node.index) : around, in_index || is_place);
            node.uses |= part.uses;
        }
        if (kind == Kind::reduce) {
            if (is_product(*node.node)) exact_.insert(&node.parts.back());
            if (node.index < 63) node.uses &= ~bit(node.index);
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

    /// `sqrt(4)` is worked out once.
    double folded(const BoundRule& node) {
        const std::size_t count = std::exchange(count_, 1);
        const DType type = std::exchange(type_, DType::float32);
        T number{};
        numbers(node, nullptr, &number);
        count_ = count;
        type_ = type;
        return static_cast<double>(number);
    }

    void numbers(const BoundRule& node, Active active, T* out) {
        if (node.is_constant) {
            std::fill_n(out, count_, static_cast<T>(node.number));
            return store(node, out);
        }
        // What is made of numbers and the place in the row alone is the same in every row.
        const bool is_same = row_ < 63 && node.uses == bit(row_) && !node.parts.empty();
        if (!is_same || !plain_.contains(&node)) return work_out(node, active, out);
        Same& same = same_[&node];
        if (same.start != start_ || same.cells.size() != count_) {
            same.start = start_;
            same.cells.resize(count_);
            work_out(node, nullptr, same.cells.data());
        }
        std::ranges::copy(same.cells, out);
    }

    void work_out(const BoundRule& node, Active active, T* out) {
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
                store(node, out);
                break;
            default:
                calculate(node, active, out);
                store(node, out);
        }
    }

    /// A number of a 16-bit type. A mean is a sum that was stored, divided.
    T stored(T number) const {
        return is_16_bit(type_) ? static_cast<T>(nearest(static_cast<float>(number), type_))
                                : number;
    }

    /// Rounds a row to a 16-bit type, as libraries store what each operation makes and take a
    /// constant, but for whole numbers and truths; a sum is added up in float32 before.
    void store(const BoundRule& node, T* row) const {
        if constexpr (std::is_same_v<T, float>) {
            const bool is_number = node.is_constant ? node.number != std::floor(node.number)
                                                    : node.node->type == RuleType::number;
            if (!is_16_bit(type_) || exact_.contains(&node)) return;
            for (std::size_t r = 0; r < count_; ++r) {
                row[r] = is_number ? stored(row[r]) : row[r] + 0;  // no whole number is -0
            }
        }
    }

    void calculate(const BoundRule& node, Active active, T* out) {
        numbers(node.parts[0], active, out);
        if (node.parts.size() == 1) return node.function->row(out, out, count_);
        Row right(*this);
        if (node.function->kind != RuleFunction::Kind::logic) {
            numbers(node.parts[1], active, right.data());
            return node.function->row(out, right.data(), count_);
        }
        // The right side may read what the left one has asked for.
        const bool is_or = node.node->word == "or";
        std::vector<char> open(count_);
        for (std::size_t r = 0; r < count_; ++r) {
            open[r] = (active == nullptr || active[r]) && (out[r] != 0) != is_or;
        }
        if (any(open.data())) numbers(node.parts[1], open.data(), right.data());
        for (std::size_t r = 0; r < count_; ++r) {
            if (open[r]) out[r] = right[r];
        }
    }

    /// Each side for the cells that take it.
    void choose(const BoundRule& node, Active active, T* out) {
        Row condition(*this);
        numbers(node.parts[0], active, condition.data());
        if (active == nullptr && choose_in_two(node, condition.data(), out)) return;
        std::vector<char> yes(count_), no(count_);
        for (std::size_t r = 0; r < count_; ++r) {
            const bool asked = active == nullptr || active[r];
            no[r] = asked && condition[r] == 0;
            yes[r] = asked && condition[r] != 0;
        }
        if (!any(no.data())) return numbers(node.parts[1], active, out);
        if (any(yes.data())) numbers(node.parts[1], yes.data(), out);
        Row other(*this);
        numbers(node.parts[2], no.data(), other.data());
        for (std::size_t r = 0; r < count_; ++r) {
            if (!yes[r]) out[r] = other[r];
        }
    }

    /// A row that begins with cells of one side and ends with cells of the other is two rows, in
    /// which all cells are asked for: halves of features that rotate. False for other rows.
    bool choose_in_two(const BoundRule& node, const T* condition, T* out) {
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

    /// A sum is worked out once for the indices that it needs, whatever there is around it.
    void reduce(const BoundRule& node, Active active, T* out) {
        const bool in_row = uses_row(node);
        if (!any(active)) {
            std::fill_n(out, count_, T{0});
            return;
        }
        Kept& kept = kept_.at(&node);
        if (!kept.is_shared) {
            std::fill_n(out, count_, in_row ? T{0} : alone(node));
            if (in_row && read_along(node.parts[2], node.index) > 0) {
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
        std::vector<Index> indices = others_of(in_row ? node.uses & ~bit(row_) : node.uses);
        if (in_row) indices.insert(indices.end(), {static_cast<Index>(row_), start_});
        typename Kept::Cells& cells = kept.rows[std::move(indices)];
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
        std::vector<char> asked(count_);
        for (std::size_t r = 0; r < count_; ++r) {
            asked[r] = !cells.known[r] && (active == nullptr || active[r]);
        }
        if (any(asked.data())) {
            const bool asks_all = std::ranges::find(asked, 0) == asked.end();
            reduce_cells(node, asks_all ? nullptr : asked.data(), out);
            for (std::size_t r = 0; r < count_; ++r) {
                if (!asked[r]) continue;
                cells.numbers[r] = out[r];
                cells.known[r] = 1;
            }
        }
        std::copy_n(cells.numbers.begin(), count_, out);
    }

    /// One number, of rows along the sum.
    T alone(const BoundRule& node) {
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
            count_work(node);
            Row cells(*this);
            numbers(body, nullptr, cells.data());
            join(node, &result, &best, cells.data(), count_, at, 0);
        }
        std::tie(row_, count_, start_) = row;
        return node.node->word == "mean" ? stored(result) / static_cast<T>(end - first) : result;
    }

    /// In the order of the sum, with what its index is there; `best` is the largest of argmax. The
    /// next numbers are one for each sum, or with `step` 0 those of one sum, from `place` on.
    void join(const BoundRule& node, T* all, T* best, const T* next, std::size_t count, Index place,
              std::size_t step = 1) {
        const std::string& word = node.node->word;
        if (word == "sum" || word == "mean") {
            for (std::size_t r = 0; r < count; ++r) all[r * step] += next[r];
            return;
        }
        if (word == "prod") {
            const RuleFunction& product = joins(word);
            for (std::size_t r = 0; r < count; ++r) product.row(all + r * step, next + r, 1);
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
            if (finds) at = static_cast<T>(place + static_cast<Index>(step == 0 ? r : 0));
        }
    }

    /// How many tensors are read one cell after another along a sum, and not along the row.
    int read_along(const BoundRule& node, std::size_t sum) const {
        int count = 0;
        for (const BoundRule::Place& place : node.places) {
            if (place.stride == 1) count += (place.index == sum) - (place.index == row_);
        }
        for (const BoundRule& part : node.parts) count += read_along(part, sum);
        return count;
    }

    void reduce_cells(const BoundRule& node, Active active, T* out) {
        std::vector<Index> first(count_, 0), end(count_, 0);
        for (const bool ends : {false, true}) {
            const BoundRule& bound = node.parts[ends ? 1 : 0];
            std::vector<Index>& all = ends ? end : first;
            if (uses_row(bound)) {
                for_each_active(active, [&](std::size_t r) { all[r] = whole(bound); });
            } else {
                std::ranges::fill(all, whole(bound));
            }
        }
        Index least = std::numeric_limits<Index>::max();
        Index most = std::numeric_limits<Index>::min();
        bool takes_all = active == nullptr;
        for (std::size_t r = 0; r < count_; ++r) {
            if (active != nullptr && !active[r]) {
                end[r] = first[r];
                continue;
            }
            out[r] = static_cast<T>(start_of(node.node->word));
            takes_all = takes_all && first[r] == first[0] && end[r] == end[0];
            if (first[r] >= end[r]) continue;
            least = std::min(least, first[r]);
            most = std::max(most, end[r]);
        }
        std::vector<char> within(count_);
        Row row(*this), best(*this);
        std::fill_n(best.data(), count_, -std::numeric_limits<T>::infinity());
        for (Index i = least; i < most; ++i) {
            count_work(node);
            index_[node.index] = i;
            if (takes_all) {
                numbers(node.parts[2], nullptr, row.data());
                join(node, out, best.data(), row.data(), count_, i);
                continue;
            }
            for (std::size_t r = 0; r < count_; ++r) within[r] = first[r] <= i && i < end[r];
            numbers(node.parts[2], within.data(), row.data());
            for (std::size_t r = 0; r < count_; ++r) {
                if (within[r]) join(node, out + r, best.data() + r, row.data() + r, 1, i);
            }
        }
        for (std::size_t r = 0; node.node->word == "mean" && r < count_; ++r) {
            if (active != nullptr && !active[r]) continue;
            out[r] = stored(out[r]) / static_cast<T>(std::max(end[r] - first[r], Index{0}));
        }
    }

    void count_work(const BoundRule& node) {
        work_ += static_cast<double>(count_);
        if (work_ <= most_work) return;
        refuse(node, "this rule works out more than a thousand million numbers: shorten its sums");
    }

    void read_cells(const BoundRule& node, Active active, T* out) {
        if (active != nullptr) std::fill_n(out, count_, T{0});
        const T* cells = cells_of(*node.tensor).data();
        const bool is_whole = active == nullptr && count_ > 0;
        const std::optional<Line> line =
            is_whole ? line_of(node, 0, count_ - 1) : std::optional<Line>();
        if (line && line->stride == 0) return void(std::fill_n(out, count_, cells[line->base]));
        if (line && line->stride == 1) return void(std::copy_n(cells + line->base, count_, out));
        for_each_place(node, active, [&](std::size_t r, std::size_t at) { out[r] = cells[at]; });
    }

    /// The numbers of a tensor in the type of the walk.
    const Array<T>& cells_of(const Tensor& tensor) {
        if (const auto* own = std::get_if<Array<T>>(&tensor.values())) return *own;
        Array<T>& cells = converted_[&tensor];
        if (cells.size() == tensor.size() && cells.size() > 0) return cells;
        cells = empty_array<T>(tensor.shape());
        std::visit(
            [&](const auto& given) {
                std::transform(given.begin(), given.end(), cells.data(),
                               [](auto number) { return static_cast<T>(number); });
            },
            tensor.values());
        return cells;
    }

    BoundTree tree_;
    DType type_;
    std::vector<std::vector<T>> spare_;
    std::map<const Tensor*, Array<T>> converted_;
    std::map<const BoundRule*, Kept> kept_;
    std::set<const BoundRule*> exact_;  ///< what products of matrices add up: not rounded
    std::set<const BoundRule*> plain_;  ///< made of indices and numbers alone, without sums
    std::map<const BoundRule*, Same> same_;
    double work_ = 0;
};

/// Errors  ShapeError for more cells than anybody has room for.
void require_room(const Rule& rule, const Shape& shape) {
    constexpr double most_cells = 1e12;
    double cells = 1;
    for (const std::size_t length : shape) cells *= static_cast<double>(length);
    if (cells > most_cells) {
        throw ShapeError(rule.step + " would have " + shape_text(shape) +
                         " cells: take fewer tokens or features");
    }
}

/// Errors  ConfigError for what no rule can be worked out with or in.
void require_evaluable(const Rule& rule, const Shape& shape, DType dtype) {
    if (dtype == DType::int64 || dtype == DType::boolean) {
        throw ConfigError("a rule is worked out in a floating type, not in " +
                          std::string(dtype_name(dtype)));
    }
    require_room(rule, shape);
}

}  // namespace

Tensor evaluate_completed(const Rule& rule, const Outline& made, DType dtype,
                          const RuleScope& scope) {
    require_evaluable(rule, made.shape, dtype);
    const std::vector<RuleOrder> orders = orders_of(rule);
    const auto is_own = [&](const std::string& name) {
        return !orders.empty() && name == rule.step;
    };
    // Of what is being made there are no products.
    const Tensor unknown({}, Array<std::int64_t>(0));
    Products products;
    const Rule left = products.taken_from(rule, made, dtype,
                                          {[&](const std::string& name) -> const Tensor& {
                                               return is_own(name) ? unknown : scope.tensor(name);
                                           },
                                           scope.settings,
                                           {},
                                           scope.dots});
    return with_floating(dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> array = empty_array<T>(made.shape);
        T* const cells = array.data();
        const Tensor own(made.axes, std::move(array));  // whose rows are read as they are made
        const RuleScope with_own{[&](const std::string& name) -> const Tensor& {
                                     if (is_own(name)) return own;
                                     const Tensor* const product = products.find(name);
                                     return product != nullptr ? *product : scope.tensor(name);
                                 },
                                 scope.settings};
        Evaluator<T>(left, bind_rule(left, made.axes, made.shape, with_own), dtype)
            .fill(cells, orders);
        if (!gives_truth(*left.value)) return cast(own, dtype);
        Array<bool> truths = empty_array<bool>(made.shape);
        for (std::size_t i = 0; i < truths.size(); ++i) truths.data()[i] = cells[i] != 0;
        return {made.axes, std::move(truths)};
    });
}

Tensor evaluate_rule(const Rule& rule, const Axes& axes, const Shape& shape, DType dtype,
                     const RuleScope& scope) {
    const Outline made{axes, shape};
    return evaluate_completed(completed_for(rule, made, scope), made, dtype, scope);
}

}  // namespace attn
