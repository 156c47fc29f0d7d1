#include <algorithm>
#include <iterator>

#include "app/commands/diagnose_setup.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/ground/text/strings.hpp"

// The gradients among the user's tensors.

namespace app {
namespace {

/// Describes a mistake of the backward pass in one line.
std::string finding_text(const attn::GradientFinding& finding) {
    const std::string at = finding.step + (finding.alone ? ", alone: " : ": ");
    if (finding.mistake() == nullptr) {
        std::string text = "  " + finding.step + ": no known backward mistake explains it";
        if (!finding.follows.empty()) {
            text += "\n    it follows another rule, with " + finding.followed_by + ": " +
                    finding.follows;
        }
        for (const std::string& line : finding.evidence) text += "\n    " + line;
        return text + "\n";
    }
    std::string text;
    std::vector<const attn::Mistake*> all = finding.as(attn::Role::makes);
    const bool is_pair = all.size() > 1;
    if (!is_pair) std::ranges::copy(finding.as(attn::Role::ties), std::back_inserter(all));
    for (const attn::Mistake* mistake : all) {
        const bool is_first = mistake == all.front();
        text += "  " +
                (is_first ? (finding.step.empty() ? "" : at)
                          : std::string(is_pair ? "and " : "or, with the same numbers, ")) +
                mistake->id + ": " + mistake->title.visible() +
                "\n    fix: " + attn::visible_lines(mistake->fix_torch.raw(), false) + "\n";
    }
    return text;
}

}  // namespace

std::optional<attn::Loss> specified_loss(const Arguments& arguments, const attn::Plan& plan) {
    const attn::StepTable& table = attn::step_table(plan);
    if (arguments.has(flags::loss)) return loss_of(arguments, plan, table);
    if (!arguments.has(flags::given)) return std::nullopt;
    const attn::Ledger given = read_ledger(arguments[flags::given], true);
    for (const attn::Step& step : table) {
        if (!step.applies(plan) || step.chain != attn::Chain::contexts) continue;
        const attn::Tensor *target = given.find("target"), *start = given.find("d_" + step.name);
        const attn::Tensor* tensor = start != nullptr ? start : target;
        if (tensor == nullptr || tensor->shape() != step.outline(plan).shape) continue;
        using Kind = attn::Loss::Kind;
        return attn::Loss{.kind = start != nullptr ? Kind::upstream : Kind::mse,
                          .target = *tensor,
                          .file = arguments[flags::given]};
    }
    return std::nullopt;
}

SplitGradients split_gradients(const Arguments& arguments, const attn::Ledger& file) {
    SplitGradients split;
    const auto is_mapped = [&](const std::string& name) {
        return std::ranges::any_of(arguments[flags::map], [&](const std::string& entry) {
            return entry.starts_with(name + ":d_");
        });
    };
    for (const auto& [name, tensor] : file.entries()) {
        // d_k is a size, not the gradient of k.
        const bool is_gradient = is_mapped(name) || (tensor.dimension() > 0 &&
                                                     !attn::differentiated(name, file).empty());
        (is_gradient ? split.gradients : split.forward).record(name, tensor);
    }
    const bool asks = arguments.has(flags::backward) || arguments.has(flags::loss);
    if (split.gradients.entries().empty() && asks) {
        throw attn::ConfigError(
            std::string(arguments.has(flags::loss) ? "--loss" : "--backward") + ": no tensor of " +
            arguments[flags::file] +
            " is called a gradient: name them dq, grad_q or q.grad, for example");
    }
    // The loss itself is not a step; the gradients computed from it show which loss it is.
    for (const auto& [name, tensor] : file.entries()) {
        const bool is_loss = tensor.size() == 1 && attn::lower(name) == "loss";
        if (is_loss && !split.gradients.entries().empty()) {
            split.forward = split.forward.without(name);
        }
    }
    return split;
}

std::string gradients_text(const attn::GradientDiagnosis& back) {
    if (back.compared.empty() && back.skipped.empty()) return {};
    std::string text =
        "\ngradients: " +
        (back.compared.empty() ? "none compared" : attn::joined(back.compared, ", ")) + "\n";
    for (const attn::Skipped& each : back.skipped) {
        text += "  not compared: " + attn::visible(each.name) + ": " + each.reason + "\n";
    }
    if (!back.assumed.empty()) {
        text += "  assumed: the loss is " + back.assumed +
                "; save the gradient of the output (out.grad) or pass --loss\n";
    } else if (back.open) {
        text +=
            "  not a sum, a mean or squares of the output: which loss is it? Save its gradient "
            "(out.grad) or pass --loss\n";
    }
    if (back.wrong.empty()) {
        const char* whose = back.of_user_pass ? "your own forward pass" : "this walk";
        return back.compared.empty() ? text
                                     : text + "  right: the backward pass matches " + whose + "\n";
    }
    std::vector<std::string> right = back.compared;
    std::erase_if(right,
                  [&](const auto& each) { return std::ranges::count(back.wrong, each) > 0; });
    if (!right.empty() && !back.open) text += "  right: " + attn::joined(right, ", ") + "\n";
    text += "  wrong: " + attn::joined(back.wrong, ", ") + "\n";
    for (const attn::GradientFinding& finding : back.findings) text += finding_text(finding);
    return text;
}

attn::JsonText gradients_json(const attn::GradientDiagnosis& back) {
    std::vector<std::string> ids;
    std::vector<attn::JsonText> findings, skipped;
    for (const attn::GradientFinding& each : back.findings) {
        std::vector<std::string> own;
        for (const attn::Role role : {attn::Role::makes, attn::Role::ties}) {
            for (const attn::Mistake* mistake : each.as(role)) own.push_back(mistake->id);
        }
        ids.insert(ids.end(), own.begin(), own.end());
        findings.push_back({{"step", each.step},
                            {"mistakes", own},
                            {"dependents_right", each.alone},
                            {"follows", each.follows},
                            {"evidence", each.evidence}});
    }
    for (const attn::Skipped& each : back.skipped) {
        skipped.push_back({{"name", each.name}, {"reason", each.reason}});
    }
    return {{"compared", back.compared}, {"wrong", back.wrong},     {"mistakes", ids},
            {"findings", findings},      {"not_compared", skipped}, {"inferred_loss", back.assumed},
            {"undetermined", back.open}};
}

int gradients_code(const attn::GradientDiagnosis& back) {
    const auto is_unknown = [](const auto& each) { return each.mistake() == nullptr; };
    if (back.open || std::ranges::any_of(back.findings, is_unknown)) return no_verdict;
    return back.wrong.empty() ? 0 : 1;
}

}  // namespace app
