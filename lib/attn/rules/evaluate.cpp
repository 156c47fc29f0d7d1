#include "attn/rules/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/rules/arithmetic.hpp"
#include "attn/rules/bound.hpp"
#include "attn/rules/complete.hpp"
#include "attn/rules/rows.hpp"

namespace attn {
namespace {

using namespace rule_arithmetic;
using Kind = RuleNode::Kind;
using Index = RuleIndices::Index;

/// More rows than this are not added up: minutes, where a walk takes moments.
constexpr std::size_t most_rows = 100'000'000;

/// Works on one row of the result at a time: every node on all cells of the last index, so that
/// going through the tree costs little.
template <class T>
class Evaluator : RuleRows {
public:
    Evaluator(const Rule& rule, BoundTree tree)
        : RuleRows(rule, tree.indices), tree_(std::move(tree)) {
        const std::vector<std::size_t>& lengths = tree_.lengths;
        row_ = lengths.empty() ? BoundRule::none : lengths.size() - 1;
        count_ = lengths.empty() ? 1 : lengths.back();
        mark(tree_.root);
    }

    Tensor result(const Axes& axes) {
        if (tree_.root.type == RuleType::truth) {
            Array<bool> cells = empty_array<bool>(tree_.lengths);
            std::vector<char> row(count_);
            for_each_row(cells.size(), [&](std::size_t first) {
                truths(tree_.root, nullptr, row.data());
                std::copy(row.begin(), row.end(), cells.data() + first);
            });
            return {axes, std::move(cells)};
        }
        Array<T> cells = empty_array<T>(tree_.lengths);
        for_each_row(cells.size(), [&](std::size_t first) {
            numbers(tree_.root, nullptr, cells.data() + first);
        });
        return {axes, std::move(cells)};
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
        const T* data() const { return cells_.data(); }
        T operator[](std::size_t r) const { return cells_[r]; }

    private:
        Evaluator& owner_;
        std::vector<T> cells_;
    };

    /// Notes for each node which indices it needs: those beyond the sixty-third share a bit. What
    /// needs none and is no index, where `/` rounds down, is worked out.
    std::uint64_t mark(BoundRule& node, bool in_index = false) {
        const Kind kind = node.node->kind;
        node.uses = 0;
        if (kind == Kind::name && !node.is_constant) node.uses = bit(node.index);
        bool is_constant = !in_index && node.type == RuleType::number &&
                           (kind == Kind::call || kind == Kind::operate);
        for (BoundRule& part : node.parts) {
            const bool is_bound = kind == Kind::reduce && &part != &node.parts.back();
            node.uses |= mark(part, in_index || is_bound || kind == Kind::cell);
            is_constant = is_constant && part.is_constant;
        }
        for (const BoundRule::Place& place : node.places) {
            if (place.index) node.uses |= bit(*place.index);
        }
        if (kind == Kind::reduce && node.index < 63) node.uses &= ~bit(node.index);
        if (is_constant) fold(node);
        return node.uses;
    }
    /// `sqrt(4)` is worked out once.
    void fold(BoundRule& node) {
        const std::size_t count = std::exchange(count_, 1);
        T number{};
        numbers(node, nullptr, &number);
        node.number = static_cast<double>(number);
        node.is_constant = true;
        count_ = count;
    }
    template <class Visit>
    void for_each_row(std::size_t cells, Visit visit) {
        for (std::size_t first = 0; first < cells; first += count_) {
            std::size_t rest = count_ == 0 ? 0 : first / count_;
            for (std::size_t axis = row_ == BoundRule::none ? 0 : row_; axis-- > 0;) {
                index_[axis] = static_cast<Index>(rest % tree_.lengths[axis]);
                rest /= tree_.lengths[axis];
            }
            visit(first);
        }
    }

    void numbers(const BoundRule& node, Active active, T* out) {
        if (node.is_constant) return fill_name(node, out);
        switch (node.node->kind) {
            case Kind::number:
            case Kind::name:
                fill_name(node, out);
                break;
            case Kind::cell:
                read_cells(node, active, out);
                break;
            case Kind::call:
            case Kind::operate:
                calculate(node, active, out);
                break;
            case Kind::choose:
                choose(node, active, out, [this](const BoundRule& side, Active taken, T* cells) {
                    numbers(side, taken, cells);
                });
                break;
            case Kind::reduce:
                reduce(node, active, out);
                break;
        }
    }

    void fill_name(const BoundRule& node, T* out) {
        if (node.index == row_ && !node.is_constant) {
            std::iota(out, out + count_, T{0});
        } else {
            std::fill_n(out, count_,
                        node.is_constant ? static_cast<T>(node.number)
                                         : static_cast<T>(index_[node.index]));
        }
    }

