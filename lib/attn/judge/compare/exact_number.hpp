#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attn {

/// The reason why two formulas cannot be compared exactly: `the sign of a number times infinity`.
class Undecided : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A number of an exact walk: the value of a formula at a random point, modulo a prime. Two
/// formulas that agree there are the same function, except for a chance of about 2^-50.
///
/// `value` is taken modulo a prime p, `exponent` modulo a prime q that divides p - 1. exp() raises
/// an element of order q to the exponent, so that exp(a + b) = exp(a) exp(b) holds exactly.
/// cos and sin are sums of such powers, and a logarithm stores its argument. Roots of 2, 3, 5
/// and 7 are roots modulo both primes. pi is an element of its own, but a rotation by n / 420 of it
/// is a root of unity modulo p. Any other function is opaque: a hash of its arguments, of which
/// nothing else is known.
///
/// Source  Schwartz 1980, Fast probabilistic algorithms for verification of polynomial identities.
struct ExactNumber {
    enum class State : char { finite, infinite, not_a_number };

    std::uint64_t value = 0, exponent = 0;
    State state = State::finite;
    /// 1 or -1 if the sign is known, else 0. Infinite numbers always have one.
    signed char sign = 0;
    /// The exponent is a hash: exp() of this number is opaque.
    bool has_power = false;
    /// exp() of a number that contains logarithms, if it is known; otherwise 0.
    std::uint64_t power = 0;
    /// The first opaque function in the formula, or nullptr.
    const char* opaque = nullptr;
    /// Its float64 value if no input or parameter changes it, otherwise nan: the order of constants
    /// is known.
    double constant = std::numeric_limits<double>::quiet_NaN();
    /// How many times it contains pi, modulo q, and true if that is unknown: pi times an input.
    std::uint64_t turns = 0;
    bool mixes_pi = false;

    bool is_zero() const { return state == State::finite && value == 0; }
    bool is_finite() const { return state == State::finite; }
    bool operator==(const ExactNumber& other) const {
        return state == other.state &&
               (is_finite() ? value == other.value
                            : state == State::not_a_number || sign == other.sign);
    }
};

/// Returns the rational number of the shortest decimal text of `number`: 0.1 is 1 / 10.
ExactNumber exact_constant(double number);
ExactNumber exact_pi();
/// Returns a random element, the same for the same name and place.
ExactNumber exact_variable(std::string_view name, std::size_t place);

ExactNumber operator+(const ExactNumber& a, const ExactNumber& b);
ExactNumber operator-(const ExactNumber& a);
/// Errors  Undecided for infinity times a number of unknown sign.
ExactNumber operator*(const ExactNumber& a, const ExactNumber& b);
/// Errors  Undecided as `*`, and for a number other than 0 divided by 0.
ExactNumber operator/(const ExactNumber& a, const ExactNumber& b);
ExactNumber exact_power(const ExactNumber& base, std::int64_t times);
/// Returns `base ^ exponent`: a product for an integer, roots for halves, and for any other
/// exponent exp(exponent * log(base)) with an opaque logarithm.
ExactNumber exact_power(const ExactNumber& base, const ExactNumber& exponent);
/// Returns -1, 0 or 1 if x is known to be less than, equal to or greater than y.
std::optional<int> exact_order(const ExactNumber& x, const ExactNumber& y);
/// Returns the largest integer that is not above a constant; nullopt if it is unknown.
std::optional<ExactNumber> exact_floor(const ExactNumber& x);

/// Computes exp, log, cos, sin, tanh, sigmoid, silu, softplus and logsigmoid by their algebra, abs,
/// relu, elu and sign of a number with a known sign, floor of a constant, and square roots of
/// fractions with prime factors 2, 3, 5 and 7. Otherwise the function is opaque. `x` must be finite
/// except for exp().
ExactNumber exact_call(const char* function, const ExactNumber& x);
/// Returns a number of which only the function and its arguments are known.
/// `function` must outlive the number.
ExactNumber exact_opaque(const char* function, std::span<const ExactNumber> arguments);

}  // namespace attn
