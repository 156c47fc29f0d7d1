#include <algorithm>
#include <cmath>

#include "attn/codegen/step_lines.hpp"
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

/// The rows of the table for other positions.
Mistake other_rows(std::string id, std::string title, NotApplicable not_applicable,
                   std::function<std::int64_t(const Plan&)> shift) {
    return {
        std::move(id),
        "position_embedding",
        std::move(title),
        "each token has the position of another one, and every tensor after it differs",
        "x = x + position_table[positions + 2]  # OPT, BART; RoBERTa: padding_idx + 1",
        "x = x + position_table[positions + 2]  # OPT, BART; RoBERTa: padding_idx + 1",
        "Some tables begin with rows that no position has: look for the offset in the model.",
        "",
        first_of({unless(has_table, "there is no table of positions"), std::move(not_applicable)}),
        with_ledger({"position_embedding"},
                    [shift](Ledger& ledger, const Plan& plan) {
                        const Tensor right = ledger["positions"];
                        Array<std::int64_t> moved = right.as<std::int64_t>();
                        for (std::int64_t& position : moved) position += shift(plan);
                        ledger.record("positions", {right.axes(), std::move(moved)});
                    }),
        {{"position_embedding", [shift](const StepLines& of, const std::string& right) {
              return replaced("\\[positions\\]",
                              "[positions + " + std::to_string(shift(of.plan)) + "]")(of, right);
          }}}};
}

/// A wave of another order or with other exponents.
Mistake other_waves(std::string id, std::string title, std::string effect, std::string lesson,
                    NotApplicable not_applicable, StepEdit compute, Lines lines) {
    return {
        std::move(id),
        "position_embedding",
        std::move(title),
        std::move(effect),
        "pe[:, 0::2], pe[:, 1::2] = torch.sin(angles), torch.cos(angles)",
        "pe[:, 0::2], pe[:, 1::2] = np.sin(angles), np.cos(angles)",
        std::move(lesson),
        "",
        first_of({unless(swings, "there are no sinusoidal positions"), std::move(not_applicable)}),
        replace_step({"position_embedding"}, std::move(compute)),
        {{"position_embedding", std::move(lines)}}};
}

/// How many features of a row are sines.
std::size_t sines(std::size_t features) { return (features + 1) / 2; }

Tensor sines_first(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const std::size_t half = sines(plan.embed_dim);
    return rearranged(before(plan, ledger), [half](GridCell cell, const Grid&) {
        cell.c = cell.c < half ? 2 * cell.c : 2 * (cell.c - half) + 1;
        return cell;
    });
}

/// Exponents that reach 1: i / (half the features - 1).
Tensor to_the_last_wave(const Plan& plan, const Ledger& ledger, const Compute& before) {
    const Tensor right = before(plan, ledger);
    return with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        const Array<std::int64_t>& positions = ledger["positions"].as<std::int64_t>();
        Array<T> waves = empty_array<T>(right.shape());
        const std::size_t features = waves.shape(1);
        for (std::size_t t = 0; t < positions.size(); ++t) {
            for (std::size_t f = 0; f < features; ++f) {
                const T exponent = static_cast<T>(f - f % 2) / static_cast<T>(features - 2);
                const T angle =
                    static_cast<T>(positions(t)) * (T{1} / std::pow(T{10000}, exponent));
                waves(t, f) = f % 2 == 0 ? std::sin(angle) : std::cos(angle);
            }
        }
        return {right.axes(), std::move(waves)};
    });
}

std::string sines_first_lines(const StepLines& of, const std::string& right) {
    const std::string half = std::to_string(sines(of.plan.embed_dim));
    const Lines front = replaced("\\[:, 0::2\\]", "[:, :" + half + "]");
    return replaced("\\[:, 1::2\\]", "[:, " + half + ":]")(of, front(of, right));
}

std::string last_wave_lines(const StepLines& of, const std::string& right) {
    return replaced("/ " + std::to_string(of.plan.embed_dim) + "\\)\\)",
                    "/ " + std::to_string(of.plan.embed_dim - 2) + "))")(of, right);
}

}  // namespace

void add_position_mistakes(std::vector<Mistake>& list) {
    const NotApplicable wide =
        unless([](const Plan& plan) { return plan.embed_dim > 3; }, "there is one wave");
    const auto first = [](const Plan& plan) {
        return *std::ranges::min_element(plan.config.positions);
    };
    add(list,
        {
            {"positions-count-padding", "positions", "Padding in front was counted",
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
             with_plan({"positions"}, count_from_zero)},
            {"position-embedding-missing",
             "x",
             "No positions were added to the tokens",
             "equal tokens are equal rows: attention sees a bag of words",
             "x = token_embedding + position_embedding",
             "x = token_embedding + position_embedding",
             "Scores and sums over keys know no order: it has to be in x.",
             "",
             unless([](const Plan& plan) { return plan.adds_positions(); },
                    "nothing is added for positions"),
             replace_step({"x"}, [](const Plan&, const Ledger& ledger,
                                    const Compute&) { return ledger["token_embedding"]; }),
             {{"x", say("x = token_embedding")}}},
            other_rows("position-row-offset",
                       "The rows in front of the first position were not skipped",
                       unless([first](const Plan& plan) { return first(plan) > 0; },
                              "a token takes row 0"),
                       [first](const Plan& plan) { return -first(plan); }),
            other_waves("sinusoid-order=halves", "All sines came first, then all cosines",
                        "the numbers of each row are right, and in the wrong order",
                        "The paper alternates sine and cosine, tensor2tensor has two halves: one "
                        "is a permutation of the other.",
                        wide, sines_first, sines_first_lines),
            with_fix(
                other_waves("sinusoid-order=divisor", "The exponents were divided by one step less",
                            "the first wave is right, and the others grow too long",
                            "The paper divides 2i by the features, tensor2tensor i by half of them "
                            "less one.",
                            wide, to_the_last_wave, last_wave_lines),
                "angles = positions / 10000 ** (2 * i / C)  # i = 0, 1, ..., C / 2 - 1",
                "angles = positions / 10000 ** (2 * i / C)  # i = 0, 1, ..., C / 2 - 1"),
        });
}

}  // namespace attn
