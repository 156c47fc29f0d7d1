#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/laws.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

/// Rounds the numbers of a derivation to its last printed decimal, so that printed sums are exact.
class Decimals {
public:
    explicit Decimals(const Derivation& derivation) {
        double largest = std::abs(derivation.cell.value);
        for (const Term& term : derivation.terms) {
            if (std::isfinite(term.value)) largest = std::max(largest, std::abs(term.value));
        }
        const int magnitude = largest > 0 && std::isfinite(largest)
                                  ? static_cast<int>(std::floor(std::log10(largest)))
                                  : 0;
        // Use one exponent for all if they are tiny: 3.53444e-06.
        exponent_ = magnitude < -4 ? magnitude : 0;
        decimals_ = std::max(5 - magnitude + exponent_, 0);
    }
    std::string text(double value) const {
        if (std::isnan(value)) return "nan";  // of either sign
        if (exponent_ == 0) return fmt::format("{:.{}f}", value, decimals_);
        return fmt::format("{:.{}f}e{:03d}", value / std::pow(10.0, exponent_), decimals_,
                           exponent_);
    }
    /// Converts a value to a multiple of the last printed decimal.
    double units(double value) const {
        return std::round(value * std::pow(10.0, decimals_ - exponent_));
    }
    std::string text_of_units(double units) const {
        return text(units / std::pow(10.0, decimals_ - exponent_));
    }

private:
    int decimals_ = 6;
    int exponent_ = 0;
};

bool all_finite(const Derivation& derivation) {
    return std::isfinite(derivation.cell.value) &&
           std::all_of(derivation.terms.begin(), derivation.terms.end(),
                       [](const Term& term) { return std::isfinite(term.value); });
}

/// Formats the address of a cell.
using CellText = std::function<std::string(const Cell&)>;

std::string term_text(const Term& term, const CellText& address) {
    if (!term.right) return term.form.empty() ? address(term.left) : term.form;
    const char* form =
        term.form.empty() ? "{0} * {1}  =  {2} * {3}" : "exp({0} - {1})  =  exp({2} - {3})";
    return fmt::format(fmt::runtime(form), address(term.left), address(*term.right),
                       four_decimals(term.left.value), four_decimals(term.right->value));
}

/// Adds the terms, the largest first, so that the printed numbers sum to the printed result.
void add_terms(std::string& text, const std::string& indent, const Derivation& derivation,
               std::size_t top, const CellText& address) {
    std::vector<Term> terms = derivation.terms;
    std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
        return std::abs(a.value) > std::abs(b.value);
    });
    const Decimals decimals(derivation);
    const std::size_t shown = std::min(terms.size(), top);
    double left = all_finite(derivation) ? decimals.units(derivation.cell.value) : 0;
    for (std::size_t i = 0; i < shown; ++i) {
        text += fmt::format("{}  {:>12}   {}\n", indent, decimals.text(terms[i].value),
                            term_text(terms[i], address));
        if (all_finite(derivation)) left -= decimals.units(terms[i].value);
    }
    if (!all_finite(derivation)) return;
    if (const std::size_t others = terms.size() - shown; others > 0) {
        double sum = 0;
        for (std::size_t i = shown; i < terms.size(); ++i) sum += terms[i].value;
        left -= decimals.units(sum);
        text += fmt::format("{}  {:>12}   {}\n", indent, decimals.text(sum),
                            others == 1 ? "the other one" : fmt::format("the {} others", others));
    }
    if (left != 0) {
        text += fmt::format("{}  {:>12}   rounding\n", indent, decimals.text_of_units(left));
    }
    text += fmt::format("{}  {:>12}   sum\n", indent, decimals.text(derivation.cell.value));
}

/// Returns the distinct sources to derive next.
std::vector<Cell> next_cells(const StepTable& table, const Derivation& derivation,
                             std::size_t top) {
    std::vector<Cell> cells;
    for (const Cell& source : derivation.sources) {
        const bool known = std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
            return cell.step == source.step && cell.indices == source.indices;
        });
        const bool parameter = find_step(table, source.step).kind == Step::Kind::parameter;
        if (!known && !parameter && cells.size() < top) cells.push_back(source);
    }
    return cells;
}

