#include "attn/core/rules/evaluate.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attn/core/rules/bound.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluator_sums.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

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
