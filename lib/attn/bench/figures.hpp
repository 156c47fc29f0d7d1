#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The exponent e of the power law y = c x^e that is nearest to the points: the slope of the
/// straight line through (log x, log y) with the least squared distance in log y.
///
/// Shapes  points (x, y), all of them positive.
/// Range   nothing when fewer than two different x are given.
std::optional<double> fitted_exponent(const std::vector<std::pair<double, double>>& points);

/// The middle one of the numbers in order; the mean of the two in the middle of an even count.
/// There must be at least one.
double median(std::vector<double> numbers);

/// `1.23 ms`: three digits and the unit that suits them, from ns to s.
std::string time_text(double seconds);

/// `4.19 MB`: three digits, units of 1000.
std::string bytes_text(double bytes);

}  // namespace attn