/// Returns the derivation of a cell, with the effect of a mistake.
Derivation explained(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell) {
    Derivation derivation = derive(plan, table, ledger, cell);
    const Step& step = find_step(table, cell.step);
    if (!step.mistake.empty()) derivation.remarks.push_back("! " + step.mistake.visible());
    for (const auto& [name, ids] : mistakes_in_step({plan, table, step})) {
        derivation.remarks.push_back("! computed from " + name + ", with " +
                                     (ids == users_rule ? "" : "the mistake ") + ids);
    }
    return derivation;
}

void add_derivation(std::string& text, const Plan& plan, const StepTable& table,
                    const Ledger& ledger, const Cell& cell, const WhyOptions& options,
                    std::size_t level) {
    const Derivation derivation = explained(plan, table, ledger, cell);
    const std::string indent(2 * level, ' ');
    const Decimals decimals(derivation);
    const bool boolean = ledger[cell.step].dtype() == DType::boolean;
    const std::string value = boolean ? (cell.value != 0 ? "True" : "False")
                              : ledger[cell.step].dtype() == DType::int64
                                  ? fmt::format("{:.0f}", cell.value)
                                  : decimals.text(cell.value);
    const CellText address = [&](const Cell& each) { return cell_text(plan, table, ledger, each); };
    const Ink& ink = options.ink;
    text += indent + ink.of(ink.heading, address(cell) + " = " + value) + "\n";
    text += indent + ink.of(ink.formula, "  = " + derivation.rule) + "\n";
    if (!derivation.side.empty()) text += fmt::format("{}  = {}\n", indent, derivation.side);
    if (!derivation.arithmetic.empty()) {
        text += fmt::format("{}  = {}\n", indent, derivation.arithmetic);
    }
    if (!derivation.terms.empty()) add_terms(text, indent, derivation, options.top, address);
    for (const std::string& remark : derivation.remarks) text += indent + "  " + remark + "\n";
    if (level + 1 >= options.depth) return;
    for (const Cell& source : next_cells(table, derivation, options.top)) {
        add_derivation(text, plan, table, ledger, source, options, level + 1);
    }
}

/// Returns the law for a step of the standard walk. Other rules for a step follow laws of their
/// own.
std::optional<Law> law_of(const Plan& plan, const StepTable& table, const Cell& cell) {
    const Step& step = find_step(table, cell.step);
    const bool is_standard = step.file.empty() && step.mistake.empty();
    return is_standard ? law_for(cell.step, plan) : std::nullopt;
}

nlohmann::ordered_json json_of(const Cell& cell) {
    return {{"step", cell.step},
            {"indices", cell.indices},
            {"value", nlohmann::ordered_json::parse(json_number(cell.value))}};
}

nlohmann::ordered_json json_of(const Plan& plan, const StepTable& table, const Ledger& ledger,
                               const Cell& cell, const WhyOptions& options, std::size_t level) {
    const Derivation derivation = explained(plan, table, ledger, cell);
    nlohmann::ordered_json json = json_of(cell);
    json["rule"] = derivation.rule;
    json["terms"] = nlohmann::ordered_json::array();
    for (const Term& term : derivation.terms) {
        nlohmann::ordered_json entry{{"left", json_of(term.left)}};
        if (term.right) entry["right"] = json_of(*term.right);
        if (!term.form.empty()) entry["form"] = term.form;
        entry["value"] = nlohmann::ordered_json::parse(json_number(term.value));
        json["terms"].push_back(entry);
    }
    json["rounding"] = nlohmann::ordered_json::parse(json_number(derivation.rounding));
    json["remarks"] = derivation.remarks;
    json["sources"] = nlohmann::ordered_json::array();
    for (const Cell& source : next_cells(table, derivation, options.top)) {
        json["sources"].push_back(level + 1 < options.depth
                                      ? json_of(plan, table, ledger, source, options, level + 1)
                                      : json_of(source));
    }
    return json;
}

}  // namespace

std::string why_text(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell, const WhyOptions& options) {
    std::string text;
    add_derivation(text, plan, table, ledger, cell, options, 0);
    if (const auto law = law_of(plan, table, cell)) text += "law: " + law->text() + "\n";
    return text;
}

std::string why_json(const Plan& plan, const StepTable& table, const Ledger& ledger,
                     const Cell& cell, const WhyOptions& options) {
    nlohmann::ordered_json json = json_of(plan, table, ledger, cell, options, 0);
    if (const auto law = law_of(plan, table, cell)) json["law"] = law->name;
    return json_text(json);
}

}  // namespace attn
