#include "attn/explain/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attn/core/rules/evaluate.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Adjusts radii that are nan or too large: an exact 0 or infinity is not rounded, though a share
/// of infinity is infinite, and an exact number beyond the range of the type may become infinite.
Tensor settled(const Tensor& middle, Tensor radius, const Rounding& rounding) {
    Array<double> cells = radius.as<double>();
    const double* const exact = middle.as<double>().data();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        double& cell = cells.data()[i];
        const bool is_fixed = exact[i] == 0 || !std::isfinite(exact[i]);
        if (std::isnan(cell)) cell = is_fixed ? rounding.least : infinity;
        if (std::isinf(exact[i]) && std::isinf(cell)) cell = rounding.least;
        if (std::isfinite(exact[i]) && std::abs(exact[i]) + cell > rounding.largest) {
            cell = infinity;
        }
    }
    return {radius.axes(), std::move(cells)};
}

/// Returns a ball for a tensor with more digits than the type, some of which were lost at each use.
Ball rounded(const Tensor& tensor, const Rounding& rounding, double times = 1) {
    Array<double> middle = empty_array<double>(tensor.shape()), radius = middle;
    for (std::size_t i = 0; i < middle.size(); ++i) {
        const double cell = tensor.at(i);
        middle.data()[i] = cell;
        radius.data()[i] = std::isfinite(cell) ? times * rounding.unit * std::abs(cell) : 0;
    }
    return {{tensor.axes(), std::move(middle)}, {tensor.axes(), std::move(radius)}};
}

}  // namespace

const Tensor* Bounds::exact(const std::string& name) {
    const auto [place, is_new] = exact_.try_emplace(name);
    std::optional<Tensor>& kept = place->second;
    const auto found = [&] { return kept ? &*kept : nullptr; };
    if (!is_new) return found();
    const Step& step = find_step(table_, name);
    const Tensor* const tensor = used_.find(name);
    if (tensor == nullptr || tensor->shape() != step.outline(plan_).shape) return nullptr;
    if (!tensor->is_floating()) {
        kept = *tensor;
        return found();
    }
    if (step.kind == Step::Kind::detail) return nullptr;
    if (const Tensor* const radius = radii_.find(name)) {
        known_[name] = Ball{cast(*tensor, DType::float64), *radius};
        return nullptr;
    }
    bool is_exact = !rounding_.kept_more;
    if (!is_exact) known_[name] = rounded(*tensor, rounding_);
    if (rounding_.is_half && !step.stays_float32(plan_)) {
        // Code may use other numbers than it saves: weights before rounding, or rounded
        // exponentials.
        is_exact = step.chain != Chain::weights && holds(rounding_, *tensor);
        const double times = step.chain == Chain::weights ? 2 : 1;
        if (!is_exact) known_[name] = rounded(*tensor, rounding_, times);
    }
    if (is_exact) kept = cast(*tensor, DType::float64);
    return found();
}

const Ball* Bounds::known(const std::string& name) {
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second ? &*found->second : nullptr;
    std::optional<Ball>& place = known_[name];
    place = of(name);
    return place ? &*place : nullptr;
}

std::optional<Ball> Bounds::of(const std::string& step) {
    const auto found = by_rule_.find(step);
    return found != by_rule_.end() ? found->second : by_rule_[step] = by_rule(step);
}

std::optional<Ball> Bounds::by_rule(const std::string& step) {
    const PlannedStep planned{plan_, table_, find_step(table_, step)};
    if (!planned.step.applies(plan_)) return std::nullopt;
    const std::optional<Rule> rule = rule_of(planned);
    if (!rule || planned.step.holds != RuleType::number || gives_truth(*rule->value)) return {};
    for (const std::string& name : tensors_read(*rule)) {
        // Its earlier rows are computed in order, and so are their radii.
        const bool has_ball = name == step || exact(name) != nullptr || known(name) != nullptr;
        if (!has_ball) return std::nullopt;
    }
    const Outline result_outline = planned.step.outline(plan_);
    Ball ball;
    const RuleScope scope{[&](const std::string& name) -> const Tensor& {
                              if (name == step) return ball.middle;
                              const std::string prefix = radius_name("");
                              const bool is_radius = name.starts_with(prefix);
                              if (is_radius) return known(name.substr(prefix.size()))->radius;
                              const Tensor* tensor = exact(name);
                              return tensor != nullptr ? *tensor : known(name)->middle;
                          },
                          {},
                          result_outline,
                          {},
                          plan_.arithmetic.threads};
    const auto evaluated = [&](const Rule& each) {
        return evaluate_rule(each, result_outline.axes, result_outline.shape, DType::float64,
                             scope);
    };
    ball.middle = evaluated(*rule);
    const Rounding rounding = planned.step.stays_float32(plan_) && rounding_.is_half
                                  ? rounding_of(DType::float32)
                                  : rounding_;
    const Rule radius = radius_of(*rule, result_outline, rounding, [&](const std::string& name) {
        return name != step && exact(name) != nullptr;
    });
    ball.radius = settled(ball.middle, evaluated(radius), rounding);
    return ball;
}

