#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace attn::rule_arithmetic {

inline std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
    return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

template <class T>
T larger(T a, T b) {
    return a > b || std::isnan(a) ? a : b;
}
template <class T>
T smaller(T a, T b) {
    return a < b || std::isnan(a) ? a : b;
}

/// The nearest number that a 16-bit float can hold.
template <class T>
T in_float16(T number) {
    if (number == 0 || !std::isfinite(number)) return number;
    const T step = std::ldexp(T{1}, std::max(std::ilogb(number), -14) - 10);
    const T rounded = std::nearbyint(number / step) * step;
    return std::abs(rounded) > 65504 ? std::copysign(std::numeric_limits<T>::infinity(), number)
                                     : rounded;
}

template <class T>
T (*function_called(const std::string& name))
(T) {
    if (name == "exp") return [](T x) { return std::exp(x); };
    if (name == "log") return [](T x) { return std::log(x); };
    if (name == "sqrt") return [](T x) { return std::sqrt(x); };
    if (name == "tanh") return [](T x) { return std::tanh(x); };
    if (name == "cos") return [](T x) { return std::cos(x); };
    if (name == "sin") return [](T x) { return std::sin(x); };
    if (name == "abs") return [](T x) { return std::abs(x); };
    if (name == "sigmoid") return [](T x) { return 1 / (1 + std::exp(-x)); };
    if (name == "relu") return [](T x) { return x < 0 ? T{0} : x; };
    if (name == "half") return in_float16<T>;
    return [](T x) { return std::floor(x); };
}

template <class T>
T called(const std::string& function, T x) {
    return function_called<T>(function)(x);
}

template <class T>
T operated(const std::string& word, T a, T b) {
    switch (word.front()) {
        case '+':
            return a + b;
        case '-':
            return a - b;
        case '*':
            return a * b;
        case '/':
            return a / b;
        case '%':
            return a - std::floor(a / b) * b;
        default:
            return b == 2 ? a * a : std::pow(a, b);
    }
}

template <class T>
bool compared(const std::string& word, T a, T b) {
    const bool with_equal = word.size() > 1;
    switch (word.front()) {
        case '<':
            return with_equal ? a <= b : a < b;
        case '>':
            return with_equal ? a >= b : a > b;
        default:
            return (a == b) == (word.front() == '=');
    }
}

}  // namespace attn::rule_arithmetic
