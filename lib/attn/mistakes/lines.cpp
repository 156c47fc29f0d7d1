#include <algorithm>
#include <stdexcept>

#include "attn/cards/rule_step.hpp"
#include "attn/codegen/literal.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/edits.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

// How mistakes write the steps that they change.

namespace attn {
namespace {

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
    if (name == "G") return std::to_string(plan.kv_heads);
    if (name == "group") return std::to_string(plan.queries_per_key());
    if (name == "context heads") return std::to_string(plan.context_heads());
    if (name == "Tq") return std::to_string(plan.query_len);
    if (name == "Tk") return std::to_string(plan.key_len);
    if (name == "bh") return std::string(plan.has_batch ? "b" : "") + (plan.has_head ? "h" : "");
    if (name == "grid") return size_list(plan.per_head_shape(plan.query_len, plan.key_len));
    Shape shape = of.step.outline(plan).shape;
    if (name == "shape") return size_list(shape);
    if (name != "feature by head") throw std::logic_error("lines have no place {" + name + "}");
    // (..., head, token, feature) as (..., token, feature, head)
    std::rotate(shape.end() - 3, shape.end() - 2, shape.end());
    return size_list(shape);
}

std::string code_of(const Step& step, const StepLines& of) {
    return step.code ? step.code(of) : std::string();
}

}  // namespace

Lines say(std::string torch, std::string numpy) {
    if (numpy.empty()) numpy = torch;
    return [torch = std::move(torch), numpy = std::move(numpy)](const StepLines& of,
                                                                const std::string& right) {
        const std::string& pattern = of.torch() ? torch : numpy;
        std::string text;
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            const std::size_t end = pattern[i] == '{' ? pattern.find('}', i) : i;
            text += pattern[i] == '{' ? meaning(pattern.substr(i + 1, end - i - 1), of, right)
                                      : std::string(1, pattern[i]);
            i = end;
        }
        return text;
    };
}

StepTable with_mistakes_hidden(StepTable right, const StepTable& wrong) {
    for (Step& step : right) {
        const Step& made = find_step(wrong, step.name);
        step.compute = made.compute;
        step.replaces_given = made.replaces_given;
        step.note = nullptr;
    }
    return right;
}

void write_mistake(StepTable& table, const StepTable& without, const Plan& plan,
                   const Mistake& mistake) {
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
    if (first->mistake_ids == users_rule) {
        throw ConfigError("$rule and $bug "_told + mistake.id + " both make " + first->name +
                          ": leave one out");
    }
    first->title = title;
    first->mistake_ids += (first->mistake_ids.empty() ? "" : ", ") + mistake.id;
    first->mistake += (first->mistake.empty() ? "[" : " [") + mistake.id + "] " + mistake.title +
                      ": " + mistake.effect + ".";
}

}  // namespace attn
