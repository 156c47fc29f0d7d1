#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "attn/show/render/numpy_text.hpp"
#include "attn/show/render/plain_text.hpp"
#include "attn/show/render/torch_text.hpp"

using namespace attn;

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

template <class T>
Tensor vector_of(const std::vector<T>& values) {
    Array<T> array = empty_array<T>({values.size()});
    std::copy(values.begin(), values.end(), array.data());
    return {{"key"}, std::move(array)};
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

/// The C library's text, which glibc rounds correctly.
std::string printed(const char* format, double value, int precision) {
    if (std::isnan(value)) return "nan";  // its sign is not specified
    std::array<char, 2000> buffer;
    const int length = std::snprintf(buffer.data(), buffer.size(), format, precision, value);
    return {buffer.data(), static_cast<std::size_t>(length)};
}

/// NumPy's fixed form: the shortest decimals that identify the value, if there are few enough,
/// otherwise rounded ones without trailing zeros.
template <class T>
std::string numpy_fixed(T value, int precision) {
    if (!std::isfinite(value)) return printed("%.*f", static_cast<double>(value), 0);
    std::array<char, 2000> buffer;
    const auto end = std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed);
    std::string text(buffer.begin(), end.ptr);
    const std::size_t point = text.find('.');
    if (point == text.npos) return printed("%.*f", static_cast<double>(value), 0) + ".";
    if (text.size() - point - 1 <= static_cast<std::size_t>(precision)) return text;
    text = printed("%.*f", static_cast<double>(value), precision);
    if (precision == 0) return text + ".";
    return text.substr(0, text.find_last_not_of('0') + 1);
}

void check_words(const std::string& text, const std::vector<std::string>& expected) {
    const std::vector<std::string> words = words_of(text);
    REQUIRE(words.size() == expected.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
        // a check for each of a million numbers would take most of the time
        if (words[i] != expected[i]) FAIL_CHECK(words[i] << " is not " << expected[i]);
    }
}

template <class T>
void check_plain(const std::vector<T>& values, int precision, SciMode sci_mode) {
    const PrintOptions options{.precision = precision, .sci_mode = sci_mode};
    const char* const format = sci_mode == SciMode::on ? "%.*e" : "%.*f";
    std::vector<std::string> expected;
    for (const T value : values) {
        expected.push_back(printed(format, static_cast<double>(value), precision));
    }
    CAPTURE(precision);
    const std::string text = plain_text(vector_of(values), options);
    check_words(text, expected);

    // All cells are as wide as the widest number.
    std::size_t width = 0;
    for (const std::string& word : expected) width = std::max(width, word.size());
    REQUIRE(text.size() == values.size() * (width + 1) - 1);
    for (std::size_t i = width; i < text.size(); i += width + 1) REQUIRE(text[i] == ' ');
    for (std::size_t i = width; i <= text.size(); i += width + 1) REQUIRE(text[i - 1] != ' ');
}

template <class T>
void check_numpy(const std::vector<T>& values, int precision) {
    PrintOptions options{.precision = precision, .threshold = no_threshold};
    options.sci_mode = SciMode::off;
    std::vector<std::string> expected;
    for (const T value : values) expected.push_back(numpy_fixed(value, precision));
    CAPTURE(precision);
    const std::string text = numpy_str(vector_of(values), options);
    check_words(text.substr(1, text.size() - 2), expected);
}

