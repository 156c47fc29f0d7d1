#include "attn/judge/compare/exact_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <utility>

#include "attn/judge/compare/exact_field.hpp"

namespace attn {
namespace {

using namespace exact;
using State = ExactNumber::State;

/// One step of splitmix64.  Source  Steele, Lea and Flood 2014.
Word mixed(Word state, Word with) {
    Word z = (state ^ with) + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

Word hash_of(std::string_view text) {
    Word hash = text.size();
    for (const char letter : text) hash = mixed(hash, static_cast<unsigned char>(letter));
    return hash;
}

ExactNumber of_hash(Word hash) {
    return {mixed(hash, 1) % value_field.prime, mixed(hash, 2) % exponent_field.prime};
}

Word hash_of(const ExactNumber& x) {
    return mixed(x.value, static_cast<Word>(x.state) * 4 +
                              (x.is_finite() ? 0 : static_cast<Word>(x.sign + 1)));
}

ExactNumber infinite(int sign) { return {0, 0, State::infinite, static_cast<signed char>(sign)}; }
const ExactNumber not_a_number{0, 0, State::not_a_number};

ExactNumber small(Word number) {
    ExactNumber outcome{number, number, State::finite, 1};
    outcome.constant = static_cast<double>(number);
    return outcome;
}
ExactNumber zero() {
    ExactNumber outcome = small(0);
    outcome.sign = 0;
    return outcome;
}
const ExactNumber exact_zero = zero(), exact_one = small(1), exact_two = small(2);

/// Completes the result of an operation: copies the flags of the operands, and reads the sign of a
/// constant that rounding does not explain.
ExactNumber with_remarks(ExactNumber result, const ExactNumber& a, const ExactNumber& b) {
    if (result.is_zero()) return exact_zero;
    result.has_power = a.has_power || b.has_power;
    result.opaque = a.opaque != nullptr ? a.opaque : b.opaque;
    result.mixes_pi = result.mixes_pi || a.mixes_pi || b.mixes_pi;
    const double size = std::max(std::abs(a.constant), std::abs(b.constant));
    if (std::abs(result.constant) > 1e-9 * size) result.sign = result.constant < 0 ? -1 : 1;
    return result;
}

/// True if a constant is not made of pi.
bool is_plain(const ExactNumber& x) {
    return !std::isnan(x.constant) && x.turns == 0 && !x.mixes_pi;
}

/// Returns the integer that a constant is, if it is small.
std::optional<std::int64_t> integer(const ExactNumber& x) {
    const double near = std::round(x.constant);
    if (!(std::abs(near) < 1e6) || x != exact_constant(near)) return std::nullopt;
    return static_cast<std::int64_t>(near);
}

Word power_of_integer(Word base, std::int64_t times) {
    const Word size = value_field.power(base, static_cast<Word>(std::abs(times)));
    return times < 0 ? value_field.inverse(size) : size;
}

Word value_of_exp(const ExactNumber& x) {
    return x.power != 0 ? x.power : value_field.power(base_of_exp, x.exponent);
}

/// A number with this value, as exp() makes it: all functions of it but exp are exact.
ExactNumber exponential(Word value, signed char sign = 1) {
    return {value, mixed(value, 3) % exponent_field.prime, State::finite, sign, true};
}

ExactNumber exp_of(const ExactNumber& x) {
    if (x.state == State::not_a_number) return x;
    if (!x.is_finite()) return x.sign > 0 ? x : exact_zero;
    if (x.exponent == 0 && !x.has_power) return exact_one;
    ExactNumber result = exponential(value_of_exp(x));
    result.opaque = x.opaque == nullptr && x.has_power ? "exp of an exponential" : x.opaque;
    return result;
}

/// Returns an opaque logarithm that exp() inverts if the argument is positive.
ExactNumber log_of(const ExactNumber& x) {
    if (x == exact_one) return exact_zero;
    ExactNumber result = exact_opaque("log", {&x, 1});
    if (x.sign > 0) result.power = x.value;
    return result;
}

/// exp(i x) for cos and sin: i times an exponent is an element of its own, except for the part of x
/// that is a fraction of pi.
ExactNumber rotation(const ExactNumber& x) {
    static const ExactNumber pi = exact_pi();
    const Word turned = exponent_field.product(x.turns, half_turns);
    const Word back = exponent_field.negative(turned);
    const bool is_known = std::min(turned, back) < (Word{1} << 32);
    ExactNumber rest = x;
    rest.power = 0;
    if (is_known) {
        const Word of_pi = exponent_field.product(x.turns, pi.exponent);
        rest.exponent = exponent_field.sum(x.exponent, exponent_field.negative(of_pi));
    }
    rest.exponent = exponent_field.product(rest.exponent, 0x1234567890abcU);
    ExactNumber result = exp_of(rest);
    result.sign = 0;
    result.constant = std::nan("");
    if (is_known && turned != 0) {
        const Word part = value_field.power(root_of_unity, std::min(turned, back));
        result = result * exponential(turned < back ? part : value_field.inverse(part), 0);
    }
    if (!is_known || x.mixes_pi) result.opaque = "pi";
    return result;
}

/// Returns the positive numbers whose quotient a constant is, if they are below 2^31.
std::optional<std::pair<Word, Word>> fraction_of(const ExactNumber& x) {
    constexpr double most = Word{1} << 31;
    double above = 1, before_above = 0, below = 0, before_below = 1;
    for (double rest = x.constant; rest > 0;) {  // its continued fraction
        const double whole = std::floor(rest);
        before_above = std::exchange(above, whole * above + before_above);
        before_below = std::exchange(below, whole * below + before_below);
        if (!(above < most && below < most)) break;
        const std::pair found(static_cast<Word>(above), static_cast<Word>(below));
        if (value_field.product(x.value, found.second) == found.first) return found;
        rest = 1 / (rest - whole);
    }
    return std::nullopt;
}

ExactNumber root_of_whole(Word left) {
    ExactNumber result = exact_one;
    for (const Root& root : roots) {
        ExactNumber factor{root.value, root.exponent, State::finite, 1};
        factor.constant = std::sqrt(root.of);
        for (; left % root.of == 0; left /= root.of) result = result * factor;
    }
    const double rest = std::round(std::sqrt(left));
    const ExactNumber of_rest = small(left);
    const bool is_square = rest * rest == static_cast<double>(left);
    return result * (is_square ? exact_constant(rest) : exact_opaque("sqrt", {&of_rest, 1}));
}

ExactNumber root_of(const ExactNumber& x) {
    if (x.is_zero()) return x;
    const auto fraction = fraction_of(x);
    if (!fraction) return exact_opaque("sqrt", {&x, 1});
    return root_of_whole(fraction->first) / root_of_whole(fraction->second);
}

ExactNumber cos_or_sin(bool is_cos, const ExactNumber& x) {
    const ExactNumber rotated_forward = rotation(x), back = exact_one / rotated_forward;
    ExactNumber result = is_cos
                             ? (rotated_forward + back) / exact_two
                             : (rotated_forward + -back) / (exact_two * ExactNumber{imaginary, 1});
    if (x.turns == 0) return result;
    for (const Word square : {0, 1, 2, 3, 4}) {  // 0, 1 / 2, sqrt(2) / 2, sqrt(3) / 2, 1
        const ExactNumber known = square == 0 ? exact_zero : root_of_whole(square) / exact_two;
        if (result == known) return known;
        if (result == -known) return -known;
    }
    return result;
}

}  // namespace

ExactNumber exact_constant(double number) {
    if (std::isnan(number)) return not_a_number;
    const int sign = std::signbit(number) ? -1 : 1;
    if (std::isinf(number)) return infinite(sign);
    if (number == 0) return exact_zero;
    std::array<char, 32> text{};
    char* const end = std::to_chars(text.data(), text.data() + text.size(), std::abs(number),
                                    std::chars_format::scientific)
                          .ptr;
    Word digits = 0;
    int decimals = 0;
    bool is_after_point = false;
    const char* at = text.data();
    for (; *at != 'e'; ++at) {
        if (*at == '.') {
            is_after_point = true;
        } else {
            digits = 10 * digits + static_cast<Word>(*at - '0');  // at most 17 digits
            decimals += is_after_point ? 1 : 0;
        }
    }
    int tens = 0;
    const char* const exponent = at[1] == '+' ? at + 2 : at + 1;
    std::from_chars(exponent, end, tens);
    tens -= decimals;
    const auto in = [&](const Field& field) {
        const Word power = field.power(10, static_cast<Word>(std::abs(tens)));
        const Word size =
            field.product(digits % field.prime, tens < 0 ? field.inverse(power) : power);
        return sign < 0 ? field.negative(size) : size;
    };
    ExactNumber result{in(value_field), in(exponent_field), State::finite,
                       static_cast<signed char>(sign)};
    result.constant = number;
    return result;
}

ExactNumber exact_pi() {
    ExactNumber pi = exact_variable("the number pi", 0);
    pi.sign = 1;
    pi.constant = std::numbers::pi;
    pi.turns = 1;
    return pi;
}

ExactNumber exact_variable(std::string_view name, std::size_t place) {
    return of_hash(mixed(hash_of(name), place));
}

ExactNumber operator+(const ExactNumber& a, const ExactNumber& b) {
    if (a.is_finite() && b.is_finite()) {
        ExactNumber sum{value_field.sum(a.value, b.value),
                        exponent_field.sum(a.exponent, b.exponent)};
        if (a.sign == b.sign || b.is_zero()) sum.sign = a.sign;
        if (a.is_zero()) sum.sign = b.sign;
        sum.constant = a.constant + b.constant;
        sum.turns = exponent_field.sum(a.turns, b.turns);
        if (a.power != 0 || b.power != 0) {
            sum.power = value_field.product(value_of_exp(a), value_of_exp(b));
        }
        return with_remarks(sum, a, b);
    }
    if (a.state == State::not_a_number || b.state == State::not_a_number) return not_a_number;
    if (!a.is_finite() && !b.is_finite() && a.sign != b.sign) return not_a_number;
    return a.is_finite() ? b : a;
}

ExactNumber operator-(const ExactNumber& a) {
    ExactNumber result = a;
    result.value = value_field.negative(a.value);
    result.exponent = exponent_field.negative(a.exponent);
    result.sign = static_cast<signed char>(-a.sign);
    result.constant = -a.constant;
    result.turns = exponent_field.negative(a.turns);
    if (a.power != 0) result.power = value_field.inverse(a.power);
    return result;
}

ExactNumber operator*(const ExactNumber& a, const ExactNumber& b) {
    const auto sign = static_cast<signed char>(a.sign * b.sign);
    if (a.is_finite() && b.is_finite()) {
        ExactNumber product{value_field.product(a.value, b.value),
                            exponent_field.product(a.exponent, b.exponent), State::finite, sign};
        product.constant = a.constant * b.constant;
        for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
            if (other->power != 0) {
                if (const auto times = integer(*one)) {
                    product.power = power_of_integer(other->power, *times);
                }
            }
            if (other->turns == 0) continue;
            product.turns = exponent_field.product(one->exponent, other->turns);
            product.mixes_pi = !is_plain(*one);
        }
        return with_remarks(product, a, b);
    }
    if (a.state == State::not_a_number || b.state == State::not_a_number) return not_a_number;
    if (a.is_zero() || b.is_zero()) return not_a_number;
    if (sign == 0) throw Undecided("the sign of a number times infinity");
    return infinite(sign);
}

ExactNumber operator/(const ExactNumber& a, const ExactNumber& b) {
    if (b.state == State::not_a_number) return b;
    if (b.is_zero()) {
        if (a.is_zero() || a.state == State::not_a_number) return not_a_number;
        throw Undecided("a number divided by 0");
    }
    if (!b.is_finite()) return a.is_finite() ? exact_zero : not_a_number;
    ExactNumber inverse = b;
    inverse.power = 0;
    inverse.value = value_field.inverse(b.value);
    inverse.exponent = exponent_field.inverse(b.exponent);
    inverse.constant = 1 / b.constant;
    inverse.turns = 0;
    inverse.mixes_pi = b.mixes_pi || b.turns != 0;
    return a * inverse;
}

ExactNumber exact_power(const ExactNumber& base, std::int64_t times) {
    if (times < 0) return exact_one / exact_power(base, -times);
    ExactNumber result = exact_one, square = base;
    for (auto left = static_cast<Word>(times); left != 0; left >>= 1) {
        if ((left & 1) != 0) result = result * square;
        if (left > 1) square = square * square;
    }
    return result;
}

ExactNumber exact_power(const ExactNumber& base, const ExactNumber& exponent) {
    if (const auto times = integer(exponent)) return exact_power(base, *times);
    if (!base.is_finite() || !exponent.is_finite()) {
        throw Undecided("a power of an infinite number");
    }
    if (const auto halves = integer(exponent * exact_two)) {
        return exact_power(exact_call("sqrt", base), *halves);
    }
    ExactNumber result = exp_of(exponent * log_of(base));
    result.opaque = "^";
    return result;
}

std::optional<int> exact_order(const ExactNumber& x, const ExactNumber& y) {
    if (x.state == State::not_a_number || y.state == State::not_a_number) return std::nullopt;
    if (!x.is_finite() || !y.is_finite()) {
        const int left = x.is_finite() ? 0 : x.sign, right = y.is_finite() ? 0 : y.sign;
        return (left > right) - (left < right);
    }
    const ExactNumber more = x + -y;
    if (more.is_zero() || more.sign != 0) return more.sign;
    return std::nullopt;
}

std::optional<ExactNumber> exact_floor(const ExactNumber& x) {
    const double near = std::round(x.constant);
    if (!x.is_finite() || !(std::abs(near) < 1e15)) return std::nullopt;
    if (const ExactNumber whole = exact_constant(near); x == whole) return whole;
    const bool is_near = std::abs(x.constant - near) <= 1e-9 * std::max(1.0, std::abs(near));
    return is_near ? std::nullopt : std::optional(exact_constant(std::floor(x.constant)));
}

ExactNumber exact_opaque(const char* function, std::span<const ExactNumber> arguments) {
    Word hash = hash_of(std::string_view(function));
    for (const ExactNumber& each : arguments) hash = mixed(hash, hash_of(each));
    ExactNumber result = of_hash(hash);
    result.has_power = true;
    result.opaque = function;
    return result;
}

namespace {

/// Returns a function by its algebra; nullopt if it has none.
std::optional<ExactNumber> by_algebra(std::string_view name, const ExactNumber& x) {
    if (name == "exp") return exp_of(x);
    if (name == "stop") return x;
    if (name == "sqrt") return root_of(x);
    if (name == "cos" || name == "sin") return cos_or_sin(name == "cos", x);
    if (name == "tanh") {
        const ExactNumber power = exp_of(exact_two * x);
        return (power + -exact_one) / (power + exact_one);
    }
    if (name == "sigmoid") return exact_one / (exact_one + exp_of(-x));
    if (name == "log") return log_of(x);
    if (name == "softplus") return log_of(exact_one + exp_of(x));
    if (name == "logsigmoid") return -log_of(exact_one + exp_of(-x));
    if (name == "silu") return x / (exact_one + exp_of(-x));
    if (name == "floor") return exact_floor(x);
    if (x.sign == 0 && !x.is_zero()) return std::nullopt;
    if (name == "abs") return x.sign < 0 ? -x : x;
    if (name == "relu") return x.sign < 0 ? exact_zero : x;
    if (name == "elu") return x.sign < 0 ? exp_of(x) + -exact_one : x;
    if (name == "sign") return exact_constant(x.sign);
    return std::nullopt;
}

}  // namespace

ExactNumber exact_call(const char* function, const ExactNumber& x) {
    const std::optional<ExactNumber> known = by_algebra(function, x);
    return known ? *known : exact_opaque(function, {&x, 1});
}

}  // namespace attn
