#include "attn/judge/mistakes/change.hpp"

#include <algorithm>
#include <memory>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/completed_rule.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Returns the first letters of the last axes: `[h,t,f]`.
std::string index_letters(const Outline& outline, std::size_t most = 4) {
    std::vector<std::string> letters;
    for (const std::string& axis : outline.axes) {
        std::string letter = axis.substr(0, 1);
        while (std::ranges::count(letters, letter) > 0) letter += axis.front();
        letters.push_back(letter);
    }
    std::string text;
    for (std::size_t i = letters.size() - std::min(letters.size(), most); i < letters.size(); ++i) {
        text += (text.empty() ? "[" : ",") + letters[i];
    }
    return text + "]";
}

bool reads_tensor(const Rule& rule, const std::string& name) {
    const std::vector<std::string> read = tensors_read(rule);
    return std::ranges::count(read, name) > 0;
}

std::string lines_of(const Step& step, const StepLines& of) {
    return attn::lines_of({{of.plan, of.table, step}, of.language});
}

/// Returns the names in a rule of this step. The rule may read the step's own result in `right`.
RuleNames names_with_itself(const PlannedStep& of, const Step& right) {
    RuleNames names = rule_names(of);
    const std::string& own = right.name;
    names.step = [before = names.step, own](const std::string& name) {
        return name == own ? own : before(name);
    };
    names.outline = [before = names.outline, &right, plan = &of.plan](const std::string& name) {
        return name == right.name ? right.outline(*plan) : before(name);
    };
    return names;
}

/// Computes a rule, which may not fit after another mistake.
Tensor tensor_of_rule(CompletedRule& completed, const Rule& rule, const Outline& result_outline,
                      DType type, const RuleScope& scope) {
    try {
        return completed.evaluate(rule, result_outline, type, scope);
    } catch (const ConfigError& error) {
        const std::string reason = error.what();
        throw ShapeError("one of these mistakes reads a tensor that another has removed, " +
                         reason.substr(0, reason.find('\n')) + ": make one");
    }
}

/// Makes the step follow the rule.
void follow(Step& step, const WrongRule& instead) {
    // Share one copy: tables are copied for every mistake that is tried.
    const auto right = std::make_shared<const Step>(step);
    const auto wrong = std::make_shared<const WrongRule>(instead);
    if (wrong->outline) step.outline = wrong->outline;
    step.compute = [wrong, right, outline = step.outline, kept = std::make_shared<CompletedRule>()](
                       const Plan& plan, const Ledger& ledger) {
        if (wrong->compute) return wrong->compute(plan, ledger, right->compute);
        std::optional<Tensor> itself;
        RuleScope scope = rule_scope(plan, ledger, right->name);
        scope.tensor = [&, before = scope.tensor](const std::string& name) -> const Tensor& {
            if (name != right->name) return before(name);
            if (!itself) itself = right->compute(plan, ledger);
            return *itself;
        };
        return tensor_of_rule(*kept, wrong->rule(plan), outline(plan), plan.compute_dtype, scope);
    };
    const auto whole = [wrong, right](const PlannedStep& of) {
        return completed(wrong->rule(of.plan), of.step.outline(of.plan),
                         names_with_itself(of, *right));
    };
    step.rule = [wrong, right, whole](const PlannedStep& of) -> Rule {
        const Rule rule = wrong->rule(of.plan);
        if (!reads_tensor(rule, right->name)) return rule;
        const std::optional<Rule> before = rule_of({of.plan, of.table, *right});
        if (!before) return {};
        return inlined(whole(of), [&](const std::string& name) {
            return name == right->name ? before : std::nullopt;
        });
    };
    step.formula = nullptr;
    if (!wrong->formula.empty()) {
        step.formula = [wrong](const PlannedStep&) { return wrong->formula; };
    }
    step.code = [wrong, right, whole](const StepLines& of) {
        if (wrong->lines) return wrong->lines(of, lines_of(*right, of));
        const Rule rule = whole(of);
        const std::string own = rule_lines(rule, of, of.step.outline(of.plan));
        if (own == right->name + " = " + right->name) return lines_of(*right, of);
        return (reads_tensor(rule, right->name) ? lines_of(*right, of) + "\n" : "") + own;
    };
}

