#pragma once
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

/// Printed numbers, compared one by one as a reader would.
namespace tokens {

/// The numbers, booleans and infinities of a printed text, in order; words are skipped.
inline std::vector<std::string> of(const std::string& text) {
    std::vector<std::string> found;
    std::size_t i = 0;
    while (i < text.size()) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (std::isalpha(c) != 0 || c == '_') {
            std::size_t end = i;
            while (end < text.size() &&
                   (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
                ++end;
            }
            const std::string word = text.substr(i, end - i);
            if (word == "True" || word == "False" || word == "inf" || word == "nan") {
                const bool minus = i > 0 && text[i - 1] == '-';
                found.push_back(minus ? "-" + word : word);
            }
            i = end;
        } else if (std::isdigit(c) != 0 ||
                   (c == '-' && i + 1 < text.size() &&
                    std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0)) {
            char* end = nullptr;
            std::strtod(text.c_str() + i, &end);
            const auto length = static_cast<std::size_t>(end - (text.c_str() + i));
            found.push_back(text.substr(i, length));
            i += length;
        } else {
            ++i;
        }
    }
    return found;
}

/// One unit in the last printed digit of a number.
inline double unit(const std::string& token) {
    const std::size_t exponent = token.find('e');
    const std::string mantissa = token.substr(0, exponent);
    const std::size_t point = mantissa.find('.');
    const int decimals =
        point == std::string::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
    const int power = exponent == std::string::npos ? 0 : std::atoi(token.c_str() + exponent + 1);
    return std::pow(10.0, power - decimals);
}

enum class Match { equal, one_unit, other };

/// How two printed numbers agree.
inline Match compare(const std::string& ours, const std::string& actual) {
    if (ours == actual) return Match::equal;
    const double difference =
        std::abs(std::strtod(ours.c_str(), nullptr) - std::strtod(actual.c_str(), nullptr));
    const double step = std::max(unit(ours), unit(actual));
    return difference < 1.5 * step ? Match::one_unit : Match::other;
}

}  // namespace tokens
