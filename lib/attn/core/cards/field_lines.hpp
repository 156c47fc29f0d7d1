#pragma once
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attn/core/cards/step_lines.hpp"

namespace attn {

// Texts of cards, in which a word in braces stands for a number or a name of the walk: a setting of
// rules (`{D}`), the latest of a chain (`{scores}`), `{step}` itself and its `{shape}`, the
// `{type}` of the walk; what PyTorch and NumPy call otherwise (`{np}.exp`, `{dim}=-1`); and words
// of the card's own.

/// What a word of the card's own stands for; nothing of others.
using Words = std::optional<std::string> (*)(std::string_view word, const StepLines& of);

/// Whether a row is meant: of a plan, or of a step in its table.
class When {
public:
    When(bool (*of_plan)(const Plan&)) : of_plan_(of_plan) {}
    When(bool (*of_step)(const PlannedStep&)) : of_step_(of_step) {}

    bool holds(const PlannedStep& of) const {
        return of_plan_ != nullptr ? of_plan_(of.plan) : of_step_(of);
    }

private:
    bool (*of_plan_)(const Plan&) = nullptr;
    bool (*of_step_)(const PlannedStep&) = nullptr;
};
inline const When always_meant{[](const Plan&) { return true; }};

/// A line that the field has for a step, where that of its rule would not do. A language without
/// one has the rule's.
struct FieldLine {
    FieldLine(const char* both) : torch(both), numpy(both) {}
    FieldLine(const char* of_torch, const char* of_numpy) : torch(of_torch), numpy(of_numpy) {}
    FieldLine(When meant, const char* both) : when(meant), torch(both), numpy(both) {}
    FieldLine(When meant, const char* of_torch, const char* of_numpy)
        : when(meant), torch(of_torch), numpy(of_numpy) {}

    When when = always_meant;
    const char *torch, *numpy;
};

/// A text with its braces filled.
std::string filled(std::string_view text, const StepLines& of, Words own = nullptr);
/// The first of the lines that is meant, or that of the rule.
std::string filled(std::span<const FieldLine> lines, const StepLines& of, Words own = nullptr);

/// Lines for a card.
template <std::size_t N>
std::function<std::string(const StepLines&)> field_lines(const FieldLine (&lines)[N],
                                                         Words own = nullptr) {
    return
        [lines = std::to_array(lines), own](const StepLines& of) { return filled(lines, of, own); };
}

/// A text of a plan: the first that is meant.
struct PlannedText {
    PlannedText(const char* always) : text(always) {}
    PlannedText(When meant, const char* then) : when(meant), text(then) {}

    When when = always_meant;
    const char* text;
};

/// A rule or what is beside it, for a card; empty where none is meant.
template <std::size_t N>
std::function<std::string(const PlannedStep&)> texts(const PlannedText (&rows)[N],
                                                     Words own = nullptr) {
    return [rows = std::to_array(rows), own](const PlannedStep& of) {
        for (const PlannedText& row : rows) {
            if (row.when.holds(of)) return filled(row.text, {of, CodeLanguage::torch}, own);
        }
        return std::string();
    };
}

}  // namespace attn