/// True if a step after this one reads the tensor.
bool is_read_later(const StepLines& of, const std::string& tensor) {
    const auto here = std::ranges::find(of.table, of.step.name, &Step::name);
    return std::any_of(here + 1, of.table.end(), [&](const Step& step) {
        return step.applies(of.plan) && PlannedStep{of.plan, of.table, step}.reads(tensor);
    });
}

/// A tensor, and the one to read in its place.
struct Instead {
    PlanText tensor;
    PlanText text;

    bool is_rule(const Plan& plan) const { return text(plan).find('=') != std::string::npos; }

    /// Returns its rule under this walk's name; `tensor[...] = other[...]` for another tensor.
    Rule rule(const PlannedStep& of, const std::string& name) const {
        const RuleNames names = rule_names(of);
        const Outline outline = names.outline(name);
        const std::string other = text(of.plan), letters = index_letters(outline);
        const Rule specified(is_rule(of.plan) ? other : name + letters + " = " + name + letters);
        Rule whole = completed(specified, outline, names);
        whole.step = name;
        if (!is_rule(of.plan)) whole.value = read_from(whole.value, name, names.step(other));
        return whole;
    }

    /// Returns the tensor's name in this walk; empty if it has none.
    std::string name(const PlannedStep& of) const {
        const std::string word = tensor(of.plan);
        return chain_called(word) != Chain::none || of.has(word) ? rule_names(of).step(word) : "";
    }

    Ledger read(const Plan& plan, const Ledger& ledger, const std::string& step) const {
        const std::string name = tensor_called(ledger, tensor(plan), step);
        if (!ledger.has(name)) return ledger;
        const Tensor& right = ledger[name];
        Ledger other = ledger;
        if (is_rule(plan)) {
            const Outline result_outline{right.axes(), right.shape()};
            CompletedRule rule;
            other.record(name, tensor_of_rule(rule, text(plan), result_outline, right.dtype(),
                                              rule_scope(plan, ledger, step)));
        } else {
            const Tensor selected = ledger[tensor_called(ledger, text(plan), step)];
            other.record(name, selected.dimension() == right.dimension()
                                   ? selected.renamed(right.axes())
                                   : selected);
        }
        return other;
    }
};

/// Makes the step read another tensor.
void read_instead(Step& step, const Instead& other) {
    const auto right = std::make_shared<const Step>(step);
    const auto instead = std::make_shared<const Instead>(other);
    step.compute = [instead, right](const Plan& plan, const Ledger& ledger) {
        return right->compute(plan, instead->read(plan, ledger, right->name));
    };
    step.reads = [instead, right](const Plan& plan) {
        std::vector<Input> all = right->reads(plan);
        const std::string word = instead->text(plan);
        const Chain chain = chain_called(word);
        if (chain != Chain::none) {
            all.emplace_back(chain);
        } else if (!instead->is_rule(plan)) {
            all.emplace_back(word);
        }
        return all;
    };
    step.rule = [instead, right](const PlannedStep& of) -> Rule {
        const std::optional<Rule> before = rule_of({of.plan, of.table, *right});
        if (!before) return {};
        const std::string name = instead->name(of);
        if (!reads_tensor(*before, name)) return rule_as_displayed({of.plan, of.table, *right});
        Rule body = instead->rule(of, name);
        const std::string mark = "right " + name;
        body.value = read_from(body.value, name, mark);
        Rule whole = inlined(*before, [&](const std::string& each) {
            return each == name ? std::optional(body) : std::nullopt;
        });
        whole.value = read_from(whole.value, mark, name);
        return whole;
    };
    step.formula = nullptr;
    step.code = [instead, right](const StepLines& of) {
        const std::string before = lines_of(*right, of);
        const RuleNames names = rule_names(of);
        const std::string name = instead->name(of);
        const std::optional<Rule> known = rule_of({of.plan, of.table, *right});
        const bool is_read = PlannedStep{of.plan, of.table, *right}.reads(name);
        if (name.empty() || (known && !reads_tensor(*known, name) && !is_read)) return before;
        std::string line = name + " = ";
        if (instead->is_rule(of.plan)) {
            line = rule_lines(instead->rule(of, name), of, names.outline(name));
        } else {
            line += names.step(instead->text(of.plan));
        }
        line += "\n" + before;
        if (!is_read_later(of, name)) return line;
        return "right_" + name + " = " + name + "\n" + line + "\n" + name + " = right_" + name;
    };
}

