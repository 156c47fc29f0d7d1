#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attn/core/plan/laws.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/diagnose.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

std::string verdict_text(Verdict verdict, double difference, bool harmless) {
    if (verdict == Verdict::shape) return "SHAPE";
    if (verdict == Verdict::not_compared) return "-";
    if (verdict == Verdict::wrong && harmless) return "harmless";
    const std::string size = " (max " + brief(difference) + ")";
    return verdict == Verdict::right ? "ok" + size : "DIFF" + size;
}

void add_paragraph(std::string& text, const std::string& head, const std::string& body) {
    std::string indent = head;
    for (const std::string& line : wrap(body, 80 - head.size())) {
        text += indent + line + "\n";
        indent.assign(head.size(), ' ');
    }
}

/// Lists the tensors that were compared and are right, and counts those that were not compared.
std::string summary(const Diagnosis& diagnosis) {
    std::vector<std::string> steps;
    for (const StepVerdict& step : diagnosis.steps) {
        if (std::ranges::count(steps, step.name) == 0) steps.push_back(step.name);
    }
    const std::string names = joined(steps);
    const std::size_t skipped = diagnosis.skipped.size();
    if (steps.empty()) return "nothing was judged";
    if (!diagnosis.judges_a_step()) {
        return "no computed step was compared: attention starts from " + names;
    }
    return "right: " + names +
           (skipped == 0 ? "" : "; not compared: " + std::to_string(skipped) + " of your tensors");
}

/// The paragraphs of a finding, each with its heading: `evidence`, or empty to continue one.
using Paragraphs = std::vector<std::pair<std::string, std::string>>;

Paragraphs unknown_paragraphs(const Finding& finding) {
    Paragraphs all;
    if (!finding.follows.empty()) {
        all.emplace_back("rule", followed_rule(finding));
    }
    for (const std::string& line : finding.evidence) all.emplace_back("evidence", line);
    for (const Mistake* nearest : finding.as(Role::nearest)) {
        all.emplace_back("nearest", nearest->id + ", not accepted (max " +
                                        brief(finding.nearest_difference) + ")");
    }
    return all;
}

Paragraphs pair_paragraphs(const Finding& finding) {
    Paragraphs all{{"first", described(*finding.mistake())},
                   {"second", described(*finding.as(Role::makes).back())}};
    std::vector<std::string> pairs;
    const std::vector<const Mistake*> other = finding.as(Role::pairs);
    for (std::size_t i = 0; i < other.size(); i += 2) {
        pairs.push_back(other[i]->id + " and " + other[i + 1]->id);
    }
    if (!pairs.empty()) all.emplace_back("tie", "these pairs fit as well: " + joined(pairs));
    return all;
}

Paragraphs mistake_paragraphs(const Finding& finding) {
    Paragraphs all{{"what", described(*finding.mistake())}};
    const auto add_evidence = [&](const std::string& line) {
        all.emplace_back(all.size() == 1 ? "evidence" : "", line);
    };
    if (finding.step != "mask" && finding.replayed) {
        std::string match =
            "with this mistake, your inputs give your numbers " +
            (finding.difference == 0 ? std::string("exactly") : "to " + brief(finding.difference));
        for (const Mistake* nearest : finding.as(Role::nearest)) {
            match +=
                "; next best: " + nearest->id + " (max " + brief(finding.nearest_difference) + ")";
        }
        add_evidence(match);
    }
    for (const std::string& line : finding.evidence) add_evidence(line);
    for (const Mistake* beside : finding.as(Role::beside)) {
        all.emplace_back("beside", described(*beside));
    }
    const std::vector<const Mistake*> ties = finding.as(Role::ties);
    if (!ties.empty())
        all.emplace_back("tie", "this input cannot distinguish it from " + ids_of(ties));
    return all;
}

