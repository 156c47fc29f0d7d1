#include "app/commands/diagnose_gradients.hpp"

#include <algorithm>

#include "attn/backward/backward.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/diagnose/readings.hpp"
#include "attn/plan/draw_list.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

std::vector<std::string> ids_of(const attn::GradientDiagnosis& back) {
    std::vector<std::string> ids;
    for (const attn::Mistake* mistake : back.fits) ids.push_back(mistake->id);
    return ids;
}

}  // namespace

GradientsApart gradients_apart(const attn::Ledger& file) {
    GradientsApart apart;
    for (const auto& [name, tensor] : file.entries()) {
        const bool is_gradient = !attn::gradient_called(name).empty();
        (is_gradient ? apart.gradients : apart.forward).record(name, tensor);
        const std::vector<std::string> steps = attn::known_steps(name);
        if (is_gradient || steps.empty()) continue;
        const attn::Step::Kind kind = attn::find_step(attn::step_table(), steps.front()).kind;
        apart.has_steps = apart.has_steps || kind == attn::Step::Kind::computed ||
                          kind == attn::Step::Kind::detail;
    }
    return apart;
}

attn::GradientDiagnosis diagnose_back(const attn::Plan& plan, const GradientsApart& apart) {
    if (apart.gradients.entries().empty() || plan.fused()) return {};
    attn::Loss loss;
    std::string last;
    for (const attn::Step& step : attn::step_table(plan)) {
        if (step.applies(plan) && step.chain == attn::Chain::contexts) last = step.name;
    }
    const attn::Shape shape = attn::find_step(attn::step_table(), last).outline(plan).shape;
    for (const auto& [name, tensor] : apart.gradients.entries()) {
        const std::vector<std::string> steps = attn::gradient_called(name);
        const auto step = std::ranges::find_if(steps, [&](const std::string& each) {
            return attn::has_step(attn::step_table(plan), plan, each);
        });
        if (step == steps.end() || *step != last || tensor.shape() != shape) continue;
        loss.kind = attn::Loss::Kind::upstream;
        loss.target = tensor;
    }
    const attn::StepTable table = attn::with_gradients(attn::step_table(plan), plan, loss);
    return attn::diagnose_gradients(plan, attn::draw(plan), table, apart.gradients);
}

std::string gradients_text(const attn::GradientDiagnosis& back) {
    if (back.compared.empty()) return {};
    std::string text = "\ngradients: " + attn::joined(back.compared, ", ") + "\n";
    if (back.wrong.empty()) return text + "  right: the way back is that of this walk\n";
    text += "  wrong: " + attn::joined(back.wrong, ", ") + "\n";
    if (back.fits.empty()) return text + "  no known mistake of the way back makes them\n";
    for (const attn::Mistake* mistake : back.fits) {
        text += std::string(mistake == back.fits.front() ? "  " : "  or, with the same numbers, ") +
                mistake->id + ": " + mistake->title + "\n    fix: " + mistake->fix_torch + "\n";
    }
    return text;
}

std::string gradients_json(const attn::GradientDiagnosis& back, const std::string& object) {
    if (back.compared.empty()) return object;
    const std::string member = "\"gradients\": {\"compared\": " + attn::json_list(back.compared) +
                               ", \"wrong\": " + attn::json_list(back.wrong) +
                               ", \"mistakes\": " + attn::json_list(ids_of(back)) + "}";
    const std::size_t end = object.rfind('}');
    if (end == std::string::npos) return "{" + member + "}\n";
    return object.substr(0, end) + ", " + member + object.substr(end);
}

}  // namespace app
