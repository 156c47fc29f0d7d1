#include "attn/core/cards/texts.hpp"

#include <stdexcept>

#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

std::string meaning_of(const std::string& word, const PlannedStep& of) {
    if (const Chain chain = chain_called(word); chain != Chain::none) return of.latest(chain);
    if (word == "before") return of.before();
    if (word == "step") return of.step.name;
    const std::map<std::string, double> settings = rule_settings(of.plan);
    const auto setting = settings.find(word);
    if (setting == settings.end()) throw std::logic_error("texts of cards have no {" + word + "}");
    return json_number(setting->second);
}

std::string filled(std::string_view text, const PlannedStep& of, CardWords own) {
    return filled(text, [&](std::string_view word) {
        std::optional<std::string> meant = own ? own(word, of) : std::nullopt;
        return meant ? std::move(meant) : meaning_of(std::string(word), of);
    });
}

}  // namespace attn
