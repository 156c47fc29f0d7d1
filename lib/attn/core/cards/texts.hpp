#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "attn/core/walk/step.hpp"

namespace attn {

// Texts of cards, with words in braces for numbers or names of the walk: a setting of rules
// (`{D}`), the latest of a chain (`{scores}`), the `{step}` itself, the one `{before}` it in its
// chain, and words of the card's own.

/// Returns the meaning of one of the card's own words, nullopt for other words.
using CardWords = std::optional<std::string> (*)(std::string_view word, const PlannedStep& of);

/// The condition of a text: on a plan, or on a step in its table.
class When {
public:
    constexpr When(bool (*of_plan)(const Plan&)) : of_plan_(of_plan) {}
    constexpr When(bool (*of_step)(const PlannedStep&)) : of_step_(of_step) {}

    bool holds(const PlannedStep& of) const {
        return of_plan_ != nullptr ? of_plan_(of.plan) : of_step_(of);
    }

private:
    bool (*of_plan_)(const Plan&) = nullptr;
    bool (*of_step_)(const PlannedStep&) = nullptr;
};
inline const When unconditional{[](const Plan&) { return true; }};

/// Returns the meaning of a word that all cards share.
///
/// Errors  std::logic_error for another word.
std::string meaning_of(const std::string& word, const PlannedStep& of);

/// Fills in the braces of a text.
std::string filled(std::string_view text, const PlannedStep& of, CardWords own = nullptr);

}  // namespace attn
