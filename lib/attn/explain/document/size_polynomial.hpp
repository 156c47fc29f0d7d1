#pragma once
#include <map>
#include <optional>
#include <string>

namespace attn {

/// The sizes of a walk by their letters: `T` 6, `D` 4.
using Sizes = std::map<std::string, double>;

/// A polynomial in the sizes of a walk, which may also divide: `2 H T^2 D + T / chunk`.
class SizePolynomial {
public:
    using Term = std::map<std::string, int>;  ///< the exponent of each letter; none is 0

    SizePolynomial(double constant = 0) : SizePolynomial(Term(), constant) {}
    SizePolynomial(const Term& term, double times);

    SizePolynomial operator+(const SizePolynomial& other) const;
    SizePolynomial operator*(const SizePolynomial& other) const;

    const std::map<Term, double>& terms() const { return terms_; }
    /// True if the letter occurs.
    bool has(const std::string& letter) const;
    double at(const Sizes& sizes) const;
    /// Returns `2 H T^2 D + 3`, with the terms of the highest degree first.
    std::string text() const;

private:
    std::map<Term, double> terms_;
};

/// A letter as a quotient of polynomials: `T = 3 D^2 / (2 D + 1)`.
struct SizeQuotient {
    SizePolynomial over, under;
    std::string text() const;
};
/// Returns the value of a letter at which two polynomials are equal; nullopt if one of them is
/// larger for all sizes, or if the letter has higher powers.
std::optional<SizeQuotient> equal_at(const SizePolynomial& left, const SizePolynomial& right,
                                     const std::string& letter);

}  // namespace attn
