#include <algorithm>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

const std::vector<std::string>& note_facts() {
    static const std::vector<std::string> facts{"largest", "largest_number", "smallest",
                                                "smallest_number"};
    return facts;
}

const std::vector<std::string>& attention_words() {
    static const std::vector<std::string> words{
        "attention", "title",   "source", "begins",  "setting",  "parameter", "axis",
        "step",      "form",    "same",   "mistake", "note",     "torch",     "numpy",
        "called",    "extends", "after",  "when",    "loop",     "at",        "detail",
        "rule",      "effect",  "lesson", "fix",     "explains", "define",    "together"};
    return words;
}

void AttentionFile::refuse(std::size_t number, const std::string& message) const {
    if (message.starts_with(label + ":")) throw InputError(message);  // of another line of it
    std::string first = message, shown;
    if (!message.ends_with('^')) {
        // The line itself, unless the message shows its rule and the place.
        first = message.substr(0, message.find('\n'));
        std::size_t at = 0;
        for (std::size_t i = 1; i < number; ++i) at = text.find('\n', at) + 1;
        const std::string line = text.substr(at, text.find('\n', at) - at);
        shown = "\n  " + visible(std::string(trimmed(line))) + "\n  ^";
    }
    throw InputError(label + ":" + std::to_string(number) + ": " + first + shown);
}

std::string AttentionFile::walked_form(const std::string& requested) const {
    std::string walked = forms.empty() ? std::string() : forms.front();
    for (std::string_view rest = requested; !rest.empty();) {
        std::string_view each = next_part(rest, ",");
        const std::size_t sign = each.find('=');
        if (sign != each.npos && trimmed(each.substr(0, sign)) != name) continue;
        if (sign != each.npos) each = trimmed(each.substr(sign + 1));
        const auto own = std::ranges::find(forms, each);
        if (own != forms.end()) walked = *own;
    }
    return walked;
}

std::vector<AttentionStep> AttentionFile::steps_of(const Plan& plan) const {
    std::vector<AttentionStep> chosen;
    const std::string meant = walked_form(plan.config.form);
    for (const AttentionStep& step : steps) {
        const bool is_there = std::ranges::any_of(
            chosen, [&](const AttentionStep& other) { return other.rule.step == step.rule.step; });
        const bool is_walked = step.form.empty() || step.form == meant;
        if (is_walked && !is_there && conditions_true(step.when, plan)) chosen.push_back(step);
    }
    return chosen;
}

double number_of(const RuleTree& expression, const std::map<std::string, double>& settings) {
    if (expression->kind == RuleNode::Kind::number) return expression->number;
    const RuleScope scope{[](const std::string& name) -> const Tensor& {
                              throw ConfigError("a tensor is not allowed here, as " + name + " is");
                          },
                          settings};
    return evaluate_rule(Rule("", "number", {}, expression), {}, {}, DType::float64, scope).at(0);
}

}  // namespace attn
