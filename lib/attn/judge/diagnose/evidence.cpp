#include <algorithm>
#include <cmath>

#include "attn/core/plan/ledger.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/verdict.hpp"

namespace attn {
namespace {

bool near(double a, double b) {
    if (!std::isfinite(b)) return a == b;
    return std::abs(a - b) <= 1e-3 * std::max(1.0, std::abs(b));
}

/// Returns the smallest and the largest sum along one axis.
std::pair<double, double> sums_along(const Tensor& tensor, std::size_t axis) {
    const auto [outer, length, inner] = axis_view(tensor.shape(), axis);
    std::vector<double> sums(outer * inner, 0);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        sums[i / (length * inner) * inner + i % inner] += tensor.at(i);
    }
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const double sum : sums) {
        low = std::min(low, sum);
        high = std::max(high, sum);
    }
    return {low, high};
}

void sums_of_weights(const Tensor& actual, std::vector<std::string>& found) {
    const std::size_t last = actual.dimension() - 1;
    const auto [low, high] = sums_along(actual, last);
    if (near(low, 1) && near(high, 1)) return;
    const std::string least = four_decimals(low), most = four_decimals(high);
    found.push_back((least == most ? "each row sums to " + least
                                   : "rows sum to between " + least + " and " + most) +
                    ", not to 1");
    for (std::size_t axis = 0; axis < last; ++axis) {
        const auto [lowest, highest] = sums_along(actual, axis);
        if (near(lowest, 1) && near(highest, 1)) {
            found.push_back("sums along the " + actual.axes()[axis] + " axis are all 1");
        }
    }
}

/// Returns the constant that was added to every number, if there is one.
std::optional<double> addend_between(const Tensor& actual, const Tensor& expected) {
    std::optional<double> addend;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double distance = actual.at(i) - expected.at(i);
        if (!std::isfinite(distance)) continue;
        if (!addend) addend = distance;
        // Rounding is relative to the numbers, not to their small difference.
        if (std::abs(distance - *addend) > 1e-5 * (1 + std::abs(actual.at(i)))) return std::nullopt;
    }
    return addend;
}

}  // namespace

std::optional<DropoutTraces> dropout_in(const Tensor& actual, const Tensor& expected,
                                        const Tolerance& tolerance) {
    DropoutTraces found;
    double after = 0, before = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        after += std::abs(actual.at(i));
        before += actual.at(i) != 0 ? std::abs(expected.at(i)) : 0;
    }
    found.factor = after / before > 0 ? after / before : 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double should_be = found.factor * expected.at(i);
        if (actual.at(i) == 0) {
            if (std::abs(expected.at(i)) > tolerance.absolute) ++found.dropped;
            continue;
        }
        const double difference = std::abs(actual.at(i) - should_be);
        if (!(difference <= tolerance.absolute + tolerance.relative * std::abs(should_be)))
            return {};
        found.difference = std::max(found.difference, difference);
        ++kept;
    }
    // Requires two kept cells, or any tensor with a single number would match.
    const bool is_dropout = found.dropped > 0 && kept > 1 && found.factor > 1 + 1e-3;
    return is_dropout ? std::optional(found) : std::nullopt;
}

namespace {

/// True for float64, unless its numbers were float32 before: JSON stores these with all digits.
bool has_double_numbers(const Tensor& tensor) {
    if (tensor.dtype() != DType::float64) return false;
    const std::vector<double> numbers = tensor.numbers();
    return std::ranges::any_of(numbers, [](double number) {
        return std::isfinite(number) && static_cast<float>(number) != number;
    });
}

bool all_numbers(const Ledger& tensors, auto&& holds) {
    return std::ranges::all_of(tensors.entries(), [&](const Ledger::Entry& entry) {
        const Tensor& tensor = entry.tensor;
        std::size_t i = 0;
        const double unit = has_double_numbers(tensor) ? 1e-13 : 1e-7;
        while (tensor.is_floating() && i < tensor.size() && holds(tensor.at(i), unit)) ++i;
        return i == tensor.size() || !tensor.is_floating();
    });
}

/// The digits that tell printed numbers from stored ones: float32 has no more than 7.
int most_digits(const Ledger& tensors) {
    const bool are_double = std::ranges::all_of(tensors.entries(), [](const Ledger::Entry& each) {
        return has_double_numbers(each.tensor) || !each.tensor.is_floating();
    });
    return are_double ? 9 : 6;
}

/// True if a number is a multiple of `last`, to the precision of its type.
bool is_multiple(double number, double last, double unit) {
    const double count = std::abs(number / last);
    return !std::isfinite(number) || std::abs(count - std::round(count)) <= unit * count;
}

}  // namespace

bool are_whole(const Ledger& tensors) {
    return all_numbers(tensors, [](double each, double) { return is_multiple(each, 1, 1e-7); });
}

