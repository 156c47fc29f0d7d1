#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/starts.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
Step position_table_card() {
    return {
        .name = "position_table",
        .title = "one row of features for each position",
        .kind = Step::Kind::input,
        .shown = false,
        .applies = learns_positions,
        .outline = drawn_outline("position_table"),
        .formula = learned,
    };
}

Step position_embedding_card() {
    return {
        .name = "position_embedding",
        .title = "what is added to a token for its position",
        .applies = [](const Plan& plan) { return plan.adds_positions(); },
        .reads =
            [](const Plan& plan) {
                std::vector<Input> inputs{"positions"};
                if (learns_positions(plan)) inputs.push_back("position_table");
                return inputs;
            },
        .outline =
            [](const Plan& plan) {
                return Outline{{"token", "feature"}, {plan.query_len, plan.embed_dim}};
            },
        .at_once = [](const Plan& plan) { return !learns_positions(plan); },
        .rule = texts(
            {{learns_positions, "position_embedding[t,c] = position_table[positions[t], c]"},
             {"position_embedding[t,c] = if c % 2 == 0 then sin(positions[t] / 10000 ^ (c / C)) "
              "else cos(positions[t] / 10000 ^ ((c - 1) / C))"}}),
    };
}

Step position_sum_card(const Step& x) {
    Step sum = x;
    sum.reads = these({"token_embedding", "position_embedding"});
    sum.rule = always("x[t,c] = token_embedding[t,c] + position_embedding[t,c]");
    return sum;
}

Step either(bool (*meant)(const Plan&), const Step& first, const Step& second) {
    Step step = second;
    // A step keeps what it does in functions; each is chosen when it is called. The two are held
    // alone: a card holds a dozen others.
    const auto choose = [meant](const auto& one, const auto& other, const auto& plan_of) {
        return [=](const auto& of, auto&... more) {
            const auto& chosen = meant(plan_of(of)) ? one : other;
            using Result = decltype(chosen(of, more...));
            return chosen ? chosen(of, more...) : Result();
        };
    };
    const auto itself = [](const Plan& plan) -> const Plan& { return plan; };
    const auto its_plan = [](const auto& of) -> const Plan& { return of.plan; };
    step.applies = choose(first.applies, second.applies, itself);
    step.reads = choose(first.reads, second.reads, itself);
    step.outline = choose(first.outline, second.outline, itself);
    if (first.compute || second.compute) {
        step.compute = choose(first.compute, second.compute, itself);
    }
    step.rule = choose(first.rule, second.rule, its_plan);
    step.formula = choose(first.formula, second.formula, its_plan);
    return step;
}

Step embedded_card(const std::string& name) {
    const bool is_token = name == "token_embedding";
    return {
        .name = name,
        .kind = Step::Kind::input,
        .applies = [name](const Plan& plan) { return plan.config.parameters.has(name); },
        .outline = [](const Plan& plan) { return token_outline(plan, plan.embed_dim); },
        .formula = always(is_token ? "the row of the model's embedding table for each id"
                                   : "the row of the model's position table for each position"),
    };
}

std::vector<Input> embedded_x_inputs(const Plan& plan) {
    if (is_given_x(plan)) return {};
    if (!reads_positions(plan)) return {"token_embedding"};
    return {"token_embedding", "position_embedding"};
}

std::string embedded_x_rule(const Plan& plan) {
    if (is_given_x(plan)) return {};
    return std::string("x[t,c] = token_embedding[t,c]") +
           (reads_positions(plan) ? " + position_embedding[t,c]" : "");
}

std::string embedded_x_formula(const Plan& plan) {
    if (is_given_x(plan))
        return "x = the embeddings, and what " + earlier_layers(plan) + " made of them";
    return reads_positions(plan) ? "x = token_embedding + position_embedding"
                                 : "x = token_embedding";
}

}  // namespace attn
