#include "attn/judge/compare/two_types.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/compare/compare.hpp"

namespace attn {
namespace {

/// Returns the 16-bit type of a walk; float32 if its type has more digits.
DType type_of(const Ledger& walk) {
    for (const auto& [name, tensor] : walk.entries()) {
        if (is_16_bit(tensor.dtype())) return tensor.dtype();
    }
    return DType::float32;
}

bool is_start(const Step& step) {
    return step.kind == Step::Kind::input || step.kind == Step::Kind::parameter;
}

/// Sums in the type with more digits, and in the type itself.
std::array<Rounding, 2> ways_of(const Rounding& rounding) {
    Rounding in_16_bits = rounding;
    in_16_bits.sums = rounding.unit;
    return {rounding, in_16_bits};
}

}  // namespace

std::optional<Tensor> bound_of(Bounds& bounds, const Step* step, const Tensor& tensor) {
    if (step == nullptr || !tensor.is_floating()) return std::nullopt;
    const std::optional<Ball> ball = bounds.of(step->name);
    if (!ball || ball->radius.shape() != tensor.shape()) return std::nullopt;
    return mapped(ball->radius, [](double radius) { return 2 * radius; }).renamed(tensor.axes());
}

OfTwoTypes::OfTwoTypes(const Plan& plan, const StepTable& table, const Ledger& left,
                       const Ledger& right)
    : plan_(plan),
      table_(table),
      sides_{{{&left, rounding_of(type_of(left))}, {&right, rounding_of(type_of(right))}}} {}

bool OfTwoTypes::explains(const Step& step) {
    const Tensor &a = (*sides_[0].first)[step.name], &b = (*sides_[1].first)[step.name];
    const bool follows = reads_unexplained(step);
    const auto is_near = [&] {
        const Tensor bound = near(a, b);
        return distance(a, b, {}, &bound).within();
    };
    const bool is_rounding = !follows && !std::isinf(distance(a, b, {}).absolute) &&
                             (is_start(step) ? is_near() : follows_from_own_inputs(step.name));
    if (!is_rounding) unexplained_.push_back(step.name);
    return is_rounding;
}

std::optional<Tensor> OfTwoTypes::bound_of_cells(const Step& step) const {
    const Tensor &a = (*sides_[0].first)[step.name], &b = (*sides_[1].first)[step.name];
    if (is_start(step)) return near(a, b);
    if (reads_unexplained(step)) {
        const std::size_t finer = sides_[0].second.unit < sides_[1].second.unit ? 0 : 1;
        const Rounding coarse = ways_of(sides_[1 - finer].second)[1];
        Bounds bounds(plan_, table_, *sides_[finer].first, coarse);
        return bound_of(bounds, &step, b);
    }
    Array<double> cells = empty_array<double>(a.shape());
    for (std::size_t i = 0; i < cells.size(); ++i) cells.data()[i] = std::abs(a.at(i) - b.at(i));
    bool is_right_everywhere = true;
    for (const auto& [own, rounding] : sides_) {
        std::vector<bool> is_right(cells.size());
        for (const Rounding& way : ways_of(rounding)) {
            const std::optional<Ball> ball = Bounds(plan_, table_, *own, way).of(step.name);
            if (!ball || ball->radius.shape() != a.shape()) return std::nullopt;
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const double number = (*own)[step.name].at(i), middle = ball->middle.at(i);
                is_right[i] = is_right[i] || same_number(number, middle) ||
                              std::abs(number - middle) <= ball->radius.at(i);
            }
        }
        for (std::size_t i = 0; i < cells.size(); ++i) {
            is_right_everywhere = is_right_everywhere && is_right[i];
            if (!is_right[i]) cells.data()[i] = 0;
        }
    }
    // Each cell is near enough, but all together are too large or too small.
    if (is_right_everywhere) return std::nullopt;
    return Tensor(a.axes(), std::move(cells));
}

bool OfTwoTypes::reads_unexplained(const Step& step) const {
    return std::ranges::any_of(unexplained_, [&](const std::string& before) {
        return PlannedStep{plan_, table_, step}.reads(before);
    });
}

Tensor OfTwoTypes::near(const Tensor& a, const Tensor& b) const {
    const Rounding &one = sides_[0].second, &other = sides_[1].second;
    const double units = one.unit + other.unit, least = one.least + other.least;
    return tensor_like(a, [&](std::size_t i) {
        return units * std::max(std::abs(a.at(i)), std::abs(b.at(i))) + least;
    });
}

bool OfTwoTypes::follows_from_own_inputs(const std::string& step) const {
    return std::ranges::all_of(sides_, [&](const auto& side) {
        return std::ranges::any_of(ways_of(side.second), [&](const Rounding& way) {
            return follows(step, *side.first, way);
        });
    });
}

bool OfTwoTypes::follows(const std::string& step, const Ledger& own, const Rounding& way) const {
    Bounds bounds(plan_, table_, own, way);
    const std::optional<Ball> ball = bounds.of(step);
    if (!ball || ball->radius.shape() != own[step].shape()) return false;
    if (within(own[step], *ball).beyond > 0) return false;
    const std::optional<Slope> slope = slope_of(own[step], *ball, way);
    return !slope || !slope->is_all || slope->is_one(way);
}

}  // namespace attn
