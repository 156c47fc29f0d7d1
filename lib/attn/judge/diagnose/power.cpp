#include "attn/judge/diagnose/user_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace attn {
namespace {

/// Returns x and the weights scaled to a size of about 1 if they are as small as those of a freshly
/// initialised model; nullopt if none is.
std::optional<Ledger> with_usual_sizes(const Ledger& given) {
    Ledger louder;
    bool any = false;
    for (const auto& [name, tensor] : given.entries()) {
        const double size = usual_size(tensor);
        const bool is_quiet =
            size > 0 && size < 0.1 && tensor.is_floating() && tensor.dimension() > 1;
        louder.record(
            name, is_quiet ? mapped(tensor, [&](auto cell) { return cell * (1 / size); }) : tensor);
        any = any || is_quiet;
    }
    return any ? std::optional(std::move(louder)) : std::nullopt;
}

void add_lines(std::string& text, const std::string& head, const std::string& body) {
    text += head + "\n";
    for (const std::string& line : wrap(body, 76)) text += "  " + line + "\n";
}

}  // namespace

Power power(const Plan& plan, const Ledger& given) {
    const DiagnoseOptions options;
    const Judge judge(plan, given, options);
    const Ledger reference = walk(plan, given);
    const std::string last = reference.entries().back().name;
    const auto is_same = [&](const Tensor& a, const Tensor& b) {
        return judge(last, {}, a, b, false).right();
    };
    Power result;
    std::vector<Tensor> outcomes;
    for (const Mistake* each : mistakes_in(plan)) {
        const Mistake& mistake = *each;
        if (const std::string reason = mistake.why_not(plan); !reason.empty()) {
            result.blind.push_back({&mistake, reason});
            continue;
        }
        const std::optional<Ledger> wrong = walk_with(mistake, plan, given);
        if (!wrong) {
            result.blind.push_back({&mistake, "this attention lacks its inputs"});
            continue;
        }
        const Tensor& outcome = wrong->entries().back().tensor;
        if (mistake.by_chance || is_same(outcome, reference[last])) {
            const auto differs = [&](const Ledger::Entry& right) {
                const Tensor* const other = wrong->find(right.name);
                return !other || !judge(right.name, {}, *other, right.tensor, false).right();
            };
            if (std::ranges::any_of(reference.entries(), differs)) {
                result.inside.push_back(&mistake);
            } else {
                result.blind.push_back({&mistake, "it changes no number of this input"});
            }
            continue;
        }
        std::size_t group = 0;
        while (group < outcomes.size() && !is_same(outcome, outcomes[group])) ++group;
        if (group == outcomes.size()) {
            outcomes.push_back(outcome);
            result.groups.emplace_back();
        }
        result.groups[group].push_back(&mistake);
    }
    return result;
}

std::vector<const Mistake*> below_rounding(const Diagnosis& diagnosis) {
    constexpr std::size_t most_scores = 4096;  // two walks per mistake are fast enough
    std::vector<const Mistake*> below;
    const Plan& plan = *diagnosis.plan;
    if (plan.batch * plan.heads * plan.query_len * plan.key_len > most_scores) return below;
    const std::optional<Ledger> louder = with_usual_sizes(diagnosis.given);
    const auto is_half = [](const StepVerdict& step) { return step.epsilon != 0; };
    if (!louder && std::ranges::none_of(diagnosis.steps, is_half)) return below;
    const DiagnoseOptions options;
    const Ledger& loud = louder ? *louder : diagnosis.given;
    const Judge judge(plan, diagnosis.given, options), loud_judge(plan, loud, options);
    const auto shows = [&](const Mistake& mistake, const Ledger& given, const Judge& judges) {
        const std::optional<Ledger> wrong = walk_with(mistake, plan, given);
        return wrong && std::ranges::any_of(diagnosis.steps, [&](const StepVerdict& step) {
                   const Tensor* const right = judges.reference().find(step.name);
                   const Tensor* const other = wrong->find(step.name);
                   UserTensor as_user_tensor;
                   if (&judges == &judge) as_user_tensor.epsilon = step.epsilon;
                   return right && other &&
                          !judges(step.name, as_user_tensor, *other, *right, false).right();
               });
    };
    for (const Mistake* mistake : mistakes_in(plan)) {
        if (mistake->by_chance || !mistake->applies(plan)) continue;
        if (!shows(*mistake, diagnosis.given, judge) && shows(*mistake, loud, loud_judge)) {
            below.push_back(mistake);
        }
    }
    return below;
}

