#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/walk/step_rule.hpp"

// How mistakes write the steps that they change.

namespace attn {
namespace {

/// ` / math.sqrt(4)`: what the right scores are scaled by, or the root of it.
std::string scale_text(const Plan& plan, bool root) {
    const auto by = plan.config.scale.by;
    if (by == ScaleChoice::By::none) return "";
    const double more = plan.score_factor();
    std::string factor = fmt::format("{}", plan.config.scale.number * more);
    if (by != ScaleChoice::By::number) {
        const bool head = by == ScaleChoice::By::head_dim;
        factor = fmt::format("math.sqrt({})", head ? plan.head_dim : plan.embed_dim);
        if (more != 1) factor = fmt::format("({} / {})", factor, more);
    }
    if (root) factor = "math.sqrt(" + factor + ")";
    return (by == ScaleChoice::By::number ? " * " : " / ") + factor;
}

std::string inverse(std::string scale) {
    if (!scale.empty()) scale[1] = scale[1] == '/' ? '*' : '/';
    return scale;
}

/// What a name in braces stands for.
std::string meaning(const std::string& name, const StepLines& of, const std::string& right) {
    const Plan& plan = of.plan;
    if (name == "right") return right;
    if (name == "queries") return of.latest(Chain::queries);
    if (name == "keys") return of.latest(Chain::keys);
    if (name == "values") return of.latest(Chain::values);
    if (name == "scores") return of.latest(Chain::scores);
    if (name == "weights") return of.latest(Chain::weights);
    if (name == "contexts") return of.latest(Chain::contexts);
    if (name == "B") return std::to_string(plan.batch);
    if (name == "H") return std::to_string(plan.heads);
    if (name == "context heads") return std::to_string(plan.context_heads());
    if (name == "C") return std::to_string(plan.embed_dim);
    if (name == "Tq") return std::to_string(plan.query_len);
    if (name == "Tk") return std::to_string(plan.key_len);
    if (name == "bh") return std::string(plan.has_batch ? "b" : "") + (plan.has_head ? "h" : "");
    if (name == "scale") return scale_text(plan, false);
    if (name == "inverse scale") return inverse(scale_text(plan, false));
    if (name == "root of scale") return scale_text(plan, true);
    if (name == "grid") return size_list(plan.per_head_shape(plan.query_len, plan.key_len));
    Shape shape = of.step.outline(plan).shape;
    if (name == "shape") return size_list(shape);
    if (name != "feature by head") throw std::logic_error("lines have no place {" + name + "}");
    // (..., head, token, feature) as (..., token, feature, head)
    std::rotate(shape.end() - 3, shape.end() - 2, shape.end());
    return size_list(shape);
}

std::string filled_in(const std::string& pattern, const StepLines& of, const std::string& right) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const std::size_t end = pattern[i] == '{' ? pattern.find('}', i) : i;
        text += pattern[i] == '{' ? meaning(pattern.substr(i + 1, end - i - 1), of, right)
                                  : std::string(1, pattern[i]);
        i = end;
    }
    return text;
}

/// What PyTorch calls otherwise than NumPy.
std::string in_numpy(std::string torch) {
    for (const auto& [theirs, ours] :
         {std::pair{".transpose(", ".swapaxes("}, std::pair{"keepdim=", "keepdims="},
          std::pair{"dim=", "axis="}, std::pair{"torch.", "np."}}) {
        const std::string from = theirs;
        for (std::size_t at = torch.find(from); at != std::string::npos;
             at = torch.find(from, at + 1)) {
            torch.replace(at, from.size(), ours);
        }
    }
    return torch;
}

/// A step without lines of its own writes none.
std::string code_of(const Step& step, const StepLines& of) {
    return step.code ? step.code(of) : std::string();
}

/// A line as a formula: `scaled_scores = scores / sqrt(4)`.
std::string as_formula(const std::string& code) {
    return std::regex_replace(code.substr(code.rfind('\n') + 1), std::regex("math\\."), "");
}

void write(Step& step, const WrongLines& wrong) {
    const Step before = step;
    step.code = [before, wrong](const StepLines& of) {
        return wrong.lines(of, code_of(before, of));
    };
    step.formula = [before, wrong](const PlannedStep& of) {
        if (wrong.formula) return wrong.formula(formula_of(before, of.plan, of.table));
        const StepLines torch{of, CodeLanguage::torch};
        return as_formula(wrong.lines(torch, code_of(before, torch)));
    };
}

}  // namespace

