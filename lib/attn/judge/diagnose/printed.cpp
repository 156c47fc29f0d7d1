#include <algorithm>
#include <cmath>
#include <set>

#include "attn/judge/diagnose/judged_tensors.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"

// Printed tensors: the digits lost in them, and in the tensors from which they were computed.

namespace attn {

/// Returns the number of decimals or significant digits with which a tensor was printed: that of
/// all printed tensors, or fewer if that is no coincidence; 0 if it has more digits, and for
/// integers, which are exact.
int Judge::printed_digits(const Tensor& tensor) const {
    Ledger alone;
    alone.record("its", tensor);
    const int most = options_.decimals ? *options_.decimals : options_.digits.value_or(0);
    const int own = options_.decimals ? decimals_of(alone) : digits_of(alone);
    if (most == 0 || own == 0 || own > most || are_whole(alone)) return 0;
    if (options_.digits) return most;
    std::set<double> parts;
    each_number(tensor, [&](std::size_t, double x) { parts.insert(x - std::floor(x)); });
    constexpr std::size_t sure = 4;  // one in 10^4
    return parts.size() * static_cast<std::size_t>(most - own) >= sure ? own : most;
}

/// Returns the digits of a result; those of the options if only integers were printed.
int Judge::own_digits(const Tensor& tensor) const {
    const int own = printed_digits(tensor);
    return own > 0 ? own : options_.decimals.value_or(options_.digits.value_or(0));
}

/// Half a unit of the last digit of a number that was printed so.
double Judge::cut(double number, int digits) const {
    constexpr double tie = 1 + 1e-9;
    if (options_.decimals) return 0.5 * std::pow(10.0, -digits) * tie;
    return options_.digits ? 0.5 * std::pow(10.0, 1 - digits) * tie * std::abs(number) : 0;
}

/// Returns how far printed numbers may be from those in the code.
Ledger Judge::printed_radii(const Ledger& used) const {
    Ledger radii;
    for (const auto& [name, tensor] : used.entries()) {
        const int digits = tensor.is_floating() ? printed_digits(tensor) : 0;
        if (digits == 0) continue;
        // Inputs may have been chosen with fewer digits than results.
        const int lost = given_.has(name) ? options_.decimals.value_or(digits) : digits;
        Array<double> radius = empty_array<double>(tensor.shape());
        each_number(tensor, [&](std::size_t i, double x) {
            radius.data()[i] = std::isfinite(x) ? cut(x, lost) : 0;
        });
        radii.record(name, Tensor(tensor.axes(), std::move(radius)));
    }
    return radii;
}

/// Returns the tolerance for printed numbers of a mistake, which have no radius of their own.
Tolerance Judge::printed_tolerance(const TheirTensor& theirs, const Allowed* usual, double size,
                                   double relative) const {
    double most = 0;
    if (usual != nullptr) {
        each_number(usual->ball.radius, [&](std::size_t, double radius) {
            if (std::isfinite(radius)) most = std::max(most, radius);
        });
    }
    const int digits = own_digits(theirs.tensor);
    return {most + relative * size + (options_.decimals ? cut(0, digits) : 0),
            relative + (options_.digits ? cut(1, digits) : 0)};
}

/// Numbers that were printed, beside those that follow from printed ones.
Judged Judge::as_printed(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                         const Tensor& expected, bool from_theirs) const {
    const Rounding kind = rounding(theirs, expected);
    const Allowed* const usual = allowed(step, kind, from_theirs);
    if (!is_middle(expected, usual, kind)) {
        return judged(tensor, expected, tolerance(step, theirs, expected, from_theirs));
    }
    const int digits = own_digits(theirs.tensor);
    const auto is_within = [&](const Ball& ball) {
        Array<double> radius = ball.radius.as<double>();
        const double* const middle = ball.middle.as<double>().data();
        for (std::size_t i = 0; i < radius.size(); ++i) {
            const double size = std::isfinite(middle[i]) ? std::abs(middle[i]) : 0;
            radius.data()[i] += cut(size, digits) + kind.unit * size;
        }
        return within(tensor, {ball.middle, {expected.axes(), std::move(radius)}}).beyond == 0;
    };
    // Steps that follow from lost digits prove little next to printed steps in between.
    const Allowed* const nearer = from_theirs ? nullptr : allowed(step, kind, true);
    const bool is_right = is_within(usual->ball) && (nearer == nullptr || is_within(nearer->ball));
    return {is_right ? Verdict::right : Verdict::wrong, judged(tensor, expected, {}).difference};
}

}  // namespace attn
