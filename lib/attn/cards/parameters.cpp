#include "attn/cards/cards.hpp"
#include "attn/cards/products.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"

namespace attn {
namespace {

using namespace notes;

bool has_parameter(const Plan& plan, std::string_view part, bool bias) {
    const WalkConfig& config = plan.config;
    if (part == "output") return config.output_projection && (!bias || config.output_bias);
    if (config.projection == Projection::none || (bias && !config.bias)) return false;
    return plan.one_weight() == (part == "qkv");
}

/// The axes of a parameter; its lengths in and out are those of all heads where it has no head
/// axis.
Outline parameter_outline(const Plan& plan, const std::string& part, bool bias) {
    std::size_t in = plan.embed_dim;
    std::size_t out = plan.heads * (2 * plan.head_dim + plan.value_dim);
    bool per_head = false;
    if (part == "output") {
        in = plan.heads * plan.value_dim;
        out = plan.output_dim;
    } else if (part != "qkv") {
        const Projected& projected = projected_of(part.front());
        per_head = plan.head_axis_on_weight();
        in = projected.inputs(plan);
        out = projected.width(plan) * (per_head ? 1 : plan.heads);
    }
    Outline outline{{"in", "out"}, {in, out}};
    if (*plan.config.weight_layout == WeightLayout::out_in) outline = {{"out", "in"}, {out, in}};
    if (bias) outline = {{"out"}, {out}};
    if (per_head) {
        outline.axes.insert(outline.axes.begin(), "head");
        outline.shape.insert(outline.shape.begin(), plan.heads);
    }
    return outline;
}

std::string weight_note(const std::string& part, const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string line = *plan.config.weight_layout == WeightLayout::out_in ? "row" : "column";
    const std::string source = part == "output"
                                   ? subject.ledger.find_latest(Chain::contexts, "output")->name
                               : part == "qkv" ? "x"
                                               : projected_of(part.front()).source(plan);
    const bool headed = subject.tensor.has_axis("head");
    std::string note = "Each " + line + (headed ? " of each head's matrix" : "") +
                       " holds the factors that make one feature of " +
                       (part == "qkv" ? "query, key or value" : part) + " from those of " + source +
                       (part == "qkv" && plan.has_memory ? " or memory" : "") + ".";
    if (part == "qkv") say(note, qkv_order(plan, line) + ".");
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
    return std::string("a parameter: learned in training, ") +
           (of.plan.config.parameters.has(of.step.name) ? "given" : "drawn") + " here";
}

Step parameter_card(const std::string& part, bool bias) {
    const std::string whose = part == "qkv" ? "query, key and value" : part;
    return {
        .name = (bias ? "b_" : "w_") + part,
        .title = (bias ? "the bias of the " : "the weight matrix of the ") + whose + " projection",
        .kind = Step::Kind::parameter,
        .shown = false,
        .applies = [part, bias](const Plan& plan) { return has_parameter(plan, part, bias); },
        .outline = [part, bias](const Plan& plan) { return parameter_outline(plan, part, bias); },
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