Lines say(std::string torch, std::string numpy) {
    if (numpy.empty()) numpy = in_numpy(torch);
    return [torch = std::move(torch), numpy = std::move(numpy)](const StepLines& of,
                                                                const std::string& right) {
        return filled_in(of.torch() ? torch : numpy, of, right);
    };
}

Lines over_the_grid() {
    return say("{right}\nmask = mask.expand({grid})",
               "{right}\nmask = np.broadcast_to(mask, ({grid}))");
}

Lines replaced(std::string expression, std::string by) {
    return [expression = std::move(expression), by = std::move(by)](const StepLines&,
                                                                    const std::string& right) {
        return std::regex_replace(right, std::regex(expression), by);
    };
}

std::function<std::string(const std::string&)> formula(std::string text) {
    return [text = std::move(text)](const std::string& right) {
        const std::string name = "{right}";
        return text.starts_with(name) ? right + text.substr(name.size()) : text;
    };
}

std::function<std::string(const std::string&)> formula_with(std::string expression,
                                                            std::string by) {
    return [expression = std::move(expression), by = std::move(by)](const std::string& right) {
        return std::regex_replace(right, std::regex(expression), by);
    };
}

std::vector<WrongLines> lines_of_each(const std::vector<std::string>& steps, const Lines& lines,
                                      const std::string& words) {
    std::vector<WrongLines> all;
    for (const std::string& step : steps) {
        all.push_back({step, lines, formula("{right}, " + words)});
    }
    return all;
}

TableEdit written_with_plan(std::vector<std::string> steps, PlanEdit alter) {
    return [steps = std::move(steps), alter = std::move(alter)](StepTable table, const Plan&) {
        for (Step& step : table) {
            if (!steps.empty() && std::ranges::find(steps, step.name) == steps.end()) continue;
            const auto altered = [alter](const Plan& plan) {
                Plan other = plan;
                alter(other);
                return other;
            };
            if (step.formula)
                step.formula = [before = step.formula, altered](const PlannedStep& of) {
                    return before({altered(of.plan), of.table, of.step});
                };
            if (!step.code) continue;
            step.code = [before = step.code, altered](const StepLines& of) {
                return before({{altered(of.plan), of.table, of.step}, of.language});
            };
        }
        return table;
    };
}

bool multiplies_first(const StepLines& of) {
    for (const std::string& step : projecting_steps()) {
        if (find_step(of.table, step).applies(of.plan)) return step == of.step.name;
    }
    return false;
}

std::string slice_text(std::size_t first, std::size_t count) {
    return std::to_string(first) + ":" + std::to_string(first + count);
}

void write_mistake(StepTable& table, const StepTable& without, const Plan& plan,
                   const Mistake& mistake) {
    for (const WrongLines& wrong : mistake.lines) {
        const auto step = std::ranges::find(table, wrong.step, &Step::name);
        if (step != table.end()) write(*step, wrong);
    }
    std::string title = mistake.title;
    // ALiBi and T5 are written as they are.
    const bool is_name = std::isupper(title[1]) != 0 || std::isdigit(title[1]) != 0;
    if (!is_name) title[0] = static_cast<char>(std::tolower(title[0]));
    for (std::size_t i = 0; i < table.size(); ++i) {
        Step& step = table[i];
        const auto code = [&](const StepTable& of) {
            return code_of(of[i], {{plan, of, of[i]}, CodeLanguage::torch});
        };
        if (!step.applies(plan) || code(table) == code(without)) continue;
        step.code = [before = step.code, title](const StepLines& lines) {
            return "# a mistake: " + title + "\n" + before(lines);
        };
    }
    const auto shows = [&](const std::string& name) {
        const auto step = std::ranges::find(table, name, &Step::name);
        return step != table.end() && step->applies(plan) ? &*step : nullptr;
    };
    // Without heads to split, the projection is the query (key, value) itself.
    const std::string itself = mistake.step.substr(mistake.step.find('_') + 1);
    Step* const first = shows(mistake.step) ? shows(mistake.step) : shows(itself);
    if (first == nullptr) return;
    first->title = title;
    first->mistake_ids += (first->mistake_ids.empty() ? "" : ", ") + mistake.id;
    first->mistake += (first->mistake.empty() ? "[" : " [") + mistake.id + "] " + mistake.title +
                      ": " + mistake.effect + ".";
}

}  // namespace attn