/// Returns the variable in a trace label, `att` for `19:att@0#7`, or its expression in brackets;
/// other names as they are. Empty for an expression that may be cut off.
std::string variable_in(const std::string& name) {
    constexpr std::size_t longest = 100;  // of expressions in a trace
    std::string label = name.substr(0, name.rfind(" as "));
    for (const char mark : {'#', '@'}) {
        const std::size_t at = label.rfind(mark);
        const bool is_number = label.find_first_not_of("0123456789,", at + 1) == label.npos;
        if (at != label.npos && is_number) label.resize(at);
    }
    const std::size_t colon = label.find(':', label.find_first_of("0123456789"));
    label.erase(0, colon == label.npos ? 0 : colon + 1);
    if (std::ranges::all_of(label, is_of_name)) return label;
    return label.size() < longest ? "(" + label + ")" : "";
}

/// Returns the fix for the user's library, with the user's tensor names.
std::string fix_for(const Diagnosis& diagnosis, const Finding& finding) {
    static const std::map<std::string, std::vector<std::string>> steps_of{
        {"q", {"projected_query", "query", "normed_query", "rotated_query"}},
        {"k", {"projected_key", "key", "normed_key", "rotated_key", "present_key", "repeated_key"}},
        {"v", {"projected_value", "value", "present_value", "repeated_value"}},
        {"scores", {"scores", "scaled_scores", "capped_scores", "biased_scores", "masked_scores"}},
        {"weights", {"weights"}},
        {"context", {"context"}},
        {"merged", {"merged"}},
        {"output", {"output"}}};
    const StepTable& table = step_table(*diagnosis.plan);
    // The step is assigned from tensors before it: `normed_query = rms_norm(query)`.
    const auto name_of = [&](const std::string& word, bool is_assigned) {
        const auto steps = steps_of.find(word);
        std::string name = word;
        if (steps == steps_of.end()) return name;
        const std::size_t end = place_of(table, finding.step) + (is_assigned ? 1 : 0);
        bool is_found = false;
        for (const StepVerdict& each : diagnosis.steps) {
            const bool is_it = std::ranges::count(steps->second, each.name) > 0;
            const bool is_later = place_of(table, each.name) >= end;
            const std::string actual = variable_in(each.name_in_file);
            const bool is_word = std::ranges::all_of(actual, is_of_name);
            const bool is_usable = !actual.empty() && (is_word || !is_assigned);
            if (!is_it || !is_usable || (is_found && is_later)) continue;
            name = actual;
            is_found = true;
        }
        return name;
    };
    const Mistake& mistake = *finding.mistake();
    const std::string fix =
        visible_lines((diagnosis.in_numpy ? mistake.fix_numpy : mistake.fix_torch).raw(), false);
    std::string text, word;
    char before = ' ';
    for (std::size_t i = 0; i <= fix.size(); ++i) {
        const char c = i < fix.size() ? fix[i] : ' ';
        if (is_of_name(c)) {
            word += c;
            continue;
        }
        const bool is_name = before != '.' && before != '\'';
        const bool is_assigned = fix.find(" = ", i) < fix.find_first_of("\n#", i);
        text += is_name ? name_of(word, is_assigned) : word;
        word.clear();
        if (i < fix.size()) text += c;
        if (c == '#') return text + fix.substr(i + 1);
        if (c == '\n') text += std::string(12, ' ');
        before = c;
    }
    return text;
}

void add_finding(std::string& text, const Diagnosis& diagnosis, const Finding& finding,
                 const Ink& ink) {
    const Mistake* const mistake = finding.mistake();
    const std::vector<const Mistake*> makes = finding.as(Role::makes);
    const bool is_pair = makes.size() > 1;
    const std::string what =
        mistake == nullptr ? "no known mistake matches"
        : is_pair ? "a hypothesis, two mistakes at once: " + mistake->id + " and " + makes[1]->id
        : finding.harmless ? mistake->id + ", harmless: the results are still correct"
                           : mistake->id;
    const bool is_calm = mistake != nullptr && !is_pair && finding.harmless;
    text += "\n" + ink.of(is_calm ? ink.heading : ink.mistake, finding.step + ": " + what) + "\n";
    for (const auto& [word, body] : mistake == nullptr ? unknown_paragraphs(finding)
                                    : is_pair          ? pair_paragraphs(finding)
                                                       : mistake_paragraphs(finding)) {
        add_paragraph(text, fmt::format("  {:<10}", word), body);
    }
    if (mistake == nullptr || is_pair) return;
    const std::string fix = fix_of(diagnosis, finding);
    if (!fix.empty()) text += "  fix       " + fix + "\n";
    add_paragraph(text, "  lesson    ", mistake->lesson.visible());
    if (const auto law = law_for(mistake->id)) {
        add_paragraph(text, "  law       ", law->text());
    }
}

