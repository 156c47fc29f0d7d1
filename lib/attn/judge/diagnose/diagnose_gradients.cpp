#include "attn/judge/diagnose/diagnose_gradients.hpp"

#include <algorithm>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/gradient_search.hpp"

namespace attn {
namespace {

/// True if flash attention code uses this name for the sum of weights times their gradients.
bool is_row_dot(const std::string& name) {
    return name == "row_dot" || name == "delta" || name == "D" || name == "Di" || name == "D_i";
}

/// Finds the user's gradients, and reads each as the step that its own tensor was read as.
std::vector<TheirGradient> gradients_in(const GradientsAsked& asked, const WayBack& way,
                                        const Ledger& theirs, std::vector<Skipped>& skipped) {
    std::vector<TheirGradient> all;
    for (const auto& [name, tensor] : theirs.entries()) {
        const std::string of = differentiated(name, theirs);
        std::vector<std::string> steps =
            of == "row_dot" ? std::vector{of} : known_steps(of, kept_table(*asked.forward.plan));
        if (const auto said = asked.options.steps.find(name); said != asked.options.steps.end()) {
            steps = {said->second};
        }
        if (of.empty() && steps.empty()) continue;
        const auto read = std::ranges::find_if(asked.forward.steps, [&](const StepVerdict& each) {
            return each.theirs_name == of || (of.size() == 1 && each.theirs_name == lower(of)) ||
                   (of.size() == 1 && lower(each.theirs_name) == of);
        });
        const bool turned = read != asked.forward.steps.end() && !read->layout.empty();
        if (read != asked.forward.steps.end()) {
            const bool scores =
                is_scores(*asked.forward.plan, read->name) || read->name == "weights";
            if (!scores) steps.clear();
            std::erase(steps, read->name);
            steps.insert(steps.begin(), read->name);
        } else if (asked.options.takes_projections && !steps.empty() &&
                   (steps[0] == "query" || steps[0] == "key" || steps[0] == "value")) {
            steps.resize(1);
        }
        if (!steps.empty() && steps.front() == "x") steps.resize(1);
        for (std::string& step : steps) {
            if (step != "row_dot") step = "d_" + step;
        }
        std::erase_if(steps, [&, &tensor = tensor](const std::string& step) {
            if (!way.has(step)) return true;
            const Outline ours = find_step(way.table, step).outline(way.plan);
            return readings(tensor, ours.axes, ours.shape, DType::float64).empty();
        });
        if (steps.empty()) {
            skipped.push_back({name, "this walk has no such gradient of that shape"});
            continue;
        }
        all.push_back({name, tensor, steps, epsilon_of_half(tensor), turned});
    }
    const DType type = asked.forward.plan->compute_dtype;
    share_types(all, is_16_bit(type) ? epsilon(type) : 0);
    for (TheirGradient& each : all) {
        const bool coarse = each.tensor.dtype() != DType::float64 || type != DType::float64;
        if (each.epsilon == 0) each.epsilon = coarse ? 0x1p-24 : 0x1p-53;
    }
    return all;
}

}  // namespace

std::string differentiated(const std::string& name, const Ledger& file) {
    if (is_row_dot(name)) return "row_dot";
    const auto is_tensor = [&](const std::string& rest) {
        return file.has(rest) || !known_steps(rest).empty();
    };
    for (const std::string end : {".grad", "_grad", "_gradient"}) {
        const std::string rest = name.substr(0, name.size() - std::min(name.size(), end.size()));
        if (name.ends_with(end) && is_tensor(rest)) return rest;
    }
    if (name.starts_with("grads.") || name.starts_with("grads/")) return name.substr(6);
    if (!known_steps(name).empty()) return {};
    const std::string last = name.substr(name.find_last_of("./:") + 1);
    for (const std::string begin :
         {"d_", "grad_", "gradient_", "dL_d", "dl_d", "dL/d", "dLd", "d", "grad", "g"}) {
        for (const std::string& each : {name, last}) {
            if (each.size() <= begin.size() || !each.starts_with(begin)) continue;
            const std::string rest = each.substr(begin.size());
            const bool is_short = begin == "g" && rest.size() > 1;
            if (!is_short && is_tensor(rest)) return rest;
        }
    }
    return {};
}

GradientDiagnosis diagnose_gradients(const GradientsAsked& asked, const Ledger& theirs) {
    Ledger others;
    for (const Skipped& each : asked.forward.skipped) {
        if (const Tensor* tensor = theirs.find(each.name)) others.record(each.name, *tensor);
    }
    std::optional<GradientDiagnosis> best;
    const std::vector<Finding>& findings = asked.forward.findings;
    for (const bool with_mistakes : {true, false}) {
        if (!with_mistakes && findings.empty()) continue;
        StepTable table = step_table(*asked.forward.plan);
        for (const Finding& each : findings) {
            for (const Mistake* made : each.made()) {
                if (with_mistakes) table = made->apply(std::move(table), *asked.forward.plan);
            }
        }
        try {
            const Ledger& from = with_mistakes ? asked.forward.read : asked.forward.given;
            WayBack way(*asked.forward.plan, from, std::move(table), asked.loss.value_or(Loss()));
            std::vector<Skipped> skipped;
            std::vector<TheirGradient> gradients = gradients_in(asked, way, theirs, skipped);
            if (gradients.empty() && skipped.empty()) return {};
            GradientDiagnosis found;
            if (!gradients.empty()) {
                found = GradientSearch(asked, way, std::move(gradients), others).best();
            }
            found.skipped.insert(found.skipped.begin(), skipped.begin(), skipped.end());
            found.of_theirs = with_mistakes && !findings.empty();
            const auto cost_of = [](const GradientDiagnosis& each) {
                return cost::harmless *
                           static_cast<double>(each.wrong.size() + each.skipped.size()) +
                       (each.open ? cost::unknown : 0);
            };
            if (!best || cost_of(found) < cost_of(*best)) best = std::move(found);
        } catch (const ConfigError&) {
            if (!with_mistakes || findings.empty()) throw;  // a mistake without a rule
        }
        if (best && best->wrong.empty() && !best->open) break;
    }
    return best.value_or(GradientDiagnosis());
}

}  // namespace attn
