#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace attn {

/// Reason why two formulas cannot be compared exactly: `the sign of a number times infinity`.
class Undecided : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A number of an exact walk: the value of a formula at a random point, modulo a prime. Two
/// formulas that agree there are the same function, except for a chance of about 2^-50.
///
/// `value` is taken modulo a prime p, `exponent` modulo a prime q that divides p - 1. exp() raises
/// an element of order q to the exponent, so that exp(a + b) = exp(a) exp(b) holds exactly.
/// cos and sin are sums of such powers, and a logarithm remembers its argument. Roots of 2, 3, 5
/// and 7 are roots modulo both primes. Any other function is opaque: a hash of its arguments, about
/// which only that is known.
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
/// Returns a random element, the same for the same name and place.
ExactNumber exact_variable(std::string_view name, std::size_t place);

ExactNumber operator+(const ExactNumber& a, const ExactNumber& b);
ExactNumber operator-(const ExactNumber& a);
/// Errors  Undecided for infinity times a number of unknown sign.
ExactNumber operator*(const ExactNumber& a, const ExactNumber& b);
/// Errors  Undecided as `*`, and for a number other than 0 divided by 0.
ExactNumber operator/(const ExactNumber& a, const ExactNumber& b);
ExactNumber exact_power(const ExactNumber& base, std::int64_t times);
/// `base ^ exponent` for any exponent, as exp(exponent * log(base)) with an opaque logarithm.
ExactNumber exact_power(const ExactNumber& base, const ExactNumber& exponent);
/// Returns the square root of a constant with prime factors 2, 3, 5 and 7; opaque for others.
ExactNumber exact_root(const ExactNumber& of, double constant);

/// Computes exp, log, cos, sin, tanh, sigmoid, silu, softplus and logsigmoid by their algebra; any
/// other function is opaque. `x` must be finite except for exp().
ExactNumber exact_call(const char* function, const ExactNumber& x);
/// Returns a number of which only the function and its arguments are known.
/// `function` must outlive the number.
ExactNumber exact_opaque(const char* function, std::span<const ExactNumber> arguments);

}  // namespace attn
