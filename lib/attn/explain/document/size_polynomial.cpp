#include "attn/explain/document/size_polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

SizePolynomial::SizePolynomial(const Term& term, double times) {
    if (times != 0) terms_[term] = times;
}

SizePolynomial SizePolynomial::operator+(const SizePolynomial& other) const {
    SizePolynomial sum = *this;
    for (const auto& [term, times] : other.terms_) {
        if ((sum.terms_[term] += times) == 0) sum.terms_.erase(term);
    }
    return sum;
}

SizePolynomial SizePolynomial::operator*(const SizePolynomial& other) const {
    SizePolynomial product;
    for (const auto& [left, times] : terms_) {
        for (const auto& [right, more] : other.terms_) {
            Term term = left;
            for (const auto& [letter, exponent] : right) {
                if ((term[letter] += exponent) == 0) term.erase(letter);
            }
            product = product + SizePolynomial(term, times * more);
        }
    }
    return product;
}

bool SizePolynomial::has(const std::string& letter) const {
    return std::ranges::any_of(terms_,
                               [&](const auto& each) { return each.first.contains(letter); });
}

double SizePolynomial::at(const Sizes& sizes) const {
    double sum = 0;
    for (const auto& [term, times] : terms_) {
        double product = times;
        for (const auto& [letter, exponent] : term) product *= std::pow(sizes.at(letter), exponent);
        sum += product;
    }
    return sum;
}

std::string SizePolynomial::text() const {
    // In the order of a tensor's axes; settings of files come last.
    static const std::vector<std::string> order{"B", "H", "G", "T", "Tq", "Tk", "D", "Dv", "C"};
    std::vector<std::tuple<int, std::string, bool>> parts;
    for (const auto& [term, times] : terms_) {
        std::vector<std::pair<std::ptrdiff_t, std::string>> letters;
        for (const auto& [letter, exponent] : term) {
            letters.emplace_back(std::ranges::find(order, letter) - order.begin(), letter);
        }
        std::ranges::sort(letters);
        std::vector<std::string> over, under;
        int degree = 0;
        for (const auto& [place, letter] : letters) {
            const int exponent = term.at(letter), power = std::abs(exponent);
            degree += exponent;
            (exponent > 0 ? over : under)
                .push_back(power == 1 ? letter : letter + "^" + std::to_string(power));
        }
        const double size = std::abs(times);
        if (size != 1 || over.empty()) over.insert(over.begin(), brief(size));
        under.insert(under.begin(), joined(over, " "));
        parts.emplace_back(-degree, joined(under, " / "), times < 0);
    }
    std::ranges::sort(parts);
    std::string text;
    for (const auto& [degree, part, is_less] : parts) {
        text += (is_less ? text.empty() ? "-" : " - " : text.empty() ? "" : " + ") + part;
    }
    return text.empty() ? "0" : text;
}

std::string SizeQuotient::text() const {
    if (under.terms().size() == 1) {
        SizePolynomial::Term inverse = under.terms().begin()->first;
        for (auto& [letter, exponent] : inverse) exponent = -exponent;
        return (over * SizePolynomial(inverse, 1 / under.terms().begin()->second)).text();
    }
    return (over.terms().size() > 1 ? "(" + over.text() + ")" : over.text()) + " / (" +
           under.text() + ")";
}

std::optional<SizeQuotient> equal_at(const SizePolynomial& left, const SizePolynomial& right,
                                     const std::string& letter) {
    SizePolynomial difference = left + right * -1;
    std::map<std::string, int> least;  // exponents, of the common factor
    for (const auto& [term, times] : difference.terms()) {
        for (const auto& [each, exponent] : term) least[each] = exponent;
    }
    for (auto& [each, exponent] : least) {
        for (const auto& [term, times] : difference.terms()) {
            exponent = std::min(exponent, term.contains(each) ? term.at(each) : 0);
        }
        if (exponent != 0) difference = difference * SizePolynomial({{each, -exponent}}, 1);
    }
    SizePolynomial slope, rest;
    std::size_t below = 0;
    for (const auto& [term, times] : difference.terms()) {
        SizePolynomial::Term others = term;
        const bool is_of_slope = others.erase(letter) > 0;
        if (is_of_slope && term.at(letter) > 1) return std::nullopt;
        SizePolynomial& sum = is_of_slope ? slope : rest;
        sum = sum + SizePolynomial(others, times);
        below += times < 0 ? 1 : 0;
    }
    if (below == 0 || below == difference.terms().size() || slope.terms().empty())
        return std::nullopt;
    const double sign = slope.text().starts_with('-') ? -1 : 1;
    return SizeQuotient{rest * -sign, slope * sign};
}

}  // namespace attn
