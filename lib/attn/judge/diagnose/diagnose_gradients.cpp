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
std::vector<UserGradient> gradients_in(const RequestedGradients& requested, const BackwardPass& way,
                                       const Ledger& user_tensors, std::vector<Skipped>& skipped) {
    std::vector<UserGradient> all;
    for (const auto& [name, tensor] : user_tensors.entries()) {
        const std::string of = differentiated(name, user_tensors);
        std::vector<std::string> steps = of == "row_dot"
                                             ? std::vector{of}
                                             : known_steps(of, kept_table(*requested.forward.plan));
        if (const auto specified = requested.options.steps.find(name);
            specified != requested.options.steps.end()) {
            steps = {specified->second};
        }
        if (of.empty() && steps.empty()) continue;
        const auto read =
            std::ranges::find_if(requested.forward.steps, [&](const StepVerdict& each) {
                return each.name_in_file == of ||
                       (of.size() == 1 && each.name_in_file == lower(of)) ||
                       (of.size() == 1 && lower(each.name_in_file) == of);
            });
        const bool turned = read != requested.forward.steps.end() && !read->layout.empty();
        if (read != requested.forward.steps.end()) {
            const bool scores =
                is_scores(*requested.forward.plan, read->name) || read->name == "weights";
            if (!scores) steps.clear();
            std::erase(steps, read->name);
            steps.insert(steps.begin(), read->name);
        } else if (requested.options.takes_projections && !steps.empty() &&
                   (steps[0] == "query" || steps[0] == "key" || steps[0] == "value")) {
            steps.resize(1);
        }
        if (!steps.empty() && steps.front() == "x") steps.resize(1);
        for (std::string& step : steps) {
            if (step != "row_dot") step = "d_" + step;
        }
        std::erase_if(steps, [&, &tensor = tensor](const std::string& step) {
            if (!way.has(step)) return true;
            const Outline correct = find_step(way.table, step).outline(way.plan);
            return readings(tensor, correct.axes, correct.shape, DType::float64).empty();
        });
        if (steps.empty()) {
            skipped.push_back({name, "this walk has no such gradient of that shape"});
            continue;
        }
        all.push_back({name, tensor, steps, epsilon_of_half(tensor), turned});
    }
    const DType type = requested.forward.plan->compute_dtype;
    share_types(all, is_16_bit(type) ? epsilon(type) : 0);
    for (UserGradient& each : all) {
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

GradientDiagnosis diagnose_gradients(const RequestedGradients& requested,
                                     const Ledger& user_tensors) {
    Ledger others;
    for (const Skipped& each : requested.forward.skipped) {
        if (const Tensor* tensor = user_tensors.find(each.name)) others.record(each.name, *tensor);
    }
    std::optional<GradientDiagnosis> best;
    const std::vector<Finding>& findings = requested.forward.findings;
    for (const bool with_mistakes : {true, false}) {
        if (!with_mistakes && findings.empty()) continue;
        StepTable table = step_table(*requested.forward.plan);
        for (const Finding& each : findings) {
            for (const Mistake* mistake : each.applied()) {
                if (with_mistakes)
                    table = mistake->apply(std::move(table), *requested.forward.plan);
            }
        }
        try {
            const Ledger& from = with_mistakes ? requested.forward.read : requested.forward.given;
            BackwardPass way(*requested.forward.plan, from, std::move(table),
                             requested.loss.value_or(Loss()));
            std::vector<Skipped> skipped;
            std::vector<UserGradient> gradients =
                gradients_in(requested, way, user_tensors, skipped);
            if (gradients.empty() && skipped.empty()) return {};
            GradientDiagnosis found;
            if (!gradients.empty()) {
                found = GradientSearch(requested, way, std::move(gradients), others).best();
            }
            found.skipped.insert(found.skipped.begin(), skipped.begin(), skipped.end());
            found.of_user_pass = with_mistakes && !findings.empty();
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
