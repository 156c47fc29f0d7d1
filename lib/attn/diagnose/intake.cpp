#include "attn/diagnose/intake.hpp"

#include <set>

#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"
#include "attn/text/told.hpp"

namespace attn {
namespace {

/// Other --heads than the tensor has.
std::string remark_on_heads(const TheirTensor& theirs, const Plan& plan, const Ledger& reference) {
    const std::string& step = theirs.steps.front();
    const Tensor* ours = reference.find(step);
    const Shape shape = theirs.tensor.shape();
    if (ours == nullptr || shape.size() != 4 || shape == ours->shape()) return {};
    const bool by_head = step == "weights" || step.ends_with("scores");
    if (!by_head || shape[2] != plan.query_len || shape[3] != plan.key_len ||
        !readings(theirs.tensor, *ours).empty()) {
        return {};
    }
    if (shape[1] == plan.heads) return {};
    const std::string heads = std::to_string(shape[1]);
    return theirs.name + " has " + heads + " heads and this walk " + std::to_string(plan.heads) +
           ": pass $heads "_told + heads;
}

/// Weights that are zero for every later key were masked, whatever the flags say.
std::string remark_on_mask(const TheirTensor& weights, const Plan& plan) {
    const Shape shape = weights.tensor.shape();
    const std::size_t keys = plan.key_len;
    if (plan.masks() || plan.query_len != keys || keys < 2) return {};
    if (shape.size() < 2 || shape.back() != keys || shape[shape.size() - 2] != keys) return {};
    for (std::size_t i = 0; i < weights.tensor.size(); ++i) {
        if (i % keys > i / keys % keys && weights.tensor.at(i) != 0) return {};
    }
    return weights.name +
           " is 0 for every later key, and this walk hides nothing: pass $mask causal if it "
           "should not see them"_told;
}

}  // namespace

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

std::vector<std::string> remarks_on(const std::vector<TheirTensor>& theirs, const Plan& plan,
                                    const Ledger& reference) {
    std::vector<std::string> remarks;
    for (const TheirTensor& each : theirs) {
        const std::string remark = remark_on_heads(each, plan, reference);
        if (remark.empty()) continue;
        remarks.push_back(remark);
        break;
    }
    for (const TheirTensor& each : theirs) {
        if (each.steps.front() != "weights") continue;
        const std::string remark = remark_on_mask(each, plan);
        if (remark.empty()) break;
        remarks.push_back(remark);
    }
    return remarks;
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
