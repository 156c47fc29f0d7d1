#include <algorithm>
#include <string_view>

#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/compare/derive.hpp"

namespace attn {
namespace {

/// A line at the beginning of a part of a file, and the lines that belong to it.
struct Paragraph {
    std::string word, name, text;
};

std::vector<Paragraph> paragraphs_of(const std::string& text) {
    constexpr std::string_view begins[]{"setting", "axis",    "parameter", "step",  "form",
                                        "same",    "mistake", "together",  "define"};
    std::vector<Paragraph> all{{}};
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
        const std::string line = text.substr(at, end + 1 - at);
        std::string_view rest = trimmed(line);
        const std::string word(next_token(rest));
        if (std::ranges::find(begins, word) != std::end(begins)) {
            all.push_back({word, std::string(rest.substr(0, rest.find_first_of("[ #"))), {}});
        }
        all.back().text += line;
        at = end + 1;
    }
    return all;
}

}  // namespace

DerivedForm derived_form(const std::string& word) {
    constexpr std::string_view chunked = "chunked:";
    if (word == "recurrent") return {};
    const bool is_chunked = word.starts_with(chunked);
    const std::string number = is_chunked ? word.substr(chunked.size()) : "";
    const bool is_number = !number.empty() && number.size() < 7 &&
                           number.find_first_not_of("0123456789") == number.npos;
    if (is_number && std::stoul(number) > 0) return {"chunked", std::stoul(number)};
    throw ConfigError("a form is derived as recurrent or chunked:8, not '" + word + "'");
}

std::string with_derived_form(const AttentionFile& file, const Plan& plan,
                              const DerivedForm& requested) {
    DerivedForm form = requested;
    const auto has_letter = [&] {
        return std::ranges::count(file.axes, form.letter, &AttentionNumber::name) > 0;
    };
    while (has_letter()) form.letter += 'n';
    const DerivedRules derived = derived_rules(plan, form);
    const std::vector<Rule>& rules = derived.rules;
    std::string name = form.name;
    if (std::ranges::count(file.forms, name) > 0) name = "derived_" + name;
    std::string shared, weights, end, copied;
    std::string form_now;
    const std::string walked = file.walked_form(plan.config.form);
    for (const Paragraph& each : paragraphs_of(file.text)) {
        if (each.word == "form") form_now = each.name;
        const bool is_end = each.word == "same" || each.word == "mistake";
        const bool is_replaced =
            each.word == "step" && form_now.empty() && derived.replaced.contains(each.name);
        if (each.word == "same") continue;
        (is_end ? end : is_replaced && file.forms.empty() ? weights : shared) += each.text;
        const bool is_read = each.word == "step" && form_now == walked && !walked.empty();
        if (is_read && !derived.replaced.contains(each.name)) copied += each.text;
    }
    const auto ended = [](std::string text) {
        while (text.ends_with("\n\n")) text.pop_back();
        if (!text.empty() && !text.ends_with('\n')) text += '\n';
        return text;
    };
    std::string text = ended(shared);
    if (file.forms.empty()) text += "\nform parallel\n" + ended(weights);
    text += "\nform " + name + "\n" + ended(copied);
    if (form.chunk > 0) {
        const std::string size = std::to_string(form.chunk);
        text += "axis " + form.letter + " < (Tk + " + std::to_string(form.chunk - 1) + ") // " +
                size + "\n";
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        text += "step  " + rule_text(rules[i]) + "\n";
        const bool is_last = i + 1 == rules.size();
        if (!is_last) {
            text += std::string("  title  ") +
                    (form.chunk > 0 ? "the memory before each chunk"
                                    : "the memory of the tokens so far") +
                    "\n";
        }
    }
    return text + "\nsame  " + rules.back().step + "\n" + (end.empty() ? "" : "\n" + ended(end));
}

}  // namespace attn