    void calculate(const BoundRule& node, Active active, T* out) {
        const std::string& word = node.node->word;
        numbers(node.parts[0], active, out);
        if (node.parts.size() == 1) {
            const bool negates = node.node->kind == Kind::operate;
            T (*const function)(T) = negates ? +[](T x) { return -x; } : function_called<T>(word);
            std::transform(out, out + count_, out, function);
            return;
        }
        Row right(*this);
        numbers(node.parts[1], active, right.data());
        // The operation is chosen once, not for each cell.
        const auto each = [&](auto how) {
            std::transform(out, out + count_, std::as_const(right).data(), out, how);
        };
        if (word == "+") return each(std::plus<T>());
        if (word == "-") return each(std::minus<T>());
        if (word == "*") return each(std::multiplies<T>());
        if (word == "/") return each(std::divides<T>());
        if (word == "max") return each(larger<T>);
        if (word == "min") return each(smaller<T>);
        each([&](T a, T b) { return operated(word, a, b); });
    }

    /// Each side for the cells that take it; `work` makes numbers or truths.
    template <class Cell, class Work>
    void choose(const BoundRule& node, Active active, Cell* out, Work work) {
        std::vector<char> yes(count_);
        truths(node.parts[0], active, yes.data());
        std::vector<char> no(count_);
        for (std::size_t r = 0; r < count_; ++r) {
            const bool asked = active == nullptr || active[r];
            no[r] = asked && !yes[r];
            yes[r] = asked && yes[r];
        }
        std::vector<Cell> other(count_);
        if (any(yes.data())) work(node.parts[1], yes.data(), out);
        if (any(no.data())) work(node.parts[2], no.data(), other.data());
        for (std::size_t r = 0; r < count_; ++r) {
            if (!yes[r]) out[r] = other[r];
        }
    }

    static T start_of(const std::string& word) {
        const T infinity = std::numeric_limits<T>::infinity();
        return word == "max" ? -infinity : word == "min" ? infinity : T{0};
    }
    static T added(T next, T all) { return all + next; }

    /// A row's shared part is worked out once, and again only for other indices.
    T common(const BoundRule& node) {
        std::vector<Index> indices = others_of(node.uses);
        const auto known = common_.find(&node);
        if (known != common_.end() && known->second.first == indices) return known->second.second;
        const std::size_t row = row_;
        const std::size_t count = count_;
        const BoundRule& body = node.parts.back();
        const std::string& word = node.node->word;
        T result = start_of(word);
        T (*const join)(T, T) = word == "max" ? larger<T> : word == "min" ? smaller<T> : added;
        const bool nests = body.node->kind == Kind::reduce;
        row_ = nests ? BoundRule::none : node.index;
        count_ = nests ? 1 : node.length;
        {
            Row cells(*this);
            for (std::size_t i = 0; i < (nests ? node.length : 1); ++i) {
                count_work(node);
                if (nests) index_[node.index] = static_cast<Index>(i);
                numbers(body, nullptr, cells.data());
                for (std::size_t r = 0; r < count_; ++r) result = join(cells[r], result);
            }
        }
        row_ = row;
        count_ = count;
        if (word == "mean") result /= static_cast<T>(node.length);
        common_[&node] = {std::move(indices), result};
        return result;
    }

    /// A row is worked out again only where other indices change it: the largest score of a row
    /// once for all terms of a sum around it.
    void reduce(const BoundRule& node, Active active, T* out) {
        if (node.parts.size() == 1 && node.index < 63 && !uses_row(node)) {
            std::fill_n(out, count_, any(active) ? common(node) : start_of(node.node->word));
            return;
        }
        if (active != nullptr) return reduce_cells(node, active, out);
        std::vector<Index> indices = others_of(node.uses & ~bit(row_));
        indices.push_back(static_cast<Index>(row_));
        auto& [known, cells] = reduced_[&node];
        if (known != indices || cells.size() != count_) {
            reduce_cells(node, nullptr, out);
            known = std::move(indices);
            cells.assign(out, out + count_);
        }
        std::ranges::copy(cells, out);
    }

