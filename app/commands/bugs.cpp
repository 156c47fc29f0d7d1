#include <algorithm>
#include <optional>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/laws.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/gradient_mistakes.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace app {
namespace {

std::string line_of(const Arguments& arguments, const attn::Mistake& mistake) {
    return list_entry(arguments, "  " + mistake.id, 28, mistake.title.visible());
}

/// Returns the entries whose id, step or title contains a word.
std::vector<const attn::Mistake*> about(const std::vector<attn::Mistake>& entries,
                                        const std::string& word) {
    std::vector<const attn::Mistake*> found;
    for (const attn::Mistake& each : entries) {
        const std::string text = each.id + " " + each.step + " " + each.title.raw();
        if (attn::lower(text).find(attn::lower(word)) != std::string::npos) found.push_back(&each);
    }
    return found;
}

/// Returns the walk that the attentions of --attention begin from; nullopt without that option.
std::optional<attn::Plan> plan_of(const Arguments& arguments) {
    if (!arguments.has(flags::attentions)) return std::nullopt;
    std::vector<std::string> words;
    for (const std::string& each : arguments[flags::attentions]) {
        words.insert(words.end(), {std::string(flags::attentions), each});
    }
    Arguments walk({walk_flags, config_flags});
    walk.parse(words, true);
    return attn::resolve(config_of(with_config(std::move(walk))));
}

/// Returns the mistakes of the walk's own attentions.
std::vector<const attn::Mistake*> own_mistakes(const std::optional<attn::Plan>& plan) {
    std::vector<const attn::Mistake*> own;
    if (plan) own = attn::mistakes_in(*plan);
    std::erase_if(own, [](const attn::Mistake* each) { return !each->of_file; });
    return own;
}

/// Returns the rules of a mistake: of a catalogued one, or of an attention's in its first form with
/// that step.
std::vector<attn::RulePair> rules_of(const attn::Mistake& mistake, std::optional<attn::Plan> plan) {
    if (!mistake.of_file) return attn::rule_pairs(mistake);
    for (const auto& file : plan->config.attentions) {
        for (const std::string& form : file->forms) {
            if (mistake.applies(*plan)) break;
            plan->config.form = form;
        }
    }
    if (!mistake.applies(*plan)) return {};
    return attn::rule_pairs(mistake, *plan);
}

/// Lists mistakes below the first step that they change, in the order of the step table.
std::string list_of_mistakes(const Arguments& arguments, const std::optional<attn::Plan>& plan) {
    const std::string word = arguments[flags::id];
    std::string text;
    if (plan) {
        for (const attn::Mistake* each : own_mistakes(plan)) text += line_of(arguments, *each);
        return text.empty() ? "its file lists no mistakes\n" : text;
    }
    bool first = true;
    for (const attn::Step& step : attn::step_table()) {
        bool headed = false;
        for (const attn::Mistake* mistake : about(attn::mistakes(), word)) {
            if (mistake->step != step.name) continue;
            if (!headed) text += (first ? "" : "\n") + step.name + "\n";
            headed = true;
            first = false;
            text += line_of(arguments, *mistake);
        }
    }
    const auto back = about(attn::gradient_mistakes(), word);
    if (!back.empty())
        text += std::string(first ? "" : "\n") + "the backward pass, with --backward\n";
    for (const attn::Mistake* entry : back) text += line_of(arguments, *entry);
    const auto harmless = about(attn::harmless_differences(), word);
    if (!harmless.empty()) {
        text += "\nharmless differences, which diagnose distinguishes from mistakes\n";
    }
    for (const attn::Mistake* entry : harmless) text += line_of(arguments, *entry);
    return text;
}

/// Splits a rule into names, numbers and signs, each with the spaces before it.
std::vector<std::string> pieces_of(const std::string& rule) {
    std::vector<std::string> words;
    const auto is_letter = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    for (std::size_t at = 0, end = 0; at < rule.size(); at = end) {
        end = std::min(rule.find_first_not_of(' ', at), rule.size());
        const bool is_name = end < rule.size() && is_letter(rule[end]);
        do ++end;
        while (is_name && end < rule.size() && is_letter(rule[end]));
        words.push_back(rule.substr(at, end - at));
    }
    return words;
}

/// Underlines the words of a rule that have no partner in the other, in order.
std::string marks_under(const std::string& rule, const std::string& other) {
    const std::vector<std::string> words = pieces_of(rule);
    const std::vector<std::string> others = pieces_of(other);
    // Number of words with partners from i and j on (longest common subsequence).
    std::vector<std::vector<std::size_t>> common(words.size() + 1,
                                                 std::vector<std::size_t>(others.size() + 1));
    for (std::size_t i = words.size(); i-- > 0;) {
        for (std::size_t j = others.size(); j-- > 0;) {
            common[i][j] = words[i] == others[j] ? common[i + 1][j + 1] + 1
                                                 : std::max(common[i + 1][j], common[i][j + 1]);
        }
    }
    std::string marks;
    for (std::size_t i = 0, j = 0; i < words.size(); ++i) {
        while (j < others.size() && words[i] != others[j] && common[i][j] == common[i][j + 1]) ++j;
        const bool is_same = j < others.size() && words[i] == others[j];
        const std::size_t blanks = words[i].find_first_not_of(' ');
        marks +=
            std::string(blanks, ' ') + std::string(words[i].size() - blanks, is_same ? ' ' : '^');
        if (is_same) ++j;
    }
    marks.erase(marks.find_last_not_of(' ') + 1);
    return marks.empty() ? "" : std::string(7, ' ') + marks + "\n";
}

std::string rule_pair_text(const attn::RulePair& rules) {
    return "right: " + rules.right + "\n" + marks_under(rules.right, rules.wrong) +
           "wrong: " + rules.wrong + "\n" + marks_under(rules.wrong, rules.right);
}

std::string description_of(const attn::Mistake& mistake, const std::optional<attn::Plan>& plan) {
    std::string text;
    const auto paragraph = [&text](const std::string& head, const std::string& words) {
        for (const std::string& line : attn::wrap(head + words, 80)) text += line + "\n";
    };
    paragraph(mistake.id + ": ", mistake.title.visible());
    paragraph("first visible in  ", mistake.step);
    paragraph("effect: ", mistake.effect.visible());
    if (!mistake.indistinguishable_from.empty()) {
        paragraph("same numbers from: ", mistake.indistinguishable_from);
    }
    if (!mistake.fix_torch.empty()) {
        text += "fix, PyTorch: " + attn::visible_lines(mistake.fix_torch.raw(), false) + "\n";
        text += "fix, NumPy:   " + attn::visible_lines(mistake.fix_numpy.raw(), false) + "\n";
    }
    paragraph("", mistake.lesson.visible());
    if (const auto law = attn::law_for(mistake.id)) paragraph("law: ", law->text());
    for (const attn::RulePair& rules : rules_of(mistake, plan)) text += rule_pair_text(rules);
    return text;
}

attn::JsonText json_of(const attn::Mistake& mistake) {
    return {{"id", mistake.id},
            {"step", mistake.step},
            {"title", mistake.title.raw()},
            {"effect", mistake.effect.raw()},
            {"fix_torch", mistake.fix_torch.raw()},
            {"fix_numpy", mistake.fix_numpy.raw()},
            {"lesson", mistake.lesson.raw()}};
}

attn::JsonText json_with_rules(const attn::Mistake& mistake,
                               const std::optional<attn::Plan>& plan) {
    const auto rules = collected(rules_of(mistake, plan), [](const auto& rule) {
        return attn::JsonText{{"right", rule.right}, {"wrong", rule.wrong}};
    });
    const auto law = attn::law_for(mistake.id);
    const attn::JsonText json = json_of(mistake).with("rules", {rules, ", "});
    return law ? json.with("law", law->name) : json;
}

/// Returns the mistakes of the given attentions; without any, those of the catalogue, then those of
/// the backward pass.
std::vector<const attn::Mistake*> all_about(const std::string& word,
                                            const std::optional<attn::Plan>& plan) {
    if (plan) return own_mistakes(plan);
    std::vector<const attn::Mistake*> found = about(attn::mistakes(), word);
    for (const attn::Mistake* each : about(attn::gradient_mistakes(), word)) found.push_back(each);
    return found;
}

std::vector<Flag> bugs_flags() {
    return {{flags::id, "ID", "the mistake to explain, or a subject to list: rope",
             such_as(mistake_ids)},
            {flags::attentions, "NAME", "list the mistakes in the file of an attention",
             such_as(attn::shipped_attention_names, Takes::Kind::file)}};
}

int run_bugs(const Arguments& arguments) {
    const std::string word = arguments[flags::id];
    const std::optional<attn::Plan> plan = plan_of(arguments);
    const auto found = all_about(word, plan);
    const attn::Mistake* const back = attn::find_gradient_mistake(word);
    const bool is_harmless =
        std::ranges::count(attn::harmless_differences(), word, &attn::Mistake::id) > 0;
    const bool is_one =
        is_harmless || std::ranges::find(found, word, &attn::Mistake::id) != found.end();
    if (is_one || (!plan && found.size() < 2) || (plan && !word.empty())) {
        const attn::Mistake& mistake = plan              ? attn::find_mistake(word, *plan)
                                       : back != nullptr ? *back
                                       : found.size() == 1 && !is_harmless
                                           ? *found.front()
                                           : attn::find_mistake(word);
        write_text_or_json(arguments, description_of(mistake, plan),
                           json_with_rules(mistake, plan));
    } else {
        write_text_or_json(arguments, list_of_mistakes(arguments, plan),
                           collected(found, [](const auto* each) { return json_of(*each); }));
    }
    return 0;
}

}  // namespace

Command bugs_command() {
    return {"bugs",
            "list known mistakes, all or on one subject, or explain one",
            {table<bugs_flags>, json_flags, file_flags},
            run_bugs,
            {{"attn-explain bugs", "Lists the known mistakes."},
             {"attn-explain bugs rope", "Lists those on a subject."},
             {"attn-explain bugs scale-missing", "Explains one, with its fix."},
             {"attn-explain bugs --attention deltanet", "Lists those of an attention."}}};
}

}  // namespace app
