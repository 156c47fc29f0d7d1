#include "attn/walk/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/rules/evaluate.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The radii as they count: nothing moves what is 0 or infinite by itself, and where the exact
/// number is beyond the type, any may come.
Tensor settled(const Tensor& middle, Tensor radius, const Rounding& rounding) {
    Array<double> cells = radius.as<double>();
    const double* const exact = middle.as<double>().data();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        double& cell = cells.data()[i];
        const bool is_fixed = exact[i] == 0 || !std::isfinite(exact[i]);
        if (std::isnan(cell)) cell = is_fixed ? rounding.least : infinity;
        if (std::isfinite(exact[i]) && std::abs(exact[i]) + cell > rounding.largest) {
            cell = infinity;
        }
    }
    return {radius.axes(), std::move(cells)};
}

}  // namespace

const Tensor* Bounds::exact(const std::string& name) {
    const bool is_detail = find_step(table_, name).kind == Step::Kind::detail;
    return is_detail ? nullptr : used_.find(name);
}

const Ball* Bounds::known(const std::string& name, DType dtype) {
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second ? &*found->second : nullptr;
    std::optional<Ball>& place = known_[name];
    place = of(name, dtype);
    return place ? &*place : nullptr;
}

std::optional<Ball> Bounds::of(const std::string& step, DType dtype) {
    const PlannedStep planned{plan_, table_, find_step(table_, step)};
    const std::optional<Rule> rule = rule_of(planned);
    if (!rule || planned.step.holds != RuleType::number || gives_truth(*rule->value)) return {};
    for (const std::string& name : tensors_read(*rule)) {
        if (exact(name) == nullptr && known(name, dtype) == nullptr) return std::nullopt;
    }
    const Outline made = planned.step.outline(plan_);
    const Rounding rounding = rounding_of(dtype);
    Ball ball;
    const RuleScope scope{[&](const std::string& name) -> const Tensor& {
                              if (name == step) return ball.middle;
                              if (const Tensor* tensor = exact(name)) return *tensor;
                              const bool is_radius = name.starts_with(radius_name(""));
                              const std::string of =
                                  name.substr(is_radius ? radius_name("").size() : 0);
                              const Ball& other = *known(of, dtype);
                              return is_radius ? other.radius : other.middle;
                          },
                          {}};
    ball.middle = evaluate_rule(*rule, made.axes, made.shape, DType::float64, scope);
    const Rule radius = radius_of(*rule, made, rounding,
                                  [&](const std::string& name) { return exact(name) != nullptr; });
    ball.radius = settled(
        ball.middle, evaluate_rule(radius, made.axes, made.shape, DType::float64, scope), rounding);
    return ball;
}

WithinBall within(const Tensor& tensor, const Ball& ball) {
    WithinBall result;
    const double* const middle = ball.middle.as<double>().data();
    const double* const radius = ball.radius.as<double>().data();
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double cell = tensor.at(i);
        const double difference = same_number(cell, middle[i]) ? 0 : std::abs(cell - middle[i]);
        if (difference > result.difference) {
            result.difference = difference;
            result.allowed = radius[i];
        }
        if (difference <= radius[i]) continue;
        if (result.beyond++ == 0) {
            result.first = i;
            result.first_difference = difference;
            result.first_allowed = radius[i];
        }
    }
    return result;
}

}  // namespace attn
