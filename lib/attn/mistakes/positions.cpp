#include <algorithm>

#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

bool has_table(const Plan& plan) {
    return plan.config.position_embedding == PositionEmbedding::learned;
}

bool swings(const Plan& plan) {
    return plan.config.position_embedding == PositionEmbedding::sinusoidal;
}

bool pads_in_front(const Plan& plan) {
    return !plan.has_memory && plan.key_padding.size() > 0 && plan.key_padding.data()[0];
}

/// Whether the table has a row for that position, or none is needed.
bool has_row(const Plan& plan, std::int64_t position) {
    return !has_table(plan) || position < *plan.config.position_rows;
}

/// 0, 1, 2, ...
void count_from_zero(Plan& plan) {
    std::int64_t position = 0;
    for (std::int64_t& each : plan.config.positions) each = position++;
}

/// A wave of another order or with other exponents.
Mistake other_waves(std::string id, std::string title, std::string effect, std::string lesson,
                    NotApplicable not_applicable, std::string cell) {
    return entry(
        std::move(id), "position_embedding", std::move(title), std::move(effect),
        "pe[:, 0::2], pe[:, 1::2] = torch.sin(angles), torch.cos(angles)",
        "pe[:, 0::2], pe[:, 1::2] = np.sin(angles), np.cos(angles)", std::move(lesson), "",
        first_of({unless(swings, "there are no sinusoidal positions"), std::move(not_applicable)}),
        follows("position_embedding[t,c] = " + cell));
}

}  // namespace

void add_position_mistakes(std::vector<Mistake>& list) {
    const NotApplicable wide =
        unless([](const Plan& plan) { return plan.embed_dim > 3; }, "there is one wave");
    const auto first = [](const Plan& plan) {
        return *std::ranges::min_element(plan.config.positions);
    };
    entry(list, "positions-count-padding", "positions", "Padding in front was counted",
          "the first word stands where as many words had stood before it",
          "positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)",
          "positions = np.maximum(attention_mask.cumsum(-1) - 1, 0)",
          "Count words, not places: padding on the left moves every word to another row.", "",
          first_of({unless([](const Plan& plan) { return plan.adds_positions(); },
                           "nothing is added for positions, and distances stay the same"),
                    unless(pads_in_front, "no padding token stands in front"),
                    unless(
                        [](const Plan& plan) {
                            Plan counted = plan;
                            count_from_zero(counted);
                            return counted.config.positions != plan.config.positions &&
                                   has_row(plan, counted.config.positions.back());
                        },
                        "padding is counted here too, or the table has no row for it")}),
          with_plan({"positions"}, count_from_zero));
    entry(list, "position-embedding-missing", "x", "No positions were added to the tokens",
          "equal tokens are equal rows: attention sees a bag of words",
          "x = token_embedding + position_embedding", "x = token_embedding + position_embedding",
          "Scores and sums over keys know no order: it has to be in x.", "",
          unless([](const Plan& plan) { return plan.adds_positions(); },
                 "nothing is added for positions"),
          follows("x[t,c] = token_embedding[t,c]"));
    entry(list, "position-row-offset", "position_embedding",
          "The rows in front of the first position were not skipped",
          "each token has the position of another one, and every tensor after it differs",
          "x = x + position_table[positions + 2]  # OPT, BART; RoBERTa: padding_idx + 1",
          "x = x + position_table[positions + 2]  # OPT, BART; RoBERTa: padding_idx + 1",
          "Some tables begin with rows that no position has: look for the offset in the "
          "model.",
          "",
          first_of({unless(has_table, "there is no table of positions"),
                    unless([first](const Plan& plan) { return first(plan) > 0; },
                           "a token takes row 0")}),
          follows([first](const Plan& plan) {
              return "position_embedding[t,c] = position_table[positions[t] - " +
                     std::to_string(first(plan)) + ", c]";
          }));
    list.push_back(
        other_waves("sinusoid-order=halves", "All sines came first, then all cosines",
                    "the numbers of each row are right, and in the wrong order",
                    "The paper alternates sine and cosine, tensor2tensor has two halves: one "
                    "is a permutation of the other.",
                    wide,
                    "position_embedding[t, if c < (C + 1) / 2 then 2 * c else 2 * (c - (C + 1) "
                    "/ 2) + 1]"));
    list.push_back(with_fix(
        other_waves("sinusoid-order=divisor", "The exponents were divided by one step less",
                    "the first wave is right, and the others grow too long",
                    "The paper divides 2i by the features, tensor2tensor i by half of them "
                    "less one.",
                    wide,
                    "if c % 2 == 0 then sin(positions[t] * (1 / 10000 ^ (c / (C - 2)))) else "
                    "cos(positions[t] * (1 / 10000 ^ ((c - 1) / (C - 2))))"),
        "angles = positions / 10000 ** (2 * i / C)  # i = 0, 1, ..., C / 2 - 1",
        "angles = positions / 10000 ** (2 * i / C)  # i = 0, 1, ..., C / 2 - 1"));
}

}  // namespace attn