    void reduce_cells(const BoundRule& node, Active active, T* out) {
        const std::string& word = node.node->word;
        std::fill_n(out, count_, start_of(word));
        std::vector<Index> first(count_, 0);
        std::vector<Index> end(count_, static_cast<Index>(node.length));
        if (node.parts.size() == 3) {
            for_each_active(active, [&](std::size_t r) {
                first[r] = whole(node.parts[0]);
                end[r] = whole(node.parts[1]);
            });
        }
        std::vector<char> within(count_);
        Row row(*this);
        Index least = std::numeric_limits<Index>::max();
        Index most = std::numeric_limits<Index>::min();
        const bool takes_all = active == nullptr && node.parts.size() == 1;
        for (std::size_t r = 0; r < count_; ++r) {
            if (active != nullptr && !active[r]) first[r] = end[r] = 0;
            if (first[r] >= end[r]) continue;
            least = std::min(least, first[r]);
            most = std::max(most, end[r]);
        }
        for (Index i = least; i < most; ++i) {
            count_work(node);
            for (std::size_t r = 0; r < count_; ++r) within[r] = first[r] <= i && i < end[r];
            index_[node.index] = i;
            numbers(node.parts.back(), takes_all ? nullptr : within.data(), row.data());
            const auto each = [&](auto how) {
                for (std::size_t r = 0; r < count_; ++r) {
                    if (within[r]) out[r] = how(row[r], out[r]);
                }
            };
            if (word == "sum" || word == "mean") {
                each([](T more, T sum) { return sum + more; });
            } else {
                each(word == "max" ? larger<T> : smaller<T>);
            }
        }
        for (std::size_t r = 0; word == "mean" && r < count_; ++r) {
            out[r] /= static_cast<T>(std::max(end[r] - first[r], Index{0}));
        }
    }

    void count_work(const BoundRule& node) {
        if (++work_ <= most_rows) return;
        refuse(node, "this rule adds up more than a hundred million rows: shorten its sums");
    }

    void truths(const BoundRule& node, Active active, char* out) {
        const std::string& word = node.node->word;
        if (node.node->kind == Kind::cell) {
            const Array<bool>& cells = node.tensor->as<bool>();
            for_each_place(node, active,
                           [&](std::size_t r, std::size_t at) { out[r] = cells.data()[at]; });
        } else if (node.node->kind == Kind::choose) {
            choose(node, active, out, [this](const BoundRule& side, Active taken, char* cells) {
                truths(side, taken, cells);
            });
        } else if (word == "not") {
            truths(node.parts[0], active, out);
            for (std::size_t r = 0; r < count_; ++r) out[r] = !out[r];
        } else if (word == "and" || word == "or") {
            truths(node.parts[0], active, out);
            std::vector<char> right(count_);
            truths(node.parts[1], active, right.data());
            for (std::size_t r = 0; r < count_; ++r) {
                out[r] = word == "and" ? out[r] && right[r] : out[r] || right[r];
            }
        } else {
            Row left(*this);
            Row right(*this);
            numbers(node.parts[0], active, left.data());
            numbers(node.parts[1], active, right.data());
            for (std::size_t r = 0; r < count_; ++r) out[r] = compared(word, left[r], right[r]);
        }
    }

    void read_cells(const BoundRule& node, Active active, T* out) {
        if (active != nullptr) std::fill_n(out, count_, T{0});
        const T* cells = cells_of(*node.tensor).data();
        for_each_place(node, active, [&](std::size_t r, std::size_t at) { out[r] = cells[at]; });
    }

    /// The numbers of a tensor in the type of the walk.
    const Array<T>& cells_of(const Tensor& tensor) {
        if (const auto* own = std::get_if<Array<T>>(&tensor.values())) return *own;
        Array<T>& cells = converted_[&tensor];
        if (cells.size() == tensor.size() && cells.size() > 0) return cells;
        cells = empty_array<T>(tensor.shape());
        for (std::size_t i = 0; i < cells.size(); ++i)
            cells.data()[i] = static_cast<T>(tensor.at(i));
        return cells;
    }

    BoundTree tree_;
    std::vector<std::vector<T>> spare_;
    std::map<const Tensor*, Array<T>> converted_;
    std::map<const BoundRule*, std::pair<std::vector<Index>, T>> common_;
    std::map<const BoundRule*, std::pair<std::vector<Index>, std::vector<T>>> reduced_;
    std::size_t work_ = 0;
};

}  // namespace

Tensor evaluate_rule(const Rule& rule, const Axes& axes, const Shape& shape, DType dtype,
                     const RuleScope& scope) {
    const RuleNames names{[&](const std::string& name) { return scope.tensor(name), name; },
                          [&](const std::string& name) {
                              const Tensor& tensor = scope.tensor(name);
                              return Outline{tensor.axes(), tensor.shape()};
                          },
                          scope.settings};
    const Rule whole = completed(rule, {axes, shape}, names);
    BoundTree tree = bind_rule(whole, axes, shape, scope);
    return with_floating(dtype, [&](auto zero) {
        return Evaluator<decltype(zero)>(whole, std::move(tree)).result(axes);
    });
}

}  // namespace attn
