#include "attn/core/walk/step.hpp"

#include <algorithm>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

const std::string& PlannedStep::latest(Chain chain) const {
    const std::string* latest = nullptr;
    for (const Step& other : table) {
        if (other.name == step.name) break;
        if (other.chain == chain && other.applies(plan)) latest = &other.name;
    }
    if (latest == nullptr) throw ConfigError("there is no step before " + step.name);
    return *latest;
}

const std::string& PlannedStep::before() const { return latest(step.chain); }

bool PlannedStep::reads(const std::string& tensor) const {
    return std::ranges::any_of(step.reads(plan),
                               [&](const Input& input) { return name_of(input) == tensor; });
}

bool has_step(const StepTable& table, const Plan& plan, std::string_view name) {
    return std::ranges::any_of(
        table, [&](const Step& step) { return step.name == name && step.applies(plan); });
}

const Step& find_step(const StepTable& table, std::string_view name) {
    for (const Step& step : table) {
        if (step.name == name) return step;
    }
    std::vector<std::string> names;
    for (const Step& step : table) names.push_back(step.name);
    throw ConfigError("there is no step '" + std::string(name) + "'" +
                      did_you_mean(name, names, ": attn-explain $list-steps lists them"_message));
}

Chains chains_of(const StepTable& table) {
    Chains chains;
    for (const Step& step : table) {
        if (step.chain == Chain::none) continue;
        chains[static_cast<std::size_t>(step.chain)].push_back(step.name);
    }
    return chains;
}

Tensor with_axes_of(const Step& step, const Plan& plan, const Tensor& given) {
    Axes axes = step.outline(plan).axes;
    return axes.size() == given.dimension() ? given.renamed(std::move(axes)) : given;
}

}  // namespace attn
