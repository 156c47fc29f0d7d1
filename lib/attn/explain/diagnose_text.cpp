#include <nlohmann/json.hpp>

#include "attn/explain/diagnose.hpp"
#include "attn/explain/words.hpp"
#include "attn/text/width.hpp"

namespace attn {
namespace {

std::string verdict_text(Verdict verdict, double difference) {
    if (verdict == Verdict::shape) return "SHAPE";
    const std::string size = " (max " + brief(difference) + ")";
    return verdict == Verdict::right ? "ok" + size : "DIFF" + size;
}

void add_paragraph(std::string& text, const std::string& head, const std::string& body) {
    const std::string indent(head.size(), ' ');
    bool first = true;
    for (const std::string& line : wrap(body, 80 - head.size())) {
        text += (first ? head : indent) + line + "\n";
        first = false;
    }
}

std::string ids_of(const std::vector<const Mistake*>& entries) {
    std::string text;
    for (const Mistake* mistake : entries) text += (text.empty() ? "" : ", ") + mistake->id;
    return text;
}

void add_finding(std::string& text, const Finding& finding) {
    if (finding.mistake == nullptr) {
        text += "\n" + finding.step + ": no known mistake matches\n";
        for (const std::string& sign : finding.evidence) add_paragraph(text, "  evidence  ", sign);
        if (finding.runner_up != nullptr) {
            add_paragraph(text, "  nearest   ",
                          finding.runner_up->id + ", not accepted (max " +
                              brief(finding.runner_up_difference) + ")");
        }
        return;
    }
    const Mistake& mistake = *finding.mistake;
    if (finding.second != nullptr) {
        text += "\n" + finding.step + ": a hypothesis, two mistakes at once: " + mistake.id +
                " and " + finding.second->id + "\n";
        add_paragraph(text, "  first     ", mistake.title + ": " + mistake.effect);
        add_paragraph(text, "  second    ", finding.second->title + ": " + finding.second->effect);
        return;
    }
    text += "\n" + finding.step + ": " + mistake.id +
            (finding.harmless ? ", harmless: what follows is right all the same" : "") + "\n";
    add_paragraph(text, "  what      ", mistake.title + ": " + mistake.effect);
    std::string match = "made on your own tensors it gives yours to " + brief(finding.difference);
    if (finding.runner_up != nullptr) {
        match += "; next best " + finding.runner_up->id + " (max " +
                 brief(finding.runner_up_difference) + ")";
    }
    add_paragraph(text, "  evidence  ", match);
    for (const std::string& sign : finding.evidence) add_paragraph(text, "            ", sign);
    if (finding.beside != nullptr) {
        add_paragraph(text, "  beside    ", finding.beside->title + ": " + finding.beside->effect);
    }
    if (!finding.ties.empty()) {
        add_paragraph(text, "  tie       ",
                      "this input cannot tell it from " + ids_of(finding.ties));
    }
    if (!mistake.fix_torch.empty()) text += "  fix       " + mistake.fix_torch + "\n";
    add_paragraph(text, "  lesson    ", mistake.learner);
}

nlohmann::ordered_json json_of(const Finding& finding) {
    nlohmann::ordered_json json;
    json["step"] = finding.step;
    json["id"] = finding.mistake ? nlohmann::ordered_json(finding.mistake->id) : nullptr;
    if (finding.second != nullptr) json["second"] = finding.second->id;
    if (finding.beside != nullptr) json["beside"] = finding.beside->id;
    std::vector<std::string> ties;
    for (const Mistake* tie : finding.ties) ties.push_back(tie->id);
    json["ties"] = ties;
    json["harmless"] = finding.harmless;
    json["evidence"] = finding.evidence;
    if (finding.mistake != nullptr) {
        json["difference"] = finding.difference;
        json["title"] = finding.mistake->title;
        json["effect"] = finding.mistake->effect;
        json["fix_torch"] = finding.mistake->fix_torch;
        json["fix_numpy"] = finding.mistake->fix_numpy;
        json["lesson"] = finding.mistake->learner;
    }
    if (finding.runner_up != nullptr) {
        json["runner_up"] = finding.runner_up->id;
        json["runner_up_difference"] =
            nlohmann::ordered_json::parse(json_number(finding.runner_up_difference));
    }
    return json;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis) {
    std::string text = padded("step", 18) + padded("shape", 16) + padded("vs reference", 22) +
                       "from your own step before\n";
    bool diverged = false;
    for (const StepVerdict& step : diagnosis.steps) {
        std::string line = padded(step.name, 18) + padded(shape_text(step.theirs), 16) +
                           padded(verdict_text(step.global, step.global_difference), 22) +
                           verdict_text(step.local, step.local_difference);
        if (step.local != Verdict::right && !diverged) {
            line += "  <- first divergence";
            diverged = true;
        } else if (step.local == Verdict::right && step.global != Verdict::right) {
            line += "  (inherited)";
        }
        text += line + "\n";
    }
    for (const Finding& finding : diagnosis.findings) add_finding(text, finding);
    if (diagnosis.findings.empty()) text += "\neverything is right\n";
    return text;
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
    static constexpr std::array words{"right", "wrong", "shape"};
    const auto number = [](double value) {
        return nlohmann::ordered_json::parse(json_number(value));
    };
    nlohmann::ordered_json json;
    json["steps"] = nlohmann::ordered_json::array();
    for (const StepVerdict& step : diagnosis.steps) {
        json["steps"].push_back({{"name", step.name},
                                 {"shape", step.theirs},
                                 {"expected_shape", step.expected},
                                 {"global", words[static_cast<std::size_t>(step.global)]},
                                 {"global_difference", number(step.global_difference)},
                                 {"local", words[static_cast<std::size_t>(step.local)]},
                                 {"local_difference", number(step.local_difference)}});
    }
    json["findings"] = nlohmann::ordered_json::array();
    for (const Finding& finding : diagnosis.findings) json["findings"].push_back(json_of(finding));
    return json.dump(1) + "\n";
}

}  // namespace attn
