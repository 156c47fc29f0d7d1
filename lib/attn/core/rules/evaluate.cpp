#include "attn/core/rules/evaluate.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/core/rules/bound.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluator_choices.hpp"
#include "attn/core/rules/evaluator_sums.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/ground/simd/parallel.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Errors  ShapeError for an impossible number of cells.
void require_memory(const Rule& rule, const Shape& shape) {
    constexpr double most_cells = 1e12;
    double cells = 1;
    for (const std::size_t length : shape) cells *= static_cast<double>(length);
    if (cells > most_cells) {
        throw ShapeError(rule.step + " would have " + shape_text(shape) +
                         " cells: use fewer tokens or features");
    }
}

/// Errors  ConfigError for dtypes and rules that cannot be evaluated.
void require_evaluable(const Rule& rule, const Shape& shape, DType dtype) {
    if (dtype == DType::int64 || dtype == DType::boolean) {
        throw ConfigError("a rule is evaluated in a floating-point type, not in " +
                          std::string(dtype_name(dtype)));
    }
    require_memory(rule, shape);
}

/// Estimates the numbers computed per cell, counting shared sums repeatedly.
double numbers_in(const BoundRule& node, const BoundTree& tree) {
    double numbers = 1;
    for (const BoundRule& part : node.parts) numbers += numbers_in(part, tree);
    if (node.node->kind != RuleNode::Kind::reduce) return numbers;
    const bool is_known = node.parts[0].is_constant && node.parts[1].is_constant;
    const std::size_t longest = tree.lengths.empty() ? 1 : std::ranges::max(tree.lengths);
    const auto length = static_cast<double>(longest);
    return numbers * (is_known ? node.parts[1].number - node.parts[0].number : length);
}

double summed(const RuleNode& node, const IndexSpans& spans,
              std::map<std::string, double>& places) {
    double numbers = 0;
    if (node.kind == RuleNode::Kind::reduce && node.parts.size() == 3) {
        const IndexSpan first = span_of(*node.parts[0], spans),
                        end = span_of(*node.parts[1], spans);
        const bool is_known = first.first == first.last && end.first == end.last;
        double count = is_known ? std::max(end.last - first.first, 0.0) : 1;
        places[node.index] = count;
        for (const auto& [index, length] : places) {
            if (index != node.index && holds_index(node, index)) count *= length;
        }
        // Ranks, and sums that leave cells out, take less.
        const bool is_short = is_product(node) || node.parts.back()->kind == RuleNode::Kind::choose;
        if (!is_short) numbers += count;
    }
    const bool is_choice = node.kind == RuleNode::Kind::choose;
    for (const RuleTree& part : node.parts) {
        if (!is_choice || part == node.parts.front()) numbers += summed(*part, spans, places);
    }
    return numbers;
}

/// Errors  ConfigError for sums that would take minutes, before they begin.
void require_short_sums(const Rule& rule, const Outline& result, const RuleScope& scope) {
    if (numbers_summed(rule, result.shape) <= most_work) return;
    refuse_rule(rule, rule.value->at, too_many_numbers(scope.other_forms));
}

/// The order in which the cells of a rule are computed.
struct Loops {
    std::vector<RuleOrder> axes;  ///< of rows, slowest first
    std::size_t rows = 1;
    std::size_t tied = 1;  ///< number of consecutive rows that depend on each other

    /// A row runs along the last axis, unless the rule reads itself along that one. If the rule
    /// does not read itself, all rows are independent.
    static Loops of(const Rule& rule, const std::vector<RuleOrder>& orders, const Shape& lengths) {
        Loops loops;
        const auto add = [&](const RuleOrder& order) {
            if (std::ranges::count(loops.axes, order.axis, &RuleOrder::axis) > 0) return false;
            loops.axes.push_back(order);
            loops.rows *= lengths[order.axis];
            return true;
        };
        const auto tie = [&](const RuleOrder& order) {
            if (add(order)) loops.tied *= std::max<std::size_t>(lengths[order.axis], 1);
        };
        for (const std::size_t axis : distinguished_axes(rule)) {
            if (axis + 1 < lengths.size()) add({axis});
        }
        for (const RuleOrder& order : orders) tie(order);
        for (std::size_t axis = 0; axis + 1 < lengths.size(); ++axis) tie({axis});
        if (element_count(lengths) == 0) loops.rows = 0;
        return loops;
    }
};

/// A rule, and its result.
template <class T>
struct Filling {
    const Rule& rule;
    BoundTree tree;
    DType type;
    Loops loops;
};