/// In exponent form all numbers have as many decimals as the longest one.
template <class T>
void check_numpy_exponents(const std::vector<T>& values) {
    for (int precision = 0; precision <= 7; ++precision) {
        PrintOptions options{.precision = precision, .threshold = no_threshold};
        options.sci_mode = SciMode::on;
        const std::string text = numpy_str(vector_of(values), options);
        const std::vector<std::string> words = words_of(text.substr(1, text.size() - 2));
        const std::size_t decimals = words[0].find('e') - words[0].find('.') - 1;
        std::vector<std::string> expected;
        for (const T value : values) {
            std::array<char, 100> buffer;
            const auto end =
                std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific);
            std::string word(buffer.begin(), end.ptr);
            const std::size_t point = word.find('.');
            if (decimals == 0 || point == word.npos || word.find('e') - point - 1 != decimals) {
                word = printed("%.*e", static_cast<double>(value), static_cast<int>(decimals));
            }
            if (decimals == 0) word.insert(word.find('e'), ".");
            expected.push_back(word);
        }
        CAPTURE(precision);
        check_words(text.substr(1, text.size() - 2), expected);
    }
}

/// Numbers of the sizes and kinds that take different code paths.
template <class T>
std::vector<T> random_numbers(std::mt19937_64& generator, double size) {
    std::normal_distribution<double> normal(0, size);
    std::vector<T> values;
    for (int i = 0; i < 500; ++i) {
        values.push_back(static_cast<T>(normal(generator)));
        const T half = static_cast<T>((std::floor(normal(generator) * 1e4) + 0.5) / 1e4);
        for (const T value :
             {half, std::nextafter(half, infinity<T>), std::nextafter(half, -infinity<T>)}) {
            values.push_back(value);
        }
        // an exact tie for some precision
        values.push_back(static_cast<T>(std::ldexp(std::floor(normal(generator) * 64), -6)));
    }
    return values;
}

template <class T>
std::vector<T> random_bits(std::mt19937_64& generator) {
    std::vector<T> values;
    for (int i = 0; i < 1000; ++i) {
        values.push_back(std::bit_cast<T>(static_cast<Bits<T>>(generator())));
    }
    return values;
}

/// Subnormal numbers and the smallest normal ones.
template <class T>
std::vector<T> small_bits(std::mt19937_64& generator) {
    std::vector<T> values;
    for (int i = 0; i < 1000; ++i) {
        const int dropped = static_cast<int>(generator() % (8 * sizeof(T) - 8)) + 6;
        values.push_back(std::bit_cast<T>(static_cast<Bits<T>>(generator()) >> dropped));
    }
    return values;
}

template <class T>
std::vector<T> special_numbers() {
    using Limits = std::numeric_limits<T>;
    const T least = Limits::denorm_min();
    std::vector<T> values{0, 1, least, 7 * least, Limits::min(), T(0.03125), T(0.5), T(9.99995)};
    values.insert(values.end(), {T(9.99994), T(99.99995), T(999.99995), T(1000), T(1e-5)});
    for (std::size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
    return values;
}

template <class T>
std::vector<T> with_others(std::vector<T> values, std::initializer_list<double> others) {
    for (const double other : others) values.insert(values.begin() + 1, static_cast<T>(other));
    return values;
}

template <class T>
void check_all(const std::vector<T>& values) {
    for (int precision = 0; precision <= 9; ++precision) {
        check_plain(values, precision, SciMode::off);
        check_plain(values, precision, SciMode::on);
    }
}

}  // namespace

