#include <algorithm>
#include <memory>
#include <mutex>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/conditions.hpp"
#include "attn/core/plan/text_lines.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Conditions for a mistake to show: `needs EXPRESSION else REASON`.

namespace attn {
namespace {

struct Need {
    PlanValue value;     ///< true unless it is 0
    std::string reason;  ///< settings have a dollar before their name
};

/// Returns a fact of the plan; a condition of attention files, with `_` in place of spaces; or, for
/// a step, 1 in walks that have it.
PlanValue value_called(const std::string& name) {
    if (PlanValue fact = find_fact(name)) return fact;
    if (const auto condition = find_condition(replaced_all(name, "_", " "))) {
        return [condition](const Plan& plan) { return double(condition(plan)); };
    }
    if (std::ranges::find(step_table(), name, &Step::name) != step_table().end()) {
        return [name](const Plan& plan) { return double(walk_has(plan, name)); };
    }
    throw ConfigError("needs names '" + name + "', which is not a fact, a step or a condition");
}

PlanValue value_of(const RuleNode& node, double number) {
    if (node.kind == RuleNode::Kind::number) {
        return [value = node.number](const Plan&) { return value; };
    }
    if (node.kind == RuleNode::Kind::name) {
        if (node.word == "N") return [number](const Plan&) { return number; };
        return value_called(node.word);
    }
    const RuleFunction* const function = find_rule_function(node.word, node.parts.size());
    if (function == nullptr) throw ConfigError("needs cannot contain '" + node.word + "'");
    const PlanValue left = value_of(*node.parts[0], number);
    if (node.parts.size() == 1) {
        return [=](const Plan& plan) { return function->value(left(plan), 0); };
    }
    const PlanValue right = value_of(*node.parts[1], number);
    // The right side of `and` is defined only if the left side is true.
    if (node.word == "and") {
        return [=](const Plan& plan) { return left(plan) == 0 ? 0 : right(plan); };
    }
    if (node.word == "or") {
        return [=](const Plan& plan) { return left(plan) != 0 ? 1 : right(plan); };
    }
    return [=](const Plan& plan) { return function->value(left(plan), right(plan)); };
}

Need need_of(std::string_view remainder, const MistakeText& text, double number) {
    constexpr std::string_view otherwise = " else ";
    const std::size_t at = remainder.find(otherwise);
    if (at == remainder.npos) {
        text.refuse("'" + std::string(remainder) +
                    "' is not a named need, and lacks its reason, as "
                    "in needs Tk > 1 else there is only one key");
    }
    try {
        return {plan_value(remainder.substr(0, at), number),
                std::string(remainder.substr(at + otherwise.size()))};
    } catch (const ConfigError& error) {
        text.refuse(error.what());
    }
}

std::vector<NotApplicable> reasons_of(const MistakeText& text, double number) {
    std::vector<NotApplicable> reasons;
    const auto add = [&](std::string_view remainder) {
        reasons.push_back([need = need_of(remainder, text, number)](const Plan& plan) {
            if (need.value(plan) != 0) return std::string();
            return operator""_message(need.reason.data(), need.reason.size());
        });
    };
    for (const MistakeLine& line : text.lines) {
        if (line.word != "needs") continue;
        if (line.remainder.find(" else ") != std::string::npos) {
            add(line.remainder);
            continue;
        }
        for (std::string_view rest = line.remainder; !rest.empty();) {
            const std::string_view name = next_part(rest, ",");
            if (name == "room for repeats") {
                reasons.push_back(repeats_exceed_memory);
                continue;
            }
            const std::vector<std::string> known = needs_called(name);
            if (known.empty()) add(name);
            for (const std::string& each : known) add(each);
        }
    }
    return reasons;
}

}  // namespace

PlanValue plan_value(std::string_view remainder, double number) {
    return value_of(*parse_expression(remainder), number);
}

NotApplicable needs_of(std::shared_ptr<const MistakeText> text, double number) {
    // Parsed on first use: most mistakes are only listed.
    struct Reasons {
        std::once_flag once;
        std::vector<NotApplicable> all;
    };
    return
        [text = std::move(text), number, reasons = std::make_shared<Reasons>()](const Plan& plan) {
            std::call_once(reasons->once, [&] { reasons->all = reasons_of(*text, number); });
            for (const NotApplicable& each : reasons->all) {
                if (std::string reason = each(plan); !reason.empty()) return reason;
            }
            return std::string();
        };
}

}  // namespace attn
