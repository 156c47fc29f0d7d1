#pragma once
#include <cmath>
#include <cstdint>
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

template <class T>
T called(const std::string& function, T x) {
    if (function == "exp") return std::exp(x);
    if (function == "log") return std::log(x);
    if (function == "sqrt") return std::sqrt(x);
    if (function == "tanh") return std::tanh(x);
    if (function == "cos") return std::cos(x);
    if (function == "sin") return std::sin(x);
    if (function == "abs") return std::abs(x);
    if (function == "sigmoid") return 1 / (1 + std::exp(-x));
    if (function == "relu") return x < 0 ? 0 : x;
    return std::floor(x);
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
    if (word == "<") return a < b;
    if (word == "<=") return a <= b;
    if (word == ">") return a > b;
    if (word == ">=") return a >= b;
    return (a == b) == (word == "==");
}

}  // namespace attn::rule_arithmetic