/// Fills the cells on several threads; returns false after an error, which a single thread must
/// report, so that the message does not depend on the number of threads.
template <class T>
bool fill_together(const Filling<T>& result, std::size_t threads, T* cells) {
    const auto [rows, tied] = std::pair(result.loops.rows, result.loops.tied);
    const EvenParts parts{rows, tied, std::min(rows / tied, 8 * threads)};
    std::vector<std::optional<Evaluator<T>>> own(threads);
    std::atomic<double> work = 0;
    try {
        share_tasks(parts.count, threads, [&](std::size_t part, std::size_t thread) {
            if (!own[thread]) {
                own[thread].emplace(result.rule, result.tree, result.type, result.loops.axes, work);
            }
            own[thread]->fill(cells, parts.begin(part), parts.begin(part + 1));
        });
    } catch (const Error&) {
        if (work > most_work) throw;
        return false;
    }
    return true;
}

template <class T>
void fill(Filling<T> result, std::size_t most_threads, T* cells) {
    const std::size_t rows = result.loops.rows;
    // Evaluating one number costs about ten multiply-adds of a GEMM.
    const double work = 10 * numbers_in(result.tree.root, result.tree) *
                        static_cast<double>(element_count(result.tree.lengths));
    const std::size_t threads = worthwhile_threads(most_threads, work, rows / result.loops.tied);
    if (threads > 1 && fill_together(result, threads, cells)) return;
    std::atomic<double> own = 0;
    Evaluator<T>(result.rule, std::move(result.tree), result.type, std::move(result.loops.axes),
                 own)
        .fill(cells, 0, rows);
}

Tensor evaluated(const Rule& rule, const Outline& result, DType dtype, const RuleScope& scope,
                 Products& products) {
    const std::vector<RuleOrder> orders = orders_of(rule);
    const auto is_own = [&](const std::string& name) {
        return !orders.empty() && name == rule.step;
    };
    // The tensor being computed cannot be part of a product.
    const Tensor unknown({}, Array<std::int64_t>(0));
    const Rule left =
        products.extract_products(rule, result, dtype,
                                  {[&](const std::string& name) -> const Tensor& {
                                       return is_own(name) ? unknown : scope.tensor(name);
                                   },
                                   scope.settings,
                                   {},
                                   scope.dots});
    require_short_sums(left, result, scope);
    return with_floating(dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> array = empty_array<T>(result.shape);
        T* const cells = array.data();
        const Tensor own(result.axes, std::move(array));  // its rows are read as they are computed
        RuleScope with_own{[&](const std::string& name) -> const Tensor& {
                               if (is_own(name)) return own;
                               const Tensor* const product = products.find(name);
                               return product != nullptr ? *product : scope.tensor(name);
                           },
                           scope.settings};
        with_own.other_forms = scope.other_forms;
        fill(Filling<T>{left, bind_rule(left, result.axes, result.shape, with_own), dtype,
                        Loops::of(rule, orders, result.shape)},
             scope.threads, cells);
        if (!gives_truth(*left.value)) return cast(own, dtype);
        Array<bool> truths = empty_array<bool>(result.shape);
        for (std::size_t i = 0; i < truths.size(); ++i) truths.data()[i] = cells[i] != 0;
        return {result.axes, std::move(truths)};
    });
}

}  // namespace

Tensor evaluate_completed(const Rule& rule, const Outline& result, DType dtype,
                          const RuleScope& scope) {
    require_evaluable(rule, result.shape, dtype);
    Products products;
    try {
        return evaluated(rule, result, dtype, scope, products);
    } catch (const Error&) {
        if (!products.at_places()) throw;
    }
    Products of_letters(true);  // the cells of the rule report the error
    return evaluated(rule, result, dtype, scope, of_letters);
}

double numbers_summed(const Rule& rule, const Shape& result) {
    IndexSpans spans;
    std::map<std::string, double> places;
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        places[rule.indices[axis]] = static_cast<double>(result[axis]);
        spans[rule.indices[axis]] = {0, std::max(static_cast<double>(result[axis]) - 1, 0.0)};
    }
    return summed(*rule.value, spans, places);
}

Tensor evaluate_rule(const Rule& rule, const Axes& axes, const Shape& shape, DType dtype,
                     const RuleScope& scope) {
    const Outline result{axes, shape};
    return evaluate_completed(completed_for(rule, result, scope), result, dtype, scope);
}

}  // namespace attn
