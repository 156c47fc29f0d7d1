#include <algorithm>

#include "attn/core/cards/attention_axes.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

void check_names(const WalkConfig& config) {
    std::vector<std::string> forms, settings;
    for (const auto& file : config.attentions) {
        for (const std::string& form : file->forms) {
            forms.push_back(form);
            if (config.attentions.size() > 1) forms.push_back(file->name + "=" + form);
        }
        for (const AttentionNumber& each : file->settings) settings.push_back(each.name);
    }
    const auto require = [](const std::string& name, const std::vector<std::string>& all,
                            const std::string& what) {
        if (std::ranges::find(all, name) != all.end()) return;
        throw ConfigError("this attention has no " + what + " " + name +
                          (all.empty() ? ": leave it out" : ": it has " + joined(all, " ")));
    };
    for (std::string_view rest = config.form; !rest.empty();) {
        const std::string each(next_part(rest, ","));
        require(each, forms, "form");
    }
    for (const auto& [name, number] : config.attention_settings) require(name, settings, "setting");
}

void require_reader(const AttentionFile& file, const AttentionStep& specified,
                    const std::set<std::string>& needed, Step& step) {
    if (needed.contains(step.name)) return;
    if (!specified.extends.empty()) {
        file.refuse(specified.line,
                    step.name + " extends " + specified.extends +
                        ", but no step after it "
                        "reads them: leave `after` out, or place it before they are read");
    }
    step.remarks += std::string(step.remarks.empty() ? "" : " ") + "No step reads it.";
}

void require_merged_sizes(const AttentionFile& file, const StepTable& table, const Plan& plan) {
    if (!has_step(table, plan, "merged")) return;
    const PlannedStep merged{plan, table, find_step(table, "merged")};
    const Step& last = find_step(table, merged.latest(Chain::contexts));
    const Outline result_outline = last.outline(plan);
    const std::size_t axes = result_outline.shape.size();
    const bool fits = axes > 2 && result_outline.shape[axes - 3] == merged_heads(plan) &&
                      result_outline.shape[axes - 1] == merged_width(plan);
    const auto specified = std::ranges::find_if(
        file.steps, [&](const AttentionStep& each) { return each.rule.step == last.name; });
    if (fits || specified == file.steps.end()) return;
    file.refuse(specified->line,
                last.name + " is " + described(result_outline.axes, result_outline.shape) +
                    ", and a context of " + std::to_string(merged_heads(plan)) + " heads with " +
                    std::to_string(merged_width(plan)) +
                    " features is merged: declare its letters, as in axis g < H / 2, and write "
                    "all of them");
}

}  // namespace attn
