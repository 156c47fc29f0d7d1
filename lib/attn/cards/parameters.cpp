#include "attn/cards/cards.hpp"
#include "attn/cards/products.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/plan/draw_list.hpp"

namespace attn {
namespace {

using namespace notes;

std::string weight_note(const std::string& part, const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string line = *plan.config.weight_layout == WeightLayout::out_in ? "row" : "column";
    const std::string source = part == "output"
                                   ? subject.ledger.find_latest(Chain::contexts, "output")->name
                               : part == "qkv" ? plan.projected_x()
                                               : projected_of(part.front()).source(plan);
    const bool headed = subject.tensor.has_axis("head");
    std::string note = "Each " + line + (headed ? " of each head's matrix" : "") +
                       " holds the factors that make one feature of " +
                       (part == "qkv" ? "query, key or value" : part) + " from those of " + source +
                       (part == "qkv" && plan.has_memory ? " or memory" : "") + ".";
    if (part == "qkv") say(note, qkv_order(subject, line, "out") + ".");
    return note;
}

std::string bias_note(const Subject& subject) {
    const bool headed = subject.tensor.has_axis("head");
    std::string note = std::string("Added to each token alike: one number for each feature") +
                       (headed ? " of each head." : ".");
    const Matrices matrices(subject.tensor);
    if (matrices.all_readable() && zero_rows(subject.tensor, 0).count == matrices.rows) {
        say(note, "All of them are 0, so nothing changes yet.");
    }
    return note;
}

}  // namespace

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

Step parameter_card(const std::string& part, bool bias) {
    const std::string name = (bias ? "b_" : "w_") + part;
    const std::string whose = part == "qkv" ? "query, key and value" : part;
    return {
        .name = name,
        .title = (bias ? "the bias of the " : "the weight matrix of the ") + whose + " projection",
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies =
            [name](const Plan& plan) { return find_drawn(draw_list(plan), name) != nullptr; },
        .outline = drawn_outline(name),
        .formula = learned,
        .note =
            [part, bias](const Subject& subject) {
                return bias ? bias_note(subject) : weight_note(part, subject);
            },
    };
}

StepTable parameter_cards() {
    StepTable cards;
    for (const char* part : {"query", "key", "value", "qkv"}) {
        for (const bool bias : {false, true}) cards.push_back(parameter_card(part, bias));
    }
    return cards;
}

}  // namespace attn