int decimals_of(const Ledger& tensors) {
    for (int decimals = 1; decimals <= most_digits(tensors); ++decimals) {
        const double last = std::pow(10, -decimals);
        const auto is_cut = [&](double each, double unit) { return is_multiple(each, last, unit); };
        if (all_numbers(tensors, is_cut)) return decimals;
    }
    return 0;
}

int digits_of(const Ledger& tensors) {
    for (int digits = 2; digits <= most_digits(tensors); ++digits) {
        const auto has_no_more = [digits](double number, double unit) {
            if (number == 0 || !std::isfinite(number)) return true;
            const double first = std::floor(std::log10(std::abs(number)));
            return is_multiple(number, std::pow(10, first - digits + 1), unit);
        };
        if (all_numbers(tensors, has_no_more)) return digits;
    }
    return 0;
}

namespace {

void same_numbers_elsewhere(const Tensor& actual, const Tensor& expected,
                            std::vector<std::string>& found) {
    std::vector<double> a = actual.numbers();
    std::vector<double> b = expected.numbers();
    const auto is_nan = [](double number) { return std::isnan(number); };
    if (std::any_of(a.begin(), a.end(), is_nan) || std::any_of(b.begin(), b.end(), is_nan)) return;
    double farthest = 0;
    bool in_place = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!same_number(a[i], b[i])) farthest = std::max(farthest, std::abs(a[i] - b[i]));
        in_place = in_place && (a[i] == b[i] || near(a[i], b[i]));
    }
    Ledger alone;
    alone.record("theirs", actual);
    if (const int decimals = decimals_of(alone);
        decimals > 0 && farthest <= std::pow(10, -decimals)) {
        const std::string many = std::to_string(decimals);
        found.push_back("the numbers are right to " + many + " decimals: pass $decimals "_message +
                        many);
    }
    constexpr std::size_t too_many_to_sort = 1'000'000;
    if (in_place || a.size() > too_many_to_sort) return;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && !near(a[i], b[i])) return;
    }
    found.push_back("the numbers are correct but in the wrong places");
}

/// Reports whether the matrices are transposed or symmetric.
void shape_of_matrices(const Tensor& actual, const Tensor& expected,
                       std::vector<std::string>& found) {
    const auto [groups, rows, columns] = groups_of(actual.shape());
    if (rows != columns || rows < 2) return;
    bool transposed = true, symmetric = true;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const std::size_t row = i / columns % rows, column = i % columns;
        const std::size_t across = i - row * columns - column + column * columns + row;
        transposed = transposed && near(actual.at(i), expected.at(across));
        symmetric = symmetric && near(actual.at(i), actual.at(across));
    }
    if (symmetric || transposed) {
        found.push_back(symmetric ? "each matrix equals its transpose"
                                  : "each matrix is the transpose of what it should be");
    }
}

}  // namespace

std::optional<double> ratio_between(const Tensor& actual, const Tensor& expected) {
    if (actual.shape() != expected.shape()) return std::nullopt;
    std::optional<double> ratio;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double a = actual.at(i);
        const double b = expected.at(i);
        if (!std::isfinite(a) || !std::isfinite(b) || std::abs(b) < 1e-6) continue;
        if (!ratio) ratio = a / b;
        if (!near(a / b, *ratio)) return std::nullopt;
    }
    return ratio && *ratio != 0 ? ratio : std::nullopt;
}

std::vector<std::string> evidence_of(const std::string& step, const Tensor& actual,
                                     const Tensor& expected) {
    std::vector<std::string> found;
    if (actual.shape() != expected.shape()) {
        found.push_back("its shape is " + shape_text(actual.shape()) + ", not " +
                        shape_text(expected.shape()));
        return found;
    }
    if (!actual.is_floating() || actual.dimension() < 2) return found;
    std::size_t missing = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        missing += std::isnan(actual.at(i)) && !std::isnan(expected.at(i)) ? 1U : 0U;
    }
    if (missing > 0) {
        found.push_back(std::to_string(missing) + " of " + std::to_string(actual.size()) +
                        " cells are nan that should be numbers");
    }
    if (step == "weights") sums_of_weights(actual, found);
    if (const auto ratio = ratio_between(actual, expected); ratio && !near(*ratio, 1)) {
        found.push_back("every number is " + brief(*ratio) + " times what it should be");
    }
    if (const auto addend = addend_between(actual, expected); addend && std::abs(*addend) > 1e-3) {
        found.push_back("every number is " + brief(std::abs(*addend)) +
                        (*addend > 0 ? " more" : " less") + " than it should be");
    }
    same_numbers_elsewhere(actual, expected, found);
    if (step.find("scores") != std::string::npos || step == "weights") {
        shape_of_matrices(actual, expected, found);
    }
    return found;
}

}  // namespace attn
