#include "attn/diagnose/intake.hpp"

#include <set>

#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"
#include "attn/text/told.hpp"

namespace attn {
Intake taken_in(const Plan& plan, const Ledger& given, const Ledger& theirs,
                const DiagnoseOptions& options) {
    if (!options.takes_projections) return {given, theirs};
    Intake intake{given, {}};
    std::set<std::string> taken;
    for (const auto& [name, tensor] : theirs.entries()) {
        const auto said = options.steps.find(name);
        const std::vector<std::string> steps =
            said != options.steps.end() ? std::vector{said->second} : known_steps(name);
        const std::string step = steps.empty() ? "" : steps.front();
        std::vector<Reading> ways;
        if (step == "query" || step == "key" || step == "value") {
            const Outline ours = find_step(step_table(plan), step).outline(plan);
            ways = readings(tensor, ours.axes, ours.shape, plan.compute_dtype);
        }
        if (ways.empty()) {
            intake.theirs.record(name, tensor);
        } else {
            intake.given.record(step, ways.front().tensor);
            taken.insert(name);
        }
    }
    if (!taken.empty()) {
        intake.remarks.push_back(
            joined({taken.begin(), taken.end()}) +
            " are taken as they are: no parameters were given to make them from x");
    }
    return intake;
}

void refuse_tensors(const Ledger& theirs, const Ledger& reference) {
    std::vector<std::string> names;
    for (const auto& entry : theirs.entries()) {
        names.push_back(entry.name + " " + shape_text(entry.tensor.shape()));
    }
    std::vector<std::string> ours;
    for (const auto& entry : reference.entries()) ours.push_back(entry.name);
    throw ConfigError((names.empty() ? "there is no tensor to compare"
                                     : "none of " + some_of(names) + " is a step of this walk") +
                      ": say which is which with $map theirs:ours; the steps are "_told +
                      joined(ours));
}

}  // namespace attn