/// Edits the named steps, or all that are computed.
template <class Edit>
TableEdit to_each(std::vector<std::string> steps, Edit edit) {
    return [steps = std::move(steps), edit](StepTable table, const Plan&) {
        for (Step& step : table) {
            const bool is_computed = step.compute && step.kind != Step::Kind::input;
            const bool is_named = std::ranges::count(steps, step.name) > 0;
            if (steps.empty() ? is_computed : is_named) edit(step);
        }
        return table;
    };
}

std::string latest_of_chain(const std::string& step) {
    switch (find_step(step_table(), step).chain) {
        case Chain::queries:
            return "queries";
        case Chain::keys:
            return "keys";
        case Chain::scores:
            return "scores";
        default:
            return "contexts";
    }
}

}  // namespace

TableEdit follows(WrongRule wrong) {
    return [wrong = std::move(wrong)](StepTable table, const Plan& plan) {
        const std::string name = wrong.step.empty() ? wrong.rule(plan).step : wrong.step;
        const auto step = std::ranges::find(table, name, &Step::name);
        if (step != table.end()) follow(*step, wrong);
        return table;
    };
}

TableEdit follows(PlanRule rule) { return follows(WrongRule{.rule = std::move(rule)}); }

TableEdit reads(std::vector<std::string> steps, PlanText tensor, PlanText instead) {
    const Instead what{std::move(tensor), std::move(instead)};
    return to_each(std::move(steps), [what](Step& step) { read_instead(step, what); });
}

TableEdit left_out(const std::vector<std::string>& steps) {
    return to_each(steps, [](Step& step) {
        follow(step, {[name = step.name, outline = step.outline](const Plan& plan) {
                   const std::string letters = index_letters(outline(plan), 2);
                   return name + letters + " = " + latest_of_chain(name) + letters;
               }});
    });
}

namespace {

/// Restores the outlines of the cards, so that an altered plan determines the shapes.
StepTable with_own_outlines(StepTable table) {
    for (Step& each : table) {
        const auto known = std::ranges::find(step_table(), each.name, &Step::name);
        if (known != step_table().end()) each.outline = known->outline;
    }
    return table;
}

}  // namespace

TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter) {
    return to_each(std::move(steps), [alter](Step& step) {
        const auto right = std::make_shared<const Step>(step);
        const auto altered = [alter](Plan plan) {
            alter(plan);
            return plan;
        };
        if (step.compute) {
            step.compute = [right, altered](const Plan& plan, const Ledger& ledger) {
                return right->compute(altered(plan), ledger);
            };
        }
        if (step.outline) {
            step.outline = [right, altered](const Plan& plan) {
                return right->outline(altered(plan));
            };
        }
        if (step.rule) {
            step.rule = [right, altered](const PlannedStep& of) {
                return rule_as_displayed({altered(of.plan), with_own_outlines(of.table), *right});
            };
        }
        if (step.formula) {
            step.formula = [right, altered](const PlannedStep& of) {
                return right->formula({altered(of.plan), of.table, *right});
            };
        }
        if (has_lines(step)) {
            step.code = [right, altered](const StepLines& of) {
                // Tensors that it reads also have the lengths of that plan.
                const Plan other = altered(of.plan);
                const StepTable table = with_own_outlines(of.table);
                return attn::lines_of({{other, table, *right}, of.language});
            };
        }
    });
}

TableEdit without_sink(const std::vector<std::string>& steps) {
    const TableEdit unread = to_each(steps, [](Step& step) {
        step.compute = [before = step.compute](const Plan& plan, const Ledger& ledger) {
            return before(plan, ledger.without("sink"));
        };
    });
    return all_of({unread, with_plan(steps, [](Plan& plan) { plan.config.sink.reset(); })});
}

TableEdit copy_of_step(const std::string& step, const std::string& other) {
    return follows([=](const Plan& plan) {
        Rule rule = *rule_of({plan, step_table(), find_step(step_table(), other)});
        rule.step = step;
        return rule;
    });
}

TableEdit all_of(std::vector<TableEdit> edits) {
    return [edits = std::move(edits)](StepTable table, const Plan& plan) {
        for (const TableEdit& edit : edits) table = edit(std::move(table), plan);
        return table;
    };
}

}  // namespace attn
