#include <algorithm>
#include <iterator>

#include "attn/judge/diagnose/diagnose.hpp"

// Questions about a whole diagnosis, its explanations and its rows.

namespace attn {

/// Correct code in another order differs by a few times as much, mistakes usually by thousands.
bool StepVerdict::is_unusual() const {
    constexpr double most_usual = 64;
    return excess > most_usual;
}

std::vector<const Mistake*> StepExplanation::as(Role role) const {
    std::vector<const Mistake*> all;
    for (const auto& [known, mistake] : named) {
        if (known == role) all.push_back(mistake);
    }
    return all;
}

const Mistake* StepExplanation::mistake() const {
    const auto makes = std::ranges::find(named, Role::makes, &decltype(named)::value_type::first);
    return makes != named.end() ? makes->second : nullptr;
}

std::vector<const Mistake*> StepExplanation::applied() const {
    std::vector<const Mistake*> all = as(Role::beside);
    std::ranges::copy(as(Role::makes), std::back_inserter(all));
    return all;
}

bool Diagnosis::has_mistake() const {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.mistake() != nullptr && !finding.harmless && !finding.is_question;
    });
}

bool Diagnosis::has_unknown() const {
    return std::ranges::any_of(findings, [](const Finding& each) { return !each.mistake(); });
}

bool Diagnosis::has_open_end() const {
    return std::ranges::any_of(
        findings, [](const Finding& each) { return !each.mistake() && each.follows.empty(); });
}

bool Diagnosis::is_right() const {
    return !has_mistake() && !has_unknown() &&
           std::ranges::none_of(findings, &Finding::is_question);
}

}  // namespace attn
