#include "attn/judge/mistakes/mistake.hpp"

#include <algorithm>
#include <optional>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

/// Parses `g_query = 1 2 3 4`: a parameter, with semicolons between rows.
void give(Ledger& parameters, std::string_view remainder) {
    const std::string name(next_token(remainder));
    next_token(remainder);  // the sign
    std::vector<double> cells;
    std::size_t rows = 0;
    while (!remainder.empty()) {
        ++rows;
        for (std::string_view row = next_part(remainder, ";"); !row.empty();) {
            cells.push_back(*parse_number(next_token(row)));
        }
    }
    Array<double> array =
        empty_array<double>(rows == 1 ? Shape{cells.size()} : Shape{rows, cells.size() / rows});
    std::ranges::copy(cells, array.data());
    const Axes axes = rows == 1 ? Axes{"feature"} : Axes{"bucket", "head"};
    parameters.record(name, Tensor(axes, std::move(array)));
}

}  // namespace

std::optional<Plan> witness_of(const Mistake& mistake) {
    if (mistake.of_file) return std::nullopt;
    WalkConfig config = configured(mistake.witness);
    for (const std::string& remainder : mistake.given) give(config.parameters, remainder);
    return resolve(config);
}

std::vector<RulePair> rule_pairs(const Mistake& mistake) {
    const std::optional<Plan> plan = witness_of(mistake);
    return plan && mistake.applies(*plan) ? rule_pairs(mistake, *plan) : std::vector<RulePair>();
}

std::vector<RulePair> rule_pairs(const Mistake& mistake, const Plan& plan) {
    std::vector<RulePair> beside;
    const StepTable right = step_table(plan);
    const StepTable wrong = mistake.apply(right, plan);
    for (std::size_t i = 0; i < right.size(); ++i) {
        if (!right[i].applies(plan)) continue;
        RulePair rules{displayed_rule({plan, right, right[i]}),
                       displayed_rule({plan, wrong, wrong[i]})};
        // Add the shared leading axes if the wrong rule names them.
        const auto indices = [](const std::string& rule) {
            return std::count(
                rule.begin(),
                rule.begin() + static_cast<std::ptrdiff_t>(std::min(rule.find('='), rule.size())),
                ',');
        };
        if (indices(rules.wrong) > indices(rules.right) && !rules.right.empty()) {
            rules.right = rule_text(*rule_of({plan, right, right[i]}));
        }
        if (!rules.right.empty() && !rules.wrong.empty() && rules.right != rules.wrong) {
            beside.push_back(rules);
        }
    }
    return beside;
}

}  // namespace attn