WalkConfig probe_config() {
    return configured(
        "batch 3, seq-len 5, heads 2, head-dim 4, bias, output-projection, output-bias, "
        "mask causal,padding, lengths 5,3,5");
}

WalkConfig probe_config(WalkConfig requested) {
    if (std::holds_alternative<RandomInput>(requested.input)) {
        if (!requested.batch) requested.batch = 3;
        if (!requested.query_len) requested.query_len = 7;
    }
    const Plan plan = resolve(requested);
    const Ledger drawn = draw(plan);
    if (const Tensor* x = drawn.find("x"); x != nullptr && plan.caps()) {
        // Scales the input so that scores come near the cap; small scores would not be capped.
        const double loudest = usual_size(walk(plan, drawn)["scaled_scores"]);
        const double factor = std::sqrt(0.3 * plan.config.softcap / loudest);
        if (factor > 1) requested.input = mapped(*x, [&](auto cell) { return cell * factor; });
    }
    // Gains of 1 and biases of 0, as at initialisation, are replaced by distinct numbers, so that
    // one left out or exchanged shows. Matrices keep the values that the options set.
    std::size_t uneven = 0;
    for (const auto& [name, even] : drawn.entries()) {
        const bool learns = find_step(kept_table(plan), name).kind == Step::Kind::parameter;
        const std::vector<double> all = even.numbers();
        const double first = all.empty() ? 2 : all[0];
        const bool is_even =
            (first == 0 || first == 1) &&
            std::ranges::count(all, first) == static_cast<std::ptrdiff_t>(all.size());
        if (!learns || !is_even || name.starts_with("w_") || requested.parameters.has(name))
            continue;
        requested.parameters.record(name, tensor_like(even, [&](std::size_t i) {
                                        return first - 0.5 +
                                               0.25 * static_cast<double>((i * 3 + uneven) % 7);
                                    }));
        ++uneven;
    }
    return requested;
}

std::string power_text(const Power& power) {
    std::vector<const Mistake*> alone;
    std::string together;
    for (const auto& group : power.groups) {
        if (group.size() == 1) {
            alone.push_back(group.front());
        } else {
            together += "  " + ids_of(group) + "\n";
        }
    }
    std::string text;
    add_lines(text,
              std::to_string(alone.size()) +
                  " mistakes are visible in the result and can be distinguished:",
              ids_of(alone));
    if (!together.empty())
        text += "these are visible in the result, but indistinguishable:\n" + together;
    if (!power.inside.empty()) {
        add_lines(text,
                  "these are visible only if the step itself is given:", ids_of(power.inside));
    }
    if (!power.blind.empty()) text += "these are not visible with this input:\n";
    for (const Power::Blind& blind : power.blind) {
        text += fmt::format("  {:<27} {}\n", blind.mistake->id, blind.reason);
    }
    return text;
}

std::string power_json(const Power& power) {
    nlohmann::ordered_json json;
    json["groups"] = nlohmann::ordered_json::array();
    for (const auto& group : power.groups) json["groups"].push_back(ids_in(group));
    json["visible_in_step"] = ids_in(power.inside);
    json["not_visible"] = nlohmann::ordered_json::array();
    for (const Power::Blind& blind : power.blind) {
        json["not_visible"].push_back({{"id", blind.mistake->id}, {"reason", blind.reason}});
    }
    return json_text(with_former_names(json));
}

}  // namespace attn
