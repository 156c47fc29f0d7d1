#include "attn/explain/notes/step_notes.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {

const StepNote* note_on(const Step& step) {
    static const std::map<std::string, StepNote>& table = *[] {
        auto* all = new std::map<std::string, StepNote>;
        for (const auto part :
             {input_notes, norm_notes, latent_notes, projection_notes, position_notes, cache_notes,
              score_notes, mask_notes, share_notes, dropout_notes, context_notes}) {
            for (StepNote& note : part()) all->emplace(note.step, std::move(note));
        }
        return all;
    }();
    if (!step.is_reported || !step.file.empty() || !step.mistake.empty()) return nullptr;
    const auto found = table.find(step.name);
    return found == table.end() ? nullptr : &found->second;
}

namespace {

/// Calls `check`; an error names the file and the line of the step.
template <class Check>
void in_file_of(const Subject& subject, Check check) {
    for (const auto& file : subject.plan.config.attentions) {
        if (file->name == subject.step.file) return file->at(subject.step.stated->line, check);
    }
    check();
}

/// Returns the number of an expression as text, an empty text for a true condition, nullopt if it
/// is false, or reads a step or a place that this walk does not have.
///
/// Errors  ConfigError for unknown names, with the line of the step.
std::optional<std::string> fact_of(std::string_view expression, const Subject& subject) {
    const Rule rule = parse_rule("fact[] = " + std::string(expression));
    if (std::ranges::count(note_facts(), expression) > 0) return std::nullopt;  // all are equal
    const std::vector<std::string> names = tensors_read(rule);
    const auto is_left_out = [&](const std::string& name) {
        return std::ranges::count(subject.table, name, &Step::name) > 0 && !subject.has(name);
    };
    if (std::ranges::any_of(names, is_left_out)) return std::nullopt;
    const RuleScope scope = rule_scope(subject.plan, subject.ledger, subject.step.name);
    // In a walk with more axes or fewer, cells have other indices.
    const bool is_usual = !subject.plan.has_batch && subject.plan.heads > 1;
    std::optional<Rule> whole;
    in_file_of(subject, [&] {
        for (const std::string& name : names) scope.tensor(name);
        if (is_usual) whole = completed_for(rule, {}, scope);
    });
    try {
        if (!whole) whole = completed_for(rule, {}, scope);
        const double fact = evaluate_completed(*whole, {}, DType::float64, scope).at(0);
        if (!gives_truth(*rule.value)) return number(fact);
        return fact == 0 ? std::nullopt : std::optional(std::string());
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Returns the places and numbers of the extremes; empty if all numbers are equal.
std::map<std::string_view, std::string> extremes_of(const Tensor& tensor) {
    std::size_t largest = 0, smallest = 0;
    for (std::size_t i = 1; i < tensor.size(); ++i) {
        if (tensor.at(i) > tensor.at(largest)) largest = i;
        if (tensor.at(i) < tensor.at(smallest)) smallest = i;
    }
    if (tensor.size() == 0 || !(tensor.at(largest) > tensor.at(smallest))) return {};
    const auto place_of = [&](std::size_t number) {
        const std::vector<std::size_t> place = indices_of(number, tensor.shape());
        return place.size() == 1 ? std::to_string(place[0]) : index_text(place);
    };
    return {{"largest", place_of(largest)},
            {"largest_number", four_decimals(tensor.at(largest))},
            {"smallest", place_of(smallest)},
            {"smallest_number", four_decimals(tensor.at(smallest))}};
}

}  // namespace

std::string file_note(const Subject& subject) {
    if (subject.step.stated == nullptr) return {};
    const std::string& text = subject.step.stated->note;
    const auto extremes = extremes_of(subject.tensor);
    std::string specified;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(". ", at), text.size() - 1) + 1;
        bool holds = true;
        const std::string sentence = filled(text.substr(at, end - at), [&](std::string_view fact) {
            const auto known = extremes.find(fact);
            std::optional<std::string> words;
            if (subject.excerpt.is_whole()) {
                words = known == extremes.end() ? fact_of(fact, subject) : known->second;
            }
            holds = holds && words;
            return words;
        });
        if (holds) append_sentence(specified, std::string(trimmed(sentence)));
        at = end + 1;
    }
    return specified;
}

}  // namespace attn::notes