std::string WithinBall::text(const Shape& shape) const {
    if (beyond == 0) {
        return fmt::format("rounding explains it: largest {} of at most {}{}", brief(difference),
                           brief(allowed), way.empty() ? "" : ", with " + way);
    }
    return fmt::format("rounding does not explain it: {} {}, first {}: {} of at most {}", beyond,
                       beyond == 1 ? "cell" : "cells", index_text(indices_of(first, shape)),
                       brief(first_difference), brief(first_allowed));
}

namespace {

/// Errors  ShapeError if the ball has another size.
void require_cells(const Tensor& tensor, const Ball& ball) {
    if (tensor.size() == ball.middle.size() && tensor.size() == ball.radius.size()) return;
    throw ShapeError("bounds of shape " + shape_text(ball.middle.shape()) +
                     " are not those of a tensor of shape " + shape_text(tensor.shape()));
}

}  // namespace

WithinBall within(const Tensor& tensor, const Ball& ball) {
    require_cells(tensor, ball);
    WithinBall result;
    const double* const middle = ball.middle.as<double>().data();
    const double* const radius = ball.radius.as<double>().data();
    const auto take = [&](std::size_t i, double cell) {
        if (same_number(cell, middle[i])) return;
        const double distance = std::abs(cell - middle[i]);
        const double difference = std::isnan(distance) ? infinity : distance;
        if (difference > result.difference) {
            result.difference = difference;
            result.allowed = radius[i];
        }
        if (difference <= radius[i]) return;
        if (result.beyond++ == 0) {
            result.first = i;
            result.first_difference = difference;
            result.first_allowed = radius[i];
        }
    };
    each_number(tensor, take);
    return result;
}

bool Slope::is_one(const Rounding& rounding, double deviations) const {
    constexpr double sums = 5, usual = 4;
    const double constant = std::min(rounding.unit, usual * lost) + sums * rounding.sums;
    return std::abs(factor - 1) <= std::max(constant, deviations * error);
}

std::string Slope::text() const {
    const double shown = std::max(error, 1e-12);
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(shown))), 3, 12);
    return fmt::format("every number is {:.{}f} times what it should be, +- {}", factor, decimals,
                       brief(error));
}

std::optional<Slope> slope_of(const Tensor& tensor, const Ball& ball, const Rounding& rounding) {
    require_cells(tensor, ball);
    constexpr std::size_t fewest = 8;
    const double* const middle = ball.middle.as<double>().data();
    const double* const radius = ball.radius.as<double>().data();
    double along = 0, all = 0, square = 0;
    std::size_t count = 0;
    each_number(tensor, [&](std::size_t i, double cell) {
        const double x = middle[i] / radius[i], y = cell / radius[i];
        if (!std::isfinite(x) || !std::isfinite(y) || x == 0) return;
        along += x * (y - x);
        all += x * x;
        square += (y - x) * (y - x);
        ++count;
    });
    if (count < fewest) return std::nullopt;
    const double more = along / all;
    const double scatter = std::max(square - more * along, 0.0) / static_cast<double>(count - 1);
    Slope slope{1 + more, std::sqrt(scatter / all), true};
    if (slope.is_one(rounding)) return slope;
    each_number(tensor, [&](std::size_t i, double cell) {
        const double x = middle[i] / radius[i];
        if (!std::isfinite(x) || !std::isfinite(cell / radius[i]) || x == 0) return;
        slope.lost += x * x / all * lost_where_stored(middle[i], rounding) / std::abs(middle[i]);
    });
    each_number(tensor, [&](std::size_t i, double cell) {
        const double left = std::abs(cell / slope.factor - middle[i]);
        slope.is_all = slope.is_all && (left <= radius[i] || same_number(cell, middle[i]));
    });
    return slope;
}

}  // namespace attn