TEST_SUITE("render: cells") {
    TEST_CASE("ties on the exact binary value go to even") {
        const Tensor ties({"key"}, Array<float>{0.03125F, 0.09375F, -0.15625F, 2.71875F});
        CHECK(plain_text(ties) == " 0.0312  0.0938 -0.1562  2.7188");
        CHECK(torch_text(ties) == "tensor([ 0.0312,  0.0938, -0.1562,  2.7188])");
        CHECK(numpy_str(ties, {.precision = 4}) == "[ 0.0312  0.0938 -0.1562  2.7188]");
        const Tensor five({"key"}, Array<double>{1.00005, 1.000050000000001, 100000.5, 1e5 + 1.5});
        CHECK(plain_text(five, {.precision = 5, .sci_mode = SciMode::on}) ==
              "1.00005e+00 1.00005e+00 1.00000e+05 1.00002e+05");
    }

    TEST_CASE("random numbers of every size are printf's") {
        std::mt19937_64 generator(1);
        for (const double size : {1e-6, 0.01, 1.0, 30.0, 1e3, 1e5, 1e9}) {
            CAPTURE(size);
            check_all(random_numbers<float>(generator, size));
            check_all(random_numbers<double>(generator, size));
        }
    }

    TEST_CASE("random bits are printf's, huge, tiny and not-a-number ones among them") {
        std::mt19937_64 generator(2);
        for (int i = 0; i < 10; ++i) {
            check_all(random_bits<float>(generator));
            check_all(random_bits<double>(generator));
        }
    }

    TEST_CASE("special values are printf's in every column") {
        check_all(special_numbers<float>());
        check_all(special_numbers<double>());
        check_all(with_others(special_numbers<float>(), {INFINITY, NAN}));
        check_all(with_others(special_numbers<float>(), {-INFINITY, -INFINITY, -0.0}));
        check_all(with_others(special_numbers<double>(), {-INFINITY, 1e300, 1e-300}));
        // without a finite non-zero value the form stays fixed
        for (int precision = 0; precision <= 9; ++precision) {
            check_plain(std::vector<float>{0, -infinity<float>, NAN}, precision, SciMode::off);
            check_plain(std::vector<float>{NAN, -0.0F}, precision, SciMode::off);
        }
    }

    TEST_CASE("the fixed form of NumPy shows the shortest decimals or rounded ones") {
        std::mt19937_64 generator(3);
        for (const double size : {1e-6, 0.01, 1.0, 30.0, 300.0, 1e3, 1e5, 1e6}) {
            CAPTURE(size);
            for (int precision = 0; precision <= 9; ++precision) {
                check_numpy(random_numbers<float>(generator, size), precision);
                check_numpy(random_numbers<double>(generator, size), precision);
            }
        }
        for (int precision = 0; precision <= 9; ++precision) {
            check_numpy(special_numbers<float>(), precision);
            check_numpy(with_others(special_numbers<double>(), {-INFINITY, NAN}), precision);
        }
    }

    TEST_CASE("the exponent form of NumPy shows the shortest digits or rounded ones") {
        std::mt19937_64 generator(4);
        for (int i = 0; i < 20; ++i) {
            check_numpy_exponents(small_bits<float>(generator));
            check_numpy_exponents(random_numbers<float>(generator, 1e-40));
            check_numpy_exponents(random_numbers<double>(generator, 1e-20));
        }
        check_numpy_exponents(special_numbers<float>());
    }

    TEST_CASE("PyTorch's width ignores zeros and infinities, which are then wider") {
        CHECK(torch_text(Tensor({"key"}, Array<float>{-0.0F, 0.5F, -infinity<float>})) ==
              "tensor([-0.0000, 0.5000,   -inf])");
        CHECK(torch_text(Tensor({"key"}, Array<float>{-0.0F, 0.5F, 1}), {.precision = 1}) ==
              "tensor([-0.0, 0.5, 1.0])");
    }

    TEST_CASE("a number between those sampled may still determine the form") {
        // Integers first, then one non-integer; a zero among others; the smallest of its sign.
        CHECK(torch_text(Tensor({"key"}, Array<float>{1, 3, 2.5F})) ==
              "tensor([1.0000, 3.0000, 2.5000])");
        CHECK(numpy_str(Tensor({"key"}, Array<double>{0.5, 1.5, -0.0})) == "[ 0.5  1.5 -0. ]");
        const float least = std::numeric_limits<float>::denorm_min();
        CHECK(torch_text(Tensor({"key"}, Array<float>{0.5F, least})) ==
              "tensor([5.0000e-01, 1.4013e-45])");
        CHECK(torch_text(Tensor({"key"}, Array<float>{0.5F, -least})) ==
              "tensor([ 5.0000e-01, -1.4013e-45])");
    }
}
