#include <cmath>
#include <map>

#include <fmt/format.h>

#include "attn/mistakes/change.hpp"

// Entries of the catalogue for any number in the place of minus infinity.

namespace attn {
namespace {

/// A number in the fewest letters: -1e9, -100, -65504.
std::string shortest(double number) {
    const std::string plain = fmt::format("{:.6g}", number);
    std::string power = fmt::format("{:.5e}", number);
    const std::size_t e = power.find('e');
    std::string digits = power.substr(0, e);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    power = digits + "e" + std::to_string(std::stoi(power.substr(e + 1)));
    return power.size() < plain.size() || plain.find('e') != std::string::npos ? power : plain;
}

/// A number that hides a key as well as -inf does.
Mistake harmless_fill(std::string id, std::string title, const std::string& cell) {
    return entry(std::move(id), "masked_scores", std::move(title),
                 "after softmax there is no difference as long as a row keeps one visible key", "",
                 "", "A number far below every score hides a key as well as -inf does.", "",
                 needs_mask,
                 follows("masked_scores[q,k] = if mask[q,k] then " + cell + " else scores[q,k]"));
}

Mistake filled(double, const std::string& word) {
    return harmless_fill("finite-fill=" + word, "Hidden scores hold " + word + " instead of -inf",
                         word);
}

Mistake added(double, const std::string& word) {
    return harmless_fill("added-fill=" + word, word + " was added to hidden scores",
                         "scores[q,k] + " + word);
}

Mistake wrongly_filled(double fill, const std::string& word) {
    const bool sign = fill > 0;
    return in_mask_use(
        (sign ? "mask-sign=" : "mask-fill-too-small=") + word,
        "Hidden scores were filled with " + word,
        sign ? "rows with a hidden key look at hidden keys only"
             : "hidden keys keep a weight wherever scores come near the fill",
        "scores.masked_fill(hidden, float('-inf'))", "np.where(hidden, -np.inf, scores)",
        sign ? "A large positive score wins the row: what is hidden must be far below all."
             : "A fill is only as good as its distance from the lowest true score.",
        follows("masked_scores[q,k] = if mask[q,k] then " + word + " else scores[q,k]"));
}

/// Made once for each number; what it hands out stays where it is.
template <Mistake (*make)(double, const std::string&)>
const Mistake& made_once(double fill) {
    static std::map<std::string, Mistake> all;
    const std::string word = shortest(fill);
    const auto known = all.find(word);
    return known != all.end() ? known->second : all.emplace(word, make(fill, word)).first->second;
}

}  // namespace

const Mistake& finite_fill(double fill) { return made_once<filled>(fill); }
const Mistake& added_fill(double fill) { return made_once<added>(fill); }

const Mistake& mistaken_fill(double fill) {
    if (std::abs(fill) < 1e-3) {
        return find_mistake(fill == 0 ? "mask-times-zero" : "mask-tiny-fill");
    }
    return made_once<wrongly_filled>(fill);
}

}  // namespace attn
