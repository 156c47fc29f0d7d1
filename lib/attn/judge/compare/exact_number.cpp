#include "attn/judge/compare/exact_number.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace attn {
namespace {

using Word = std::uint64_t;
using State = ExactNumber::State;

/// Arithmetic modulo a prime below 2^63.
struct Field {
    Word prime;

    Word sum(Word a, Word b) const { return (a + b) % prime; }
    Word negative(Word a) const { return a == 0 ? 0 : prime - a; }
    Word product(Word a, Word b) const {
        __extension__ using Wide = unsigned __int128;
        return static_cast<Word>(static_cast<Wide>(a) * b % prime);
    }
    Word power(Word base, Word exponent) const {
        Word result = 1;
        for (; exponent != 0; exponent >>= 1) {
            if ((exponent & 1) != 0) result = product(result, base);
            base = product(base, base);
        }
        return result;
    }
    Word inverse(Word a) const { return power(a, prime - 2); }
};

// q and p = 840 q + 1 are prime. 840 = 2^3 * 3 * 5 * 7 makes 2, 3, 5 and 7 squares modulo p; q is
// the largest such prime below 2^53 for which they are squares modulo q, too.
constexpr Field value_field{7566047373975208441U}, exponent_field{9007199254732391U};
constexpr Word base_of_exp = 795945133413664335U;  // of order q modulo p: 2^840
constexpr Word imaginary = 2337478289344687836U;   // its square is -1 modulo p
struct Root {
    unsigned of;
    Word value, exponent;
};
constexpr std::array<Root, 4> roots{{{2, 3627673415527330839U, 4120738493754218U},
                                     {3, 4917556347131272536U, 7867272297540398U},
                                     {5, 5296888571691374459U, 7238746115085549U},
                                     {7, 849090748501162910U, 833775930020894U}}};

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

/// Copies the flags of the operands to their result.
ExactNumber with_remarks(ExactNumber result, const ExactNumber& a, const ExactNumber& b) {
    result.has_power = a.has_power || b.has_power;
    result.opaque = a.opaque != nullptr ? a.opaque : b.opaque;
    return result;
}

const ExactNumber exact_one{1, 1, State::finite, 1}, exact_two{2, 2, State::finite, 1};

Word value_of_exp(const ExactNumber& x) {
    return x.power != 0 ? x.power : value_field.power(base_of_exp, x.exponent);
}

/// A positive number with this value, as exp() makes it: all functions of it but exp are exact.
ExactNumber exponential(Word value) {
    return {value, mixed(value, 3) % exponent_field.prime, State::finite, 1, true};
}

ExactNumber exp_of(const ExactNumber& x) {
    if (x.state == State::not_a_number) return x;
    if (!x.is_finite()) return x.sign > 0 ? x : ExactNumber();
    if (x.exponent == 0 && !x.has_power) return exact_one;
    ExactNumber result = exponential(value_of_exp(x));
    result.opaque = x.opaque == nullptr && x.has_power ? "exp of an exponential" : x.opaque;
    return result;
}

/// Returns an opaque logarithm that exp() inverts if the argument is positive.
ExactNumber log_of(const ExactNumber& x) {
    ExactNumber result = exact_opaque("log", {&x, 1});
    if (x.sign > 0) result.power = x.value;
    return result;
}

/// exp(i x) for cos and sin: i times an exponent is an element of its own.
ExactNumber rotation(const ExactNumber& x) {
    ExactNumber turned = x;
    turned.power = 0;
    turned.exponent = exponent_field.product(x.exponent, 0x1234567890abcU);
    ExactNumber result = exp_of(turned);
    result.sign = 0;
    return result;
}

}  // namespace

ExactNumber exact_constant(double number) {
    if (std::isnan(number)) return not_a_number;
    const int sign = std::signbit(number) ? -1 : 1;
    if (std::isinf(number)) return infinite(sign);
    if (number == 0) return {0, 0, State::finite, 0};
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
    return {in(value_field), in(exponent_field), State::finite, static_cast<signed char>(sign)};
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
    if (a.power != 0) result.power = value_field.inverse(a.power);
    return result;
}

ExactNumber operator*(const ExactNumber& a, const ExactNumber& b) {
    const auto sign = static_cast<signed char>(a.sign * b.sign);
    if (a.is_finite() && b.is_finite()) {
        return with_remarks({value_field.product(a.value, b.value),
                             exponent_field.product(a.exponent, b.exponent), State::finite, sign},
                            a, b);
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
    if (!b.is_finite()) return a.is_finite() ? ExactNumber() : not_a_number;
    ExactNumber inverse = b;
    inverse.power = 0;
    inverse.value = value_field.inverse(b.value);
    inverse.exponent = exponent_field.inverse(b.exponent);
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
    if (!base.is_finite() || !exponent.is_finite()) {
        throw Undecided("a power of an infinite number");
    }
    const Word log_of_base = mixed(hash_of(base), 5) % exponent_field.prime;
    ExactNumber result = exponential(
        value_field.power(base_of_exp, exponent_field.product(log_of_base, exponent.exponent)));
    result.opaque = "^";
    return result;
}

ExactNumber exact_root(const ExactNumber& of, double constant) {
    if (constant > 0 && constant < 1) return exact_one / exact_root(exact_one / of, 1 / constant);
    const bool is_whole = constant >= 1 && constant < 1e9 && std::floor(constant) == constant;
    if (!is_whole) return exact_opaque("sqrt", {&of, 1});
    auto left = static_cast<unsigned>(constant);
    ExactNumber result = exact_one;
    for (const Root& root : roots) {
        for (; left % root.of == 0; left /= root.of) {
            result = result * ExactNumber{root.value, root.exponent, State::finite, 1};
        }
    }
    if (left == 1) return result;
    const double rest = std::round(std::sqrt(left));
    const ExactNumber of_rest = exact_constant(left);
    return result *
           (rest * rest == left ? exact_constant(rest) : exact_opaque("sqrt", {&of_rest, 1}));
}

ExactNumber exact_opaque(const char* function, std::span<const ExactNumber> arguments) {
    Word hash = hash_of(std::string_view(function));
    for (const ExactNumber& each : arguments) hash = mixed(hash, hash_of(each));
    ExactNumber result = of_hash(hash);
    result.has_power = true;
    result.opaque = function;
    return result;
}

ExactNumber exact_call(const char* function, const ExactNumber& x) {
    const std::string_view name = function;
    if (name == "exp") return exp_of(x);
    if (name == "stop") return x;
    if (name == "cos" || name == "sin") {
        const ExactNumber forth = rotation(x), back = exact_one / forth;
        if (name == "cos") return (forth + back) / exact_two;
        return (forth + -back) / (exact_two * ExactNumber{imaginary, 1});
    }
    if (name == "tanh") {
        const ExactNumber power = exp_of(exact_two * x);
        return (power + -exact_one) / (power + exact_one);
    }
    if (name == "sigmoid") return exact_one / (exact_one + exp_of(-x));
    if (name == "log") return log_of(x);
    if (name == "softplus") return log_of(exact_one + exp_of(x));
    if (name == "logsigmoid") return -log_of(exact_one + exp_of(-x));
    if (name == "silu") return x / (exact_one + exp_of(-x));
    return exact_opaque(function, {&x, 1});
}

}  // namespace attn