nlohmann::ordered_json json_of(const Finding& finding) {
    nlohmann::ordered_json json;
    json["step"] = finding.step;
    const Mistake* const mistake = finding.mistake();
    json["id"] = mistake ? nlohmann::ordered_json(mistake->id) : nullptr;
    const std::vector<std::string> makes = ids_in(finding.as(Role::makes)),
                                   beside = ids_in(finding.as(Role::beside)),
                                   pairs = ids_in(finding.as(Role::pairs));
    if (makes.size() > 1) json["second"] = makes[1];
    if (!beside.empty()) json["harmless_difference"] = beside[0];
    if (beside.size() > 1) json["second_harmless_difference"] = beside[1];
    json["ties"] = ids_in(finding.as(Role::ties));
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        json["pairs"].push_back({pairs[i], pairs[i + 1]});
    }
    json["harmless"] = finding.harmless;
    if (!finding.follows.empty()) {
        json["follows"] = {{"rule", finding.follows}, {"wrong", finding.followed_by}};
    }
    json["evidence"] = finding.evidence;
    if (mistake != nullptr) {
        json["difference"] = finding.difference;
        json["title"] = mistake->title.raw();
        json["effect"] = mistake->effect.raw();
        json["fix_torch"] = mistake->fix_torch.raw();
        json["fix_numpy"] = mistake->fix_numpy.raw();
        json["lesson"] = mistake->lesson.raw();
        if (const auto law = law_for(mistake->id)) json["law"] = law->name;
    }
    for (const Mistake* nearest : finding.as(Role::nearest)) {
        json["runner_up"] = nearest->id;
        json["runner_up_difference"] =
            nlohmann::ordered_json::parse(json_number(finding.nearest_difference));
    }
    return json;
}

}  // namespace

std::vector<std::string> ids_in(const std::vector<const Mistake*>& mistakes) {
    std::vector<std::string> ids;
    for (const Mistake* mistake : mistakes) ids.push_back(mistake->id);
    return ids;
}

std::string ids_of(const std::vector<const Mistake*>& mistakes) { return joined(ids_in(mistakes)); }

std::string described(const Mistake& mistake) {
    return mistake.title.visible() + ": " + mistake.effect.visible();
}

std::string followed_rule(const Finding& finding) {
    return "your numbers follow: " + finding.follows + " (" + finding.followed_by + ")";
}

std::string fix_of(const Diagnosis& diagnosis, const Finding& finding) {
    const Mistake* const mistake = finding.mistake();
    return mistake == nullptr || mistake->fix_torch.empty() ? "" : fix_for(diagnosis, finding);
}

