#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/draw_list.hpp"

namespace attn {

std::string learned(const PlannedStep& of) {
    const DrawList list = draw_list(of.plan);
    const DrawnTensor* row = find_drawn(list, of.step.name);
    const bool given = of.plan.config.parameters.has(of.step.name);
    return std::string("a parameter: learned in training, ") +
           (given                                      ? "given"
            : row && row->how == Initialisation::ones  ? "1"
            : row && row->how == Initialisation::zeros ? "0"
                                                       : "drawn") +
           " here";
}

std::function<Outline(const Plan&)> drawn_outline(const std::string& name) {
    return [name](const Plan& plan) {
        const DrawList list = draw_list(plan);
        const DrawnTensor& row = *find_drawn(list, name);
        return Outline{row.axes(), row.shape()};
    };
}

Step drawn_card(std::string name, std::string title, std::function<bool(const Plan&)> applies) {
    return {
        .name = name,
        .title = std::move(title),
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies = std::move(applies),
        .outline = drawn_outline(name),
        .formula = learned,
    };
}

}  // namespace attn
