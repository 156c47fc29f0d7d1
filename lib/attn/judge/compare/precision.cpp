#include "attn/judge/compare/precision.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/bounds/radius.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/judge/compare/forms.hpp"
#include "attn/judge/compare/other_shapes.hpp"

namespace attn {
namespace {

double digits_lost(const Tensor& tensor, const Tensor& exact, DType type) {
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double number = exact.at(i), error = tensor.at(i) - number;
        if (!same_number(tensor.at(i), number)) errors += error * error;
        if (std::isfinite(number)) squares += number * number;
    }
    if (errors == 0) return 0;
    const double lost = std::log10(std::sqrt(errors / squares) / rounding_of(type).unit);
    return std::isfinite(lost) ? std::max(lost, 0.0) : std::nan("");
}

/// Adds the digits that a form loses at one number of tokens.
void add_lost(const Plan& plan, const AttentionFile& file, std::int64_t tokens,
              FormPrecision& precision) {
    const StepTable& table = step_table(plan);
    const Ledger walked = walk(plan, draw(plan), table);
    Plan finer = plan;
    finer.config.compute_dtype = finer.compute_dtype = DType::float64;
    // The inputs are those rounded by the walk.
    Ledger given;
    for (const auto& [name, tensor] : walked.entries()) {
        const Step& step = find_step(table, name);
        if (step.kind == Step::Kind::input || step.kind == Step::Kind::parameter) {
            given.record(name, tensor.is_floating() ? cast(tensor, DType::float64) : tensor);
        }
    }
    const Ledger exact = walk(finer, given, step_table(finer));
    precision.steps.clear();
    for (const Step& step : table) {
        const Tensor* const computed = walked.find(step.name);
        const bool is_own = !step.file.empty() || std::ranges::count(file.same, step.name) > 0;
        if (!is_own || !computed || !computed->is_floating() || given.has(step.name)) continue;
        precision.steps.push_back(step.name);
        precision.lost[tokens].push_back(
            digits_lost(*computed, exact[step.name], plan.compute_dtype));
    }
}

}  // namespace

std::vector<FormPrecision> precision_of_forms(const Plan& plan, const AttentionFile& file) {
    constexpr double most_seconds = 3;
    std::vector<FormPrecision> all;
    for (const std::string& form : file.forms) {
        FormPrecision& precision = all.emplace_back(FormPrecision{form});
        double seconds = 0, before = 0;
        for (const std::int64_t tokens : {64, 256, 1024}) {
            const std::optional<Plan> longer =
                reshaped(with_form(plan, file, form), with_length(tokens));
            // A quadratic form takes 16 times as long, a cubic one 64 times: as much more as
            // before.
            const double next = seconds * std::max(before > 0 ? seconds / before : 0, 16.0);
            if (!longer) {
                precision.skipped[tokens] = "its inputs or settings fix the number of tokens";
            } else if (next > most_seconds) {
                precision.skipped[tokens] = "it would take about " + brief(next) + " seconds";
            } else {
                // Time of the processor: other programs on the machine do not change it.
                const std::clock_t start = std::clock();
                add_lost(*longer, file, tokens, precision);
                before = seconds;
                seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
            }
        }
    }
    return all;
}

}  // namespace attn
