#include "attn/explain/backward/graph.hpp"

#include "attn/core/cards/step_table.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Returns the last step of the walk that has a rule: the last of the contexts or, in a walk
/// without values, the weights.
const Step& last_step(const StepTable& table, const Plan& plan) {
    const Step *last = nullptr, *any = nullptr;
    for (const Step& step : table) {
        const bool counts = step.kind == Step::Kind::computed && step.applies(plan);
        if (counts && step.chain == Chain::contexts) last = &step;
        if (counts) any = &step;
    }
    if (last == nullptr) last = any;
    if (last == nullptr) {
        throw ConfigError("there is no step for a loss: give the step table of the plan");
    }
    return *last;
}

std::string bracketed(const std::vector<std::string>& letters) {
    std::string all;
    for (const std::string& letter : letters) all += (all.empty() ? "" : ",") + letter;
    return "[" + all + "]";
}

/// Returns `weights[0,1]`, with words replaced by numbers.
std::string cell_of(const StepTable& table, const Plan& plan, const std::string& text) {
    Ledger shapes;
    for (const Step& step : table) {
        if (!step.applies(plan) || !step.outline) continue;
        const Outline outline = step.outline(plan);
        shapes.record(step.name, Tensor(outline.axes, Array<float>::filled(outline.shape, 0)));
    }
    return cell_text(parse_cell(plan, table, shapes, text));
}

/// Returns the step for a tensor that is given for the loss.
Step given_step(const std::string& name, const std::string& title, const Step& last,
                const Plan& plan, const Loss& loss) {
    const Outline outline = last.outline(plan);
    if (!loss.target) {
        throw ConfigError("this loss needs a target: set the tensor, one number for each cell of " +
                          last.name);
    }
    if (loss.target->shape() != outline.shape) {
        throw ShapeError("$loss "_message + loss.file + " has shape " +
                         shape_text(loss.target->shape()) + " and " + last.name + " " +
                         shape_text(outline.shape) + ": it needs one number for each of its cells");
    }
    Step step;
    step.name = name;
    step.title = title;
    step.shown = false;
    step.outline = last.outline;
    step.formula = [file = loss.file](const PlannedStep& of) {
        return of.step.name + " = " + file;
    };
    step.code = [target = *loss.target](const StepLines& of) {
        return of.step.name + " = " + tensor_literal(target, of.plan.compute_dtype, of.language);
    };
    step.compute = [outline, target = *loss.target](const Plan& of, const Ledger&) {
        return cast(target.renamed(outline.axes), of.compute_dtype);
    };
    return step;
}

}  // namespace

void add_loss(StepTable& table, const Plan& plan, const Loss& loss) {
    const Step last = last_step(table, plan);
    if (loss.kind < Loss::Kind::sum || loss.kind > Loss::Kind::upstream) {
        throw ConfigError("a loss is a sum, a mean, a cell, mse or upstream, not kind " +
                          std::to_string(static_cast<int>(loss.kind)));
    }
    const std::vector<std::string> letters = BackwardGraph::indices_of(last.outline(plan));
    const std::string cell = last.name + bracketed(letters);
    std::string value = cell;
    Step step;
    step.name = "loss";
    step.title = "the number whose gradients are computed";
    step.outline = [](const Plan&) { return Outline{{}, {}}; };
    step.gradient_of = "loss";
    if (loss.kind == Loss::Kind::mse) {
        table.push_back(given_step("target", "the target of the last step", last, plan, loss));
        value = "(" + cell + " - target" + bracketed(letters) + ") ^ 2";
    } else if (loss.kind == Loss::Kind::upstream) {
        table.push_back(given_step("upstream", "the gradient from later layers", last, plan, loss));
        value = cell + " * upstream" + bracketed(letters);
    }
    const bool means = loss.kind == Loss::Kind::mean || loss.kind == Loss::Kind::mse;
    std::string sums;
    for (const std::string& letter : letters) sums += (means ? "mean " : "sum ") + letter + ": ";
    const bool is_cell = loss.kind == Loss::Kind::cell;
    const std::string cell_read = is_cell ? cell_of(table, plan, loss.cell) : std::string();
    const std::string rest = loss.rest == 0 ? "" : json_number(loss.rest) + " + ";
    const Rule rule = parse_rule("loss[] = " + rest + (is_cell ? cell_read : sums + value));
    table.push_back(std::move(step));
    follow_rule(table.back(), {plan, table, table.back()}, rule);
    table.back().replaces_given = false;
    const std::size_t bracket = std::min(cell_read.find('['), cell_read.size());
    const std::string last_name = python_name(last.name);
    const std::string name_in_use =
        is_cell ? python_name(cell_read.substr(0, bracket)) + cell_read.substr(bracket)
        : loss.kind == Loss::Kind::mse      ? "((" + last_name + " - target) ** 2)"
        : loss.kind == Loss::Kind::upstream ? "(" + last_name + " * upstream)"
                                            : last_name;
    const std::string line = "loss = " + rest + name_in_use +
                             (is_cell ? ""
                              : means ? ".mean()"
                                      : ".sum()");
    table.back().note = [what = loss.note](const notes::Subject&) -> std::string {
        return what + (what.empty() ? "" : " ") +
               "The gradients below show how much this number changes when a cell grows a little.";
    };
    table.back().code = [line](const StepLines&) { return line; };
}

}  // namespace attn
