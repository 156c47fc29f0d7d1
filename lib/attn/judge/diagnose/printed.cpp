#include <algorithm>
#include <cmath>
#include <set>

#include "attn/ground/tensor/cells.hpp"
#include "attn/judge/diagnose/judged_tensors.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

// Printed tensors: the digits lost in them, and in the tensors from which they were computed.

namespace attn {
namespace {

Ledger ledger_of(const Tensor& tensor) {
    Ledger alone;
    alone.record("its", tensor);
    return alone;
}

}  // namespace

double share_dropped(const std::vector<double>& before, const std::vector<double>& after,
                     double near) {
    std::size_t largest = before.size();
    bool drops = false;
    for (std::size_t i = 0; i < before.size(); ++i) {
        drops = drops || (after[i] == 0 && before[i] > near);
        const bool is_larger = largest == before.size() || before[i] > before[largest];
        if (after[i] != 0 && is_larger) largest = i;
    }
    if (!drops || largest == before.size()) return 0;
    double share = 1 - before[largest] / after[largest];
    // Shares have few digits: 0.1, 0.125.
    for (const double parts : {1e2, 1e4}) {
        const double rounded = std::round(parts * share) / parts;
        const double result = before[largest] / (1 - rounded);
        if (std::abs(result - after[largest]) > (1 + after[largest] / before[largest]) * near) {
            continue;
        }
        share = rounded;
        break;
    }
    const double factor = 1 / (1 - share);
    for (std::size_t i = 0; i < before.size(); ++i) {
        const bool is_kept = std::abs(after[i] - factor * before[i]) <= (1 + factor) * near;
        if (!is_kept && after[i] != 0) return 0;
    }
    return factor > 1 + near ? share : 0;
}

void set_shown_dropout(double share, const Tensor& after, Dropout& dropout) {
    dropout.p = share;
    dropout.keep = tensor_like(after, [&](std::size_t i) { return after.at(i) == 0 ? 0.0 : 1.0; });
}

bool has_cut_decimals(const Ledger& tensors, int digits) {
    const int decimals = decimals_of(tensors);
    if (decimals == 0) return true;
    const double least = std::pow(10.0, digits - decimals);
    bool has = false;
    for (const auto& [name, tensor] : tensors.entries()) {
        each_number(tensor, [&](std::size_t, double number) {
            has = has || (std::abs(number) >= least && number != std::round(number));
        });
    }
    return has;
}

Printed printed_alone(const Tensor& tensor) {
    const Ledger alone = ledger_of(tensor);
    if (are_whole(alone)) return {};
    const int digits = digits_of(alone);
    return digits > 0 && has_cut_decimals(alone, digits) ? Printed{digits, true}
                                                         : Printed{decimals_of(alone)};
}

/// Returns the digits with which a tensor was printed: those of all printed tensors, or fewer if
/// that is unlikely to be a coincidence; none if it has more digits, and for integers, which are
/// exact. Some tensors may have decimals and others significant digits, as PyTorch prints them.
Printed Judge::printed_digits(const Tensor& tensor) const {
    const Ledger alone = ledger_of(tensor);
    if (are_whole(alone)) return {};
    if (options_.digits && (!options_.decimals || printed_alone(tensor).are_significant)) {
        const int digits = digits_of(alone);
        const bool has_more = digits == 0 || digits > *options_.digits;
        return has_more ? Printed() : Printed{*options_.digits, true};
    }
    const int decimals = options_.decimals ? decimals_of(alone) : 0;
    if (decimals == 0 || decimals > *options_.decimals) return {};
    std::set<double> parts;
    each_number(tensor, [&](std::size_t, double x) { parts.insert(x - std::floor(x)); });
    constexpr std::size_t sure = 4;  // one in 10^4
    const int most = *options_.decimals;
    return {parts.size() * static_cast<std::size_t>(most - decimals) >= sure ? decimals : most};
}

/// Returns the digits of a result; those of the options if only integers were printed.
Printed Judge::own_digits(const Tensor& tensor) const {
    const Printed own = printed_digits(tensor);
    if (own.count > 0) return own;
    return options_.decimals ? Printed{*options_.decimals}
                             : Printed{options_.digits.value_or(0), options_.digits.has_value()};
}

/// Half a unit of the last printed digit of a number.
double Printed::cut(double number) const {
    constexpr double tie = 1 + 1e-9;
    if (count == 0) return 0;
    return are_significant ? 0.5 * std::pow(10.0, 1 - count) * tie * std::abs(number)
                           : 0.5 * std::pow(10.0, -count) * tie;
}

/// Returns how far printed numbers may be from those in the code, for the tensors that were cut.
Ledger Judge::printed_radii(const Ledger& used) const {
    const auto digits_of = [&](const Ledger::Entry& entry) {
        Printed digits = printed_digits(entry.tensor);
        // Inputs may have been chosen with fewer digits than results.
        if (!given_.has(entry.name)) return digits;
        if (digits.count == 0) {  // or with more, which float32 does not keep
            const Printed own = printed_alone(entry.tensor);
            const int most = std::max(options_.digits.value_or(0), options_.decimals.value_or(0));
            return own.count == 0 && most > 6 ? Printed{7, true} : own;
        }
        if (!digits.are_significant) digits.count = *options_.decimals;
        return digits;
    };
    Ledger radii;
    for (const Ledger::Entry& entry : used.entries()) {
        const Tensor& tensor = entry.tensor;
        const Printed digits = tensor.is_floating() ? digits_of(entry) : Printed();
        if (digits.count == 0) continue;
        radii.record(entry.name, tensor_like(tensor, [&](std::size_t i) {
                         constexpr double fill = -1e4;  // hides a key
                         const double x = tensor.at(i);
                         return std::isfinite(x) && x > fill ? digits.cut(x) : 0;
                     }));
    }
    return radii;
}

/// Returns the tolerance for printed numbers of a mistake, which have no radius of their own.
Tolerance Judge::printed_tolerance(const UserTensor& actual, const Allowed* usual, double size,
                                   double relative) const {
    double most = 0;
    if (usual != nullptr) {
        each_number(usual->ball.radius, [&](std::size_t, double radius) {
            if (std::isfinite(radius)) most = std::max(most, radius);
        });
    }
    const Printed digits = own_digits(actual.tensor);
    return {most + relative * size + digits.cut(0),
            relative + (digits.are_significant ? digits.cut(1) : 0)};
}

/// Printed numbers, and the numbers that follow from printed ones.
Judged Judge::as_printed(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                         const Tensor& expected, bool from_user) const {
    const Rounding kind = rounding(actual, expected);
    const Allowed* const usual = allowed(step, kind, from_user);
    if (!is_middle(expected, usual, kind)) {
        return judged(tensor, expected, tolerance(step, actual, expected, from_user));
    }
    const Printed digits = own_digits(actual.tensor);
    const auto is_within = [&](const Ball& ball) {
        Array<double> radius = ball.radius.as<double>();
        const double* const middle = ball.middle.as<double>().data();
        for (std::size_t i = 0; i < radius.size(); ++i) {
            const double size = std::isfinite(middle[i]) ? std::abs(middle[i]) : 0;
            radius.data()[i] += digits.cut(size) + kind.unit * size;
        }
        return within(tensor, {ball.middle, {expected.axes(), std::move(radius)}}).beyond == 0;
    };
    // Steps computed from numbers with lost digits prove little compared with printed steps in
    // between.
    const Allowed* const nearer = from_user ? nullptr : allowed(step, kind, true);
    const bool is_right = is_within(usual->ball) && (nearer == nullptr || is_within(nearer->ball));
    return {is_right ? Verdict::right : Verdict::wrong, judged(tensor, expected, {}).difference};
}

}  // namespace attn
