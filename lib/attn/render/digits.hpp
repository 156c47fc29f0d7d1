#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace attn {

/// Text as machine words: the first letter in the lowest byte, as little-endian memory has it.
static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint64_t eight_blanks = 0x2020202020202020;
inline constexpr std::uint64_t eight_zeros = 0x3030303030303030;

/// The digits of every number below 10,000, filled up with zeros: one letter a byte.
inline constexpr std::array<std::uint32_t, 10'000> four_digits = [] {
    std::array<std::uint32_t, 10'000> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        table[i] = (i / 1000 | i / 100 % 10 << 8 | i / 10 % 10 << 16 | i % 10 << 24) |
                   static_cast<std::uint32_t>(eight_zeros);
    }
    return table;
}();

/// The same with blanks in place of the zeros at the end: decimals that are not needed.
inline constexpr std::array<std::uint32_t, 10'000> four_trimmed_digits = [] {
    std::array<std::uint32_t, 10'000> table = four_digits;
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t rest = i;
        for (int at = 24; at >= 0 && rest % 10 == 0; at -= 8, rest /= 10) {
            table[i] ^= std::uint32_t{'0' ^ ' '} << at;
        }
    }
    return table;
}();

/// The digits of a number below 100,000,000, filled up with zeros.
inline std::uint64_t eight_digits(std::uint64_t number) {
    const auto small = static_cast<std::uint32_t>(number);
    return four_digits[small / 10'000] | std::uint64_t{four_digits[small % 10'000]} << 32;
}

/// Writes all eight letters of a word.
inline void store(char* out, std::uint64_t letters) { std::memcpy(out, &letters, sizeof letters); }

/// Writes `count` blanks, and up to seven more that the next letters overwrite.
inline char* write_blanks(char* out, std::size_t count) {
    store(out, eight_blanks);
    if (count > 8) std::memset(out + 8, ' ', count - 8);
    return out + count;
}

/// A scaled magnitude below 2^51, rounded half to even in the processor's way: where the spacing of
/// doubles is 1, the sum has no place for a fraction.
class RoundedHalfEven {
public:
    explicit RoundedHalfEven(double scaled) : sum_(scaled + shift) {}
    std::uint64_t integer() const {
        return std::bit_cast<std::uint64_t>(sum_) - std::bit_cast<std::uint64_t>(shift);
    }
    double value() const { return sum_ - shift; }

private:
    static constexpr double shift = 4503599627370496.0;  // 2^52
    double sum_;
};

}  // namespace attn
