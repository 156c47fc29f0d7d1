
#include "attn/cards/cards.hpp"
#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/notes.hpp"
#include "attn/text/strings.hpp"
#include "attn/why/why.hpp"

namespace attn {
namespace {

using namespace notes;

/// Whether x is given: earlier layers have made it, or a norm of the model's own.
bool is_given(const Plan& plan) { return plan.config.parameters.has("x"); }

bool has_positions(const Plan& plan) { return plan.config.parameters.has("position_embedding"); }

/// `layer 0`, `layers 0 to 3`; in front of the first layer a norm, as BERT has it.
std::string earlier_layers(const Plan& plan) {
    if (plan.config.layer == 0) return "the norm of the embeddings";
    const std::int64_t last = plan.config.layer - 1;
    return last == 0 ? "layer 0" : "layers 0 to " + std::to_string(last);
}

}  // namespace

Step embedded_card(const std::string& name) {
    const bool is_token = name == "token_embedding";
    return {
        .name = name,
        .kind = Step::Kind::input,
        .applies = [name](const Plan& plan) { return plan.config.parameters.has(name); },
        .outline = [](const Plan& plan) { return token_outline(plan, plan.embed_dim); },
        .formula = always(is_token ? "the row of the model's embedding table for each id"
                                   : "the row of the model's position table for each position"),
        .note =
            [is_token](const Subject&) {
                return std::string(is_token ? "Learned in training: tokens that are used alike "
                                              "have similar rows."
                                            : "Learned in training: the same row at a position, "
                                              "whatever token stands there.");
            },
    };
}

std::vector<Input> embedded_x_inputs(const Plan& plan) {
    if (is_given(plan)) return {};
    if (!has_positions(plan)) return {"token_embedding"};
    return {"token_embedding", "position_embedding"};
}

std::string embedded_x_rule(const Plan& plan) {
    if (is_given(plan)) return {};
    return std::string("x[t,c] = token_embedding[t,c]") +
           (has_positions(plan) ? " + position_embedding[t,c]" : "");
}

std::string embedded_x_formula(const Plan& plan) {
    if (is_given(plan))
        return "x = the embeddings, and what " + earlier_layers(plan) + " made of them";
    return has_positions(plan) ? "x = token_embedding + position_embedding" : "x = token_embedding";
}

Tensor embedded_x(const Plan& plan, const Ledger& ledger) {
    return has_positions(plan) ? add_positions(plan, ledger) : ledger["token_embedding"];
}

std::string embedded_x_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string model = visible(plan.config.model_file);
    if (is_given(plan)) {
        return "Made by " + earlier_layers(plan) + " of " + model +
               (plan.config.layer == 0 ? "."
                                       : ": each layer adds its attention and its MLP to the rows "
                                         "that it is given.");
    }
    return "What " + model + " begins with: a row for each token" +
           (has_positions(plan) ? ", and one for its position." : ".");
}

}  // namespace attn
