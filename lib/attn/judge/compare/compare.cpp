#include "attn/judge/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "attn/explain/bounds/bounds.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/two_types.hpp"

namespace attn {
namespace {

/// Maps floating-point numbers to integers in their order, so that neighbours differ by 1.
template <class T, class Bits>
Bits place_in_order(T number) {
    const Bits bits = std::bit_cast<Bits>(number);
    return bits < 0 ? std::numeric_limits<Bits>::min() - bits : bits;
}

template <class T, class Bits>
std::uint64_t steps_between(double a, double b) {
    const auto x = static_cast<std::int64_t>(place_in_order<T, Bits>(static_cast<T>(a)));
    const auto y = static_cast<std::int64_t>(place_in_order<T, Bits>(static_cast<T>(b)));
    return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                 : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

/// Returns the card with that name; nullptr for tensors of a file that are not steps.
const Step* card_of(const StepTable& table, const std::string& name) {
    const auto step = std::find_if(table.begin(), table.end(),
                                   [&](const Step& each) { return each.name == name; });
    return step == table.end() ? nullptr : &*step;
}

/// Returns the tensors that both sides share, from which the bounds are computed.
Ledger shared_by(const StepTable& table, const Ledger& left, const Ledger& right) {
    Ledger shared;
    for (const auto& [name, tensor] : right.entries()) {
        const Step* const step = card_of(table, name);
        const Tensor* const other = left.find(name);
        const bool starts = step != nullptr && (step->kind == Step::Kind::input ||
                                                step->kind == Step::Kind::parameter);
        const bool is_same = other != nullptr && same_numbers(tensor, *other);
        if (step != nullptr && (starts || is_same || !tensor.is_floating())) {
            shared.record(name, tensor);
        }
    }
    return shared;
}

/// Returns the first step of the chain that only one side has, if the missing steps are all
/// explained by that chain: a file with only some steps proves nothing.
std::string missing_of(const Plan& plan, const StepTable& table, Chain chain, const Ledger& left,
                       const Ledger& right, const Comparison& comparison) {
    std::set<std::string> explained;
    std::string missing;
    for (const Step& step : table) {
        if (step.chain != chain) continue;
        explained.insert(step.name);
        for (const Input& input : step.reads(plan)) explained.insert(input.step);
        if (missing.empty() && left.has(step.name) != right.has(step.name)) missing = step.name;
    }
    for (const auto* names : {&comparison.only_left, &comparison.only_right}) {
        for (const std::string& name : *names) {
            if (explained.count(name) == 0) return {};
        }
    }
    return missing;
}

/// Returns ` of row 1` or ` of 3 of 8 rows`; empty if all rows differ, as in a changed matrix.
std::string rows_text(const StepComparison& step) {
    const std::set<std::size_t>& rows = step.distance.rows;
    if (rows.empty() || rows.size() == step.left[step.left.size() - 2]) return {};
    if (rows.size() == 1) return fmt::format(" of row {}", *rows.begin());
    return fmt::format(" of {} of {} rows", rows.size(), step.left[step.left.size() - 2]);
}

std::string size_of(const StepComparison& step) {
    if (!step.same_shape()) {
        return fmt::format("shapes differ: {} and {}", shape_text(step.left),
                           shape_text(step.right));
    }
    const Distance& far = step.distance;
    const std::string cells = std::to_string(far.beyond) + (far.beyond == 1 ? " cell" : " cells");
    return fmt::format("{:<10}{:<10}{:<12}{}", brief(far.absolute), brief(far.relative), far.ulp,
                       !far.within()       ? fmt::format("DIFFERS in {}{}", cells, rows_text(step))
                       : far.absolute == 0 ? "same"
                       : step.is_bounded   ? fmt::format("rounding, {} decimals", step.decimals())
                                           : "within the tolerance");
}

}  // namespace

double usual_size(const Tensor& tensor) {
    const auto largest_below = [&](double limit) {
        double largest = 0;
        std::visit(
            [&](const auto& cells) {
                for (const auto cell : cells) {
                    const double size = std::abs(static_cast<double>(cell));
                    if (size > largest && size < limit) largest = size;
                }
            },
            tensor.values());
        return largest;
    };
    const double largest = largest_below(std::numeric_limits<double>::infinity());
    if (largest < 1e4) return largest;
    // A stand-in for infinity, such as -1e9 where a mask hides, is far from all other numbers.
    const double next = largest_below(std::exp2(std::ilogb(largest)));
    return next > 0 && largest > 200 * next ? next : largest;
}

DType coarser_type(const Tensor& a, const Tensor& b) {
    if (is_16_bit(a.dtype()) && is_16_bit(b.dtype())) {
        return epsilon(a.dtype()) < epsilon(b.dtype()) ? b.dtype() : a.dtype();
    }
    return a.dtype() == DType::float64 && b.dtype() == DType::float64 ? DType::float64
                                                                      : DType::float32;
}

Distance distance(const Tensor& a, const Tensor& b, const Tolerance& tolerance,
                  const Tensor* bound) {
    if (a.shape() != b.shape()) {
        throw ShapeError("shapes " + shape_text(a.shape()) + " and " + shape_text(b.shape()) +
                         " cannot be compared cell by cell: choose tensors of the same step");
    }
    const bool in_double = coarser_type(a, b) == DType::float64;
    const Shape shape = a.shape();
    const std::size_t columns = shape.empty() ? 1 : shape.back();
    const std::size_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
    Distance far;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a.at(i);
        const double y = b.at(i);
        if (same_number(x, y)) continue;
        const bool finite = std::isfinite(x) && std::isfinite(y);
        const double difference =
            finite ? std::abs(x - y) : std::numeric_limits<double>::infinity();
        if (difference > far.absolute) {
            far.absolute = difference;
            far.worst = i;
        }
        if (y != 0)
            far.relative = std::max(far.relative, finite ? difference / std::abs(y) : INFINITY);
        if (!std::isnan(x) && !std::isnan(y)) {
            far.ulp = std::max(far.ulp, in_double ? steps_between<double, std::int64_t>(x, y)
                                                  : steps_between<float, std::int32_t>(x, y));
        }
        const double allowed =
            bound != nullptr ? bound->at(i) : tolerance.absolute + tolerance.relative * std::abs(y);
        if (!(difference <= allowed)) {
            ++far.beyond;
            if (!far.first) far.first = i;
            if (rows > 1) far.rows.insert(i / columns % rows);
        }
    }
    return far;
}

int StepComparison::decimals() const {
    const double allowed = 2 * tolerance.absolute;
    return allowed > 0 ? std::max(0, static_cast<int>(std::floor(-std::log10(allowed)))) : 0;
}

const StepComparison* Comparison::first() const {
    const auto found = std::find_if(steps.begin(), steps.end(),
                                    [](const StepComparison& step) { return !step.equal(); });
    return found == steps.end() ? nullptr : &*found;
}

Comparison compare(const Plan& plan, const StepTable& table, const Ledger& left,
                   const Ledger& right, std::optional<Tolerance> tolerance) {
    Comparison comparison;
    const Ledger shared = shared_by(table, left, right);
    std::map<DType, Bounds> bounds;
    OfTwoTypes types(plan, table, left, right);
    for (const auto& [name, tensor] : left.entries()) {
        const Tensor* other = right.find(name);
        if (other == nullptr) {
            comparison.only_left.push_back(name);
            continue;
        }
        StepComparison& step = comparison.steps.emplace_back();
        step.name = name;
        step.left = tensor.shape();
        step.right = other->shape();
        if (!step.same_shape()) continue;
        std::optional<Tensor> bound;
        const Step* const card = card_of(table, name);
        const bool may_be_rounding =
            types.is_so() && card != nullptr && !same_numbers(tensor, *other);
        if (tolerance) {
            step.tolerance = *tolerance;
        } else if (may_be_rounding && types.explains(*card)) {
            step.tolerance = {distance(tensor, *other, {}).absolute, 0};
            step.is_bounded = true;
        } else if (other->is_floating() && !same_numbers(tensor, *other)) {
            const Rounding rounding = rounding_of(coarser_type(tensor, *other));
            Bounds& of =
                bounds.try_emplace(coarser_type(tensor, *other), plan, table, shared, rounding)
                    .first->second;
            bound = may_be_rounding ? types.bound_of_cells(*card) : bound_of(of, card, *other);
            constexpr double units = 64;  // if the rule of the step gives no bound
            step.tolerance = {
                (bound ? 1 : units * rounding.unit) * usual_size(bound ? *bound : *other), 0};
            step.is_bounded = bound.has_value();
        }
        step.distance = distance(tensor, *other, step.tolerance, bound ? &*bound : nullptr);
        const std::size_t cell = step.distance.first.value_or(step.distance.worst);
        if (tensor.size() == 0) continue;
        step.cell = indices_of(cell, step.left);
        step.left_value = tensor.at(cell);
        step.right_value = other->at(cell);
    }
    for (const auto& [name, tensor] : right.entries()) {
        if (!left.has(name)) comparison.only_right.push_back(name);
    }
    if (const StepComparison* first = comparison.first()) {
        const Step* step = card_of(table, first->name);
        for (const Input& input : step == nullptr ? std::vector<Input>() : step->reads(plan)) {
            if (input.chain == Chain::none || !comparison.missing.empty()) continue;
            comparison.missing = missing_of(plan, table, input.chain, left, right, comparison);
        }
        if (const Step* missing = card_of(table, comparison.missing)) {
            comparison.missing_title = missing->title.visible();
        }
    }
    return comparison;
}

std::string comparison_text(const Comparison& comparison, const Ink& ink) {
    std::size_t width = 18;
    Tolerance most{0, 0};
    bool is_bounded = false;
    for (const StepComparison& step : comparison.steps) {
        width = std::max(width, visible(step.name).size() + 2);
        most.absolute = std::max(most.absolute, step.tolerance.absolute);
        most.relative = std::max(most.relative, step.tolerance.relative);
        is_bounded = is_bounded || step.is_bounded;
    }
    const std::string heading =
        fmt::format("{:<{}}{:<10}{:<10}{}", "step", width, "max abs", "max rel", "max ulp");
    std::string text = ink.of(ink.heading, heading) + "\n";
    for (const StepComparison& step : comparison.steps) {
        const std::string line = fmt::format("{:<{}}{}", visible(step.name), width, size_of(step));
        text += (step.equal() ? line : ink.of(ink.mistake, line)) + "\n";
    }
    if (!comparison.only_left.empty()) {
        text += fmt::format("only in the first: {}\n", visible(joined(comparison.only_left, " ")));
    }
    if (!comparison.only_right.empty()) {
        text +=
            fmt::format("only in the second: {}\n", visible(joined(comparison.only_right, " ")));
    }
    const StepComparison* first = comparison.first();
    if (comparison.steps.empty()) return text + "no step is in both\n";
    if (first == nullptr && is_bounded) {
        return text + "rounding explains every difference; the printed decimals are certain\n";
    }
    const bool allows = most.absolute > 0 || most.relative > 0;
    if (first == nullptr && !allows) return text + "no difference\n";
    if (first == nullptr) {
        return text + fmt::format("no difference beyond the tolerance: atol {} and rtol {}{}\n",
                                  brief(most.absolute), brief(most.relative),
                                  comparison.steps.size() > 1 ? " at most" : "");
    }
    if (!comparison.missing.empty()) {
        const auto& names = comparison.only_left;
        const bool of_left =
            std::find(names.begin(), names.end(), comparison.missing) != names.end();
        return text + fmt::format("first difference: {} ({}), which only the {} has\n",
                                  comparison.missing, comparison.missing_title,
                                  of_left ? "first" : "second");
    }
    if (!first->same_shape()) {
        return text + fmt::format("first difference: {}, in its shape\n", visible(first->name));
    }
    const auto exact = [](double value) {
        return std::isnan(value) ? "nan" : fmt::format("{}", value);
    };
    const std::string left = exact(first->left_value);
    const std::string right = exact(first->right_value);
    return text + fmt::format("first difference: {}{}: {} and {}\n", visible(first->name),
                              index_text(first->cell), ink.unlike(right, left),
                              ink.unlike(left, right));
}

std::string comparison_json(const Comparison& comparison) {
    std::vector<JsonText> steps;
    for (const StepComparison& step : comparison.steps) {
        const auto list = [](const auto& numbers) {
            return JsonText(std::vector<JsonText>(numbers.begin(), numbers.end()), ", ");
        };
        const JsonText entry{{"name", step.name},
                             {"equal", step.equal()},
                             {"shape", list(std::array{list(step.left), list(step.right)})}};
        const Distance& far = step.distance;
        steps.push_back(
            !step.same_shape()
                ? entry
                : entry.with("max_abs", far.absolute)
                      .with("max_rel", far.relative)
                      .with("max_ulp", far.ulp)
                      .with("atol", step.tolerance.absolute)
                      .with("rtol", step.tolerance.relative)
                      .with("cells_beyond", far.beyond)
                      .with("rows_beyond", list(far.rows))
                      .with("certain_decimals",
                            step.is_bounded ? std::optional(step.decimals()) : std::nullopt)
                      .with("cell", list(step.cell))
                      .with("values", list(std::array{step.left_value, step.right_value})));
    }
    const StepComparison* first = comparison.first();
    std::optional<std::string> name;
    if (first != nullptr) name = comparison.missing.empty() ? first->name : comparison.missing;
    return JsonText{{"equal", comparison.equal()}, {"first_difference", name}}
               .with("only_left", comparison.only_left, ",\n ")
               .with("only_right", comparison.only_right)
               .with("steps", steps, ",\n ")
               .text +
           "\n";
}

}  // namespace attn
