#include "attn/explain/notes/step_notes.hpp"

#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/explain/notes/attention_rows.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"

namespace attn::notes {
namespace {

/// Rows of the first matrix with equal finite scores, and rows that contain nan.
struct ScoreRows {
    Rows equal, holding_nan;
};

ScoreRows survey(const Tensor& scores) {
    const Matrices matrices(scores);
    const Cells cells(scores);
    ScoreRows found;
    for (std::size_t row = 0; row < matrices.rows; ++row) {
        bool equal = matrices.columns > 1 && std::isfinite(cells[row * matrices.columns]);
        bool has_nan = false;
        for (std::size_t c = 0; c < matrices.columns; ++c) {
            const double score = cells[row * matrices.columns + c];
            has_nan = has_nan || std::isnan(score);
            equal = equal && score == cells[row * matrices.columns];
        }
        if (equal) found.equal.add(row);
        if (has_nan) found.holding_nan.add(row);
    }
    return found;
}

std::string equal_rows_sentence(const Subject& subject, const Rows& equal) {
    if (equal.count == 0) return {};
    const double score = Cells(subject.tensor)[equal.first * Matrices(subject.tensor).columns];
    return "All scores of " + named(subject, equal) + " are equal" +
           (equal.count == 1 ? " (" + number(score) + ")" : "") + ": no key stands out.";
}

std::string nan_rows_sentence(const Subject& subject, const Rows& rows) {
    if (rows.count == 0) return {};
    return "There is nan among the scores of " + named(subject, rows) +
           ", carried over from query or key.";
}

std::string scores_note(const Subject& subject) {
    const Matrices matrices(subject.tensor);
    std::string note =
        "Each cell is the dot product of a query and a key: the larger, the better they match.";
    if (!has_rows_of_keys(subject.tensor) || !matrices.readable()) return note;
    const ScoreRows rows = survey(subject.tensor);
    const std::optional<MatrixCell> largest = largest_cell(subject.tensor, 0);
    const bool has_all_keys = subject.excerpt.has_all("key");
    if (largest && (rows.equal.count < matrices.rows || !has_all_keys)) {
        const bool only = matrices.cells() == 1;
        append_sentence(note, std::string(!only                        ? "The largest"
                                          : subject.excerpt.is_whole() ? "The only score"
                                                                       : "The score") +
                                  shown_here(subject) + within_matrix(subject) + " is " +
                                  number(largest->value) + (largest->alone ? ": " : ", first at ") +
                                  pair_text(subject, *largest) + ".");
    }
    if (has_all_keys) append_sentence(note, equal_rows_sentence(subject, rows.equal));
    append_sentence(note, nan_rows_sentence(subject, rows.holding_nan));
    append_sentence(note, chunk_rows(subject));
    return note;
}

/// Returns the name of a query's width: with latents there are two kinds of features.
std::string head_width_name(const PlannedStep& of) {
    return of.has("rotary_key") ? "head_dim + rotary_dim" : "head_dim";
}

/// Describes the factor that yarn adds to the scale: ` over yarn's 1.87`.
std::string more_text(const Plan& plan) {
    const double more = plan.score_factor();
    return more == 1 ? std::string() : " over " + brief(more) + ", the square of yarn's magnitude";
}

/// Describes the scale: `divided by 2, the square root of head_dim 4`.
std::string scale_text(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string by = brief(plan.scale.number);
    switch (plan.config.scale.by) {
        case ScaleChoice::By::head_dim:
            return "divided by " + by + ", the square root of " + head_width_name(of) + " " +
                   std::to_string(plan.head_dim) + more_text(plan);
        case ScaleChoice::By::embed_dim:
            return "divided by " + by + ", the square root of embed_dim " +
                   std::to_string(plan.embed_dim) +
                   (plan.embed_dim == plan.head_dim ? "" : " (the paper uses head_dim)");
        default:
            return (divides(plan) ? "divided by " : "multiplied by ") + by;
    }
}

std::string scaled_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const double factor = plan.scale.number;
    std::string note = "Every score is " + scale_text(subject) + ".";
    if (factor == 1) append_sentence(note, "That changes nothing here.");
    if (factor == 0) append_sentence(note, "All become equal, so no key stands out.");
    if (factor < 0) append_sentence(note, "That reverses their order.");
    const std::optional<LargestScore> largest = largest_score(subject);
    if (!largest) return note;
    const double expected = divides(plan) ? largest->before / factor : largest->before * factor;
    const bool as_stated = largest->became(expected);
    if (!as_stated && std::isfinite(expected)) note.clear();
    if (factor == 1 && as_stated) return note;
    append_sentence(note, largest->sentence);
    if (as_stated && plan.config.scale.by == ScaleChoice::By::head_dim) {
        append_sentence(
            note,
            "Without the division a wide head has large scores, and softmax is nearly one-hot.");
    }
    return note;
}

std::string capped_note(const Subject& subject) {
    const double cap = subject.plan.config.softcap;
    std::string note = "No score goes beyond " + brief(cap) +
                       ": those near 0 hardly change, large ones come close to it.";
    const std::optional<LargestScore> largest = largest_score(subject);
    if (!largest) return note;
    if (!largest->became(cap * std::tanh(largest->before / cap))) note.clear();
    append_sentence(note, largest->sentence);
    return note;
}

}  // namespace

NoteTable score_notes() {
    return {
        {"scores", scores_note}, {"scaled_scores", scaled_note}, {"capped_scores", capped_note}};
}

}  // namespace attn::notes
