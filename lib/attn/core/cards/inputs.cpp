#include <algorithm>
#include <map>

#include "attn/core/cards/cards.hpp"
#include "attn/core/cards/starts.hpp"

namespace attn {
namespace {

std::string start_rule(const Start& start, const Plan& plan) {
    if (start.embedded(plan)) return embedded_x_rule(plan);
    if (!start.has_ids(plan)) return {};
    return std::string(start.tensor) + "[t,c] = " + start.embedding + "[" + start.ids + "[t], c]";
}

/// Where it comes from, where the walk starts from it.
std::string start_formula(const Start& start, const Plan& plan) {
    const std::string name = start.tensor;
    if (start.has_ids(plan)) return start.embedded(plan) ? embedded_x_formula(plan) : "";
    if (const auto* random = std::get_if<RandomInput>(&start.source(plan))) {
        return name + (random->distribution == Distribution::normal ? " ~ N(0, 1)" : " ~ U[0, 1)");
    }
    return name + " as given";
}

Step ids_card(const Start& start) {
    return {
        .name = start.ids,
        .title = "one id for each token",
        .kind = Step::Kind::input,
        .holds = RuleType::whole,
        .tokens = start.of_memory ? "key" : "query",
        .applies = [start](const Plan& plan) { return start.has_ids(plan); },
        .outline =
            [start](const Plan& plan) {
                Outline ids{{"token"}, {start.length(plan)}};
                if (plan.has_batch) ids = {{"batch", "token"}, {plan.batch, start.length(plan)}};
                return ids;
            },
        .formula = [start](const PlannedStep& of) -> std::string {
            if (start.embedded(of.plan)) return "the tokenizer's number of each token";
            const bool words = !tokens_of(start, of.plan)->vocabulary.empty();
            return words ? "the vocabulary's number of each token"
                         : std::string(start.ids) + " as given";
        },
    };
}

Step embedding_card(const Start& start) {
    return {
        .name = start.embedding,
        .title = std::string("one row of features for each id") +
                 (start.of_memory ? " of the memory" : ""),
        .kind = Step::Kind::input,
        .shown = false,
        .tokens = start.of_memory ? "key" : "query",
        .applies =
            [start](const Plan& plan) { return start.has_ids(plan) && !start.embedded(plan); },
        .outline =
            [start](const Plan& plan) {
                const auto rows = *std::get<Tokens>(start.source(plan)).vocab_size;
                return Outline{{"vocab", "feature"},
                               {static_cast<std::size_t>(rows), start.features(plan)}};
            },
        .formula = learned,
    };
}

bool adds_positions(const Plan& plan) { return plan.adds_positions(); }

Step start_card(const Start& start) {
    return {
        .name = start.tensor,
        .title = start.of_memory              ? "the second source, which the queries look at"
                 : start.is_token_embedding() ? "each token by itself, wherever it stands"
                                              : "the input, one row of features for each token",
        .kind = Step::Kind::input,
        .tokens = start.of_memory ? "key" : "query",
        .applies =
            [start](const Plan& plan) {
                return start.exists(plan) && (!start.is_token_embedding() || plan.adds_positions());
            },
        .reads =
            [start](const Plan& plan) {
                if (start.embedded(plan)) return embedded_x_inputs(plan);
                if (!start.has_ids(plan)) return std::vector<Input>();
                return std::vector<Input>{start.ids, start.embedding};
            },
        .outline =
            [start](const Plan& plan) {
                return Outline{plan.per_batch_axes("token", "feature"),
                               plan.per_batch_shape(start.length(plan), start.features(plan))};
            },
        .rule = [start](const PlannedStep& of) { return start_rule(start, of.plan); },
        .formula = [start](const PlannedStep& of) { return start_formula(start, of.plan); },
    };
}

}  // namespace

StepTable input_cards() {
    StepTable cards;
    for (const Start& start : starts) {
        cards.push_back(ids_card(start));
        cards.push_back(embedding_card(start));
        cards.push_back(positions_card(start.of_memory));
        if (start.of_memory) {
            cards.push_back(start_card(start));
            continue;
        }
        // The table is drawn after a token_embedding that is drawn.
        cards.push_back(
            either(x_is_embedded, embedded_card("token_embedding"), start_card(tokens_alone)));
        cards.push_back(position_table_card());
        cards.push_back(
            either(x_is_embedded, embedded_card("position_embedding"), position_embedding_card()));
        cards.push_back(
            either(adds_positions, position_sum_card(start_card(start)), start_card(start)));
    }
    return cards;
}

}  // namespace attn
