#pragma once
#include <array>
#include <cstdint>

// The two fields of exact numbers, and their elements that act as i, roots and angles.

namespace attn::exact {

using Word = std::uint64_t;
__extension__ using Wide = unsigned __int128;

/// Arithmetic modulo a prime below 2^63.  Source  Montgomery 1985, whose products need no division.
struct Field {
    Word prime;
    Word inverse_of_prime;  ///< modulo 2^64
    Word square;            ///< 2^128 modulo the prime

    constexpr explicit Field(Word p) : prime(p), inverse_of_prime(p), square(0) {
        for (int bits = 3; bits < 64; bits *= 2) inverse_of_prime *= 2 - p * inverse_of_prime;
        const Word of_64 = (0 - p) % p;
        square = static_cast<Word>(static_cast<Wide>(of_64) * of_64 % p);
    }

    /// Returns x / 2^64.
    Word reduced(Wide x) const {
        const Word times = static_cast<Word>(x) * inverse_of_prime;
        const auto high = static_cast<Word>(x >> 64);
        const auto less = static_cast<Word>(static_cast<Wide>(times) * prime >> 64);
        return high < less ? high + prime - less : high - less;
    }
    Word sum(Word a, Word b) const { return (a + b) % prime; }
    Word negative(Word a) const { return a == 0 ? 0 : prime - a; }
    Word product(Word a, Word b) const {
        return reduced(static_cast<Wide>(reduced(static_cast<Wide>(a) * b)) * square);
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
inline constexpr Field value_field{7566047373975208441U}, exponent_field{9007199254732391U};
inline constexpr Word base_of_exp = 795945133413664335U;  // of order q modulo p: 2^840
inline constexpr Word imaginary = 2337478289344687836U;   // its square is -1 modulo p
// exp(i pi / 420): the primitive root of unity of order 840 of which `imaginary` and the square
// roots below are powers and sums of powers, as in complex numbers.
inline constexpr Word root_of_unity = 324132853595139036U;
inline constexpr Word half_turns = 420;
struct Root {
    unsigned of;
    Word value, exponent;
};
inline constexpr std::array<Root, 4> roots{{{2, 3627673415527330839U, 4120738493754218U},
                                            {3, 4917556347131272536U, 7867272297540398U},
                                            {5, 5296888571691374459U, 7238746115085549U},
                                            {7, 849090748501162910U, 833775930020894U}}};

}  // namespace attn::exact