std::string diagnosis_text(const Diagnosis& diagnosis, const Ink& ink) {
    std::string text;
    for (const std::string& remark : diagnosis.remarks) add_paragraph(text, "", remark);
    if (!diagnosis.remarks.empty()) text += "\n";
    std::array<std::size_t, 3> widths{};
    std::vector<std::array<std::string, 3>> rows{{"step", "shape", "vs reference"}};
    for (const StepVerdict& step : diagnosis.steps) {
        rows.push_back({step.name, shape_text(step.actual),
                        verdict_text(step.global, step.global_difference, step.harmless)});
    }
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size() + 2);
        }
    }
    const auto columns = [&](std::size_t row) {
        std::string line;
        for (std::size_t i = 0; i < widths.size(); ++i)
            line += fmt::format("{:<{}}", rows[row][i], widths[i]);
        return line;
    };
    if (!diagnosis.steps.empty()) {
        text += ink.of(ink.heading, columns(0) + "from your step before") + "\n";
    }
    bool diverged = false;
    std::vector<std::string> names;
    for (std::size_t row = 1; row < rows.size(); ++row) {
        const StepVerdict& step = diagnosis.steps[row - 1];
        std::string line =
            columns(row) + verdict_text(step.local, step.local_difference, step.harmless);
        const bool wrong_here = step.local == Verdict::wrong || step.local == Verdict::shape;
        if (wrong_here && !step.harmless && !diverged) {
            line += "  <- first";
            diverged = true;
        } else if (step.local == Verdict::right && step.global != Verdict::right) {
            line += "  (inherited)";
        }
        text += (wrong_here && !step.harmless ? ink.of(ink.mistake, line) : line) + "\n";
        if (!step.layout.empty()) text += "  read as " + step.layout + "\n";
        const bool is_not_all = step.within && step.within->beyond == 0 && wrong_here;
        if (is_not_all) {
            text += "  rounding could explain each cell, but not all of them together\n";
        } else if (step.within) {
            text += "  " + step.within->text(step.expected) + "\n";
        }
        if (step.name_in_file != step.name) {
            names.push_back(visible(step.name_in_file) + " is " + step.name);
        }
    }
    if (!names.empty()) add_paragraph(text, "names         ", joined(names));
    for (const Skipped& skipped : diagnosis.skipped) {
        add_paragraph(text, "not compared  ", visible(skipped.name) + ": " + skipped.reason);
    }
    // Mistakes come before harmless differences.
    for (const bool harmless : {false, true}) {
        for (const Finding& finding : diagnosis.findings) {
            if (finding.harmless == harmless) add_finding(text, diagnosis, finding, ink);
        }
    }
    if (!diagnosis.has_mistake() && !diagnosis.has_unknown() && diagnosis.open.empty()) {
        text += "\n";
        add_paragraph(text, "", summary(diagnosis));
    }
    for (const std::string& question : diagnosis.open) add_paragraph(text, "open: ", question);
    return text;
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
    static constexpr std::array words{"right", "wrong", "shape", "not_compared"};
    const auto number = [](double value) {
        return nlohmann::ordered_json::parse(json_number(value));
    };
    nlohmann::ordered_json json;
    json["steps"] = nlohmann::ordered_json::array();
    for (const StepVerdict& step : diagnosis.steps) {
        json["steps"].push_back({{"name", step.name},
                                 {"shape", step.actual},
                                 {"expected_shape", step.expected},
                                 {"global", words[static_cast<std::size_t>(step.global)]},
                                 {"global_difference", number(step.global_difference)},
                                 {"local", words[static_cast<std::size_t>(step.local)]},
                                 {"local_difference", number(step.local_difference)},
                                 {"tensor", step.name_in_file},
                                 {"layout", step.layout},
                                 {"harmless", step.harmless}});
        if (!step.within) continue;
        const WithinBall& within = *step.within;
        nlohmann::ordered_json rounding{{"largest", number(within.difference)},
                                        {"allowed", number(within.allowed)},
                                        {"exceeding_cells", within.beyond}};
        if (within.beyond > 0) rounding["first"] = indices_of(within.first, step.expected);
        json["steps"].back()["rounding"] = std::move(rounding);
    }
    json["findings"] = nlohmann::ordered_json::array();
    for (const Finding& finding : diagnosis.findings) json["findings"].push_back(json_of(finding));
    json["skipped"] = nlohmann::ordered_json::array();
    for (const Skipped& skipped : diagnosis.skipped) {
        json["skipped"].push_back({{"name", skipped.name}, {"reason", skipped.reason}});
    }
    json["remarks"] = diagnosis.remarks;
    if (!diagnosis.open.empty()) json["open_questions"] = diagnosis.open;
    return json_text(with_former_names(json));
}

}  // namespace attn
