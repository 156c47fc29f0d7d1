#include <cmath>

#include "attn/cards/cards.hpp"
#include "attn/notes/attention_rows.hpp"
#include "attn/steps/scores.hpp"
#include "attn/steps/softcap.hpp"

namespace attn {
namespace {

using namespace notes;

// scores: every query compared with every key.

/// Rows of the first matrix whose finite scores are all the same, and rows that hold nan.
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
        "Each query meets each key in a dot product: the larger, the better they match.";
    if (!has_rows_of_keys(subject.tensor) || !matrices.readable()) return note;
    const ScoreRows rows = survey(subject.tensor);
    const std::optional<MatrixCell> largest = largest_cell(subject.tensor, 0);
    const bool has_all_keys = subject.excerpt.has_all("key");
    if (largest && (rows.equal.count < matrices.rows || !has_all_keys)) {
        const bool only = matrices.cells() == 1;
        say(note, std::string(!only                        ? "The largest"
                              : subject.excerpt.is_whole() ? "The only score"
                                                           : "The score") +
                      shown_here(subject) + within_matrix(subject) + " is " +
                      number(largest->value) + (largest->alone ? ": " : ", first at ") +
                      pair_text(subject, *largest) + ".");
    }
    if (has_all_keys) say(note, equal_rows_sentence(subject, rows.equal));
    say(note, nan_rows_sentence(subject, rows.holding_nan));
    say(note, chunk_rows(subject));
    return note;
}

// scaled_scores: divided by the root of the head's width.

bool divides(const Plan& plan) { return plan.scale.operation == ScaleFactor::Operation::divide; }

std::string sign_of(const Plan& plan) { return divides(plan) ? " / " : " * "; }

/// What the width of a query is called: those of a latent have features of two kinds.
std::string head_width_name(const PlannedStep& of) {
    return of.has("rotary_key") ? "head_dim + rotary_dim" : "head_dim";
}

std::string scaled_rule(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const double more = plan.score_factor();
    const std::string scores = "scaled_scores[q,k] = scores[q,k]";
    const auto is_root = [&](ScaleChoice::By by, std::size_t size) {
        const double root = std::sqrt(static_cast<double>(size)) / more;
        return plan.config.scale.by == by && divides(plan) &&
               std::abs(plan.scale.number - root) <= 1e-12 * root;
    };
    const std::string scaled = more == 1 ? scores : scores + " * " + json_number(more);
    if (is_root(ScaleChoice::By::head_dim, plan.head_dim)) return scaled + " / sqrt(D)";
    if (is_root(ScaleChoice::By::embed_dim, plan.embed_dim)) return scaled + " / sqrt(C)";
    return scores + sign_of(plan) + json_number(plan.scale.number);
}

/// What yarn adds to the scale of latent attention: ` over yarn's 1.87`.
std::string more_text(const Plan& plan) {
    const double more = plan.score_factor();
    return more == 1 ? std::string() : " over " + brief(more) + ", the square of yarn's magnitude";
}

/// How the scale is written: `divided by 2, the root of head_dim 4`.
std::string scale_text(const PlannedStep& of) {
    const Plan& plan = of.plan;
    const std::string by = brief(plan.scale.number);
    switch (plan.config.scale.by) {
        case ScaleChoice::By::head_dim:
            return "divided by " + by + ", the root of " + head_width_name(of) + " " +
                   std::to_string(plan.head_dim) + more_text(plan);
        case ScaleChoice::By::embed_dim:
            return "divided by " + by + ", the root of embed_dim " +
                   std::to_string(plan.embed_dim) +
                   (plan.embed_dim == plan.head_dim ? "" : " (the paper takes head_dim)");
        default:
            return (divides(plan) ? "divided by " : "multiplied by ") + by;
    }
}

std::string scaled_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const double factor = plan.scale.number;
    std::string note = "Every score is " + scale_text(subject) + ".";
    if (factor == 1) say(note, "That changes nothing here.");
    if (factor == 0) say(note, "All become equal, so no key stands out.");
    if (factor < 0) say(note, "That turns their order round.");
    const std::optional<LargestScore> largest = largest_score(subject);
    if (!largest) return note;
    const double expected = divides(plan) ? largest->before / factor : largest->before * factor;
    const bool as_told = largest->became(expected);
    if (!as_told && std::isfinite(expected)) note.clear();
    if (factor == 1 && as_told) return note;
    say(note, largest->sentence);
    if (as_told && plan.config.scale.by == ScaleChoice::By::head_dim) {
        say(note, "Without it, a large head_dim makes scores large and softmax nearly one-hot.");
    }
    return note;
}

}  // namespace

StepTable score_cards() {
    return {
        {
            .name = "scores",
            .title = "every query compared with every key (also called attention logits)",
            .chain = Chain::scores,
            .applies = keeps_scores,
            .reads = these({Chain::queries, Chain::keys}),
            .outline = score_outline,
            .rule = always("scores[q,k] = sum f: queries[q,f] * keys[k,f]"),
            .formula = texts({"{queries} @ {keys}^T"}),
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const Array<T>& query = ledger.latest(Chain::queries).as<T>();
                const Array<T>& key = ledger.latest(Chain::keys).as<T>();
                return {plan.per_head_axes("query", "key"),
                        is_loop(plan) ? loop::scores(query, key, plan.attention_arithmetic)
                                      : vectorized::scores(query, key, plan.attention_arithmetic)};
            }),
            .note = scores_note,
        },
        {
            .name = "scaled_scores",
            .title = "the scores, scaled",
            .chain = Chain::scores,
            .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.scales(); },
            .reads = these({Chain::scores}),
            .outline = score_outline,
            .rule = scaled_rule,
            .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
                const Tensor& scores = ledger.latest(Chain::scores, "scaled_scores");
                return {scores.axes(), is_loop(plan)
                                           ? loop::scale(scores.as<T>(), plan.scale)
                                           : vectorized::scale(scores.as<T>(), plan.scale)};
            }),
            .note = scaled_note,
        },
        softcap_card(),
    };
}

namespace {

using namespace notes;

// capped_scores: pressed below a cap by tanh.

std::string capped_note(const Subject& subject) {
    const double cap = subject.plan.config.softcap;
    std::string note = "No score goes beyond " + brief(cap) +
                       ": those near 0 hardly change, large ones come close to it.";
    const std::optional<LargestScore> largest = largest_score(subject);
    if (!largest) return note;
    if (!largest->became(cap * std::tanh(largest->before / cap))) note.clear();
    say(note, largest->sentence);
    return note;
}

}  // namespace

Step softcap_card() {
    return {
        .name = "capped_scores",
        .title = "the scores, softly bounded by the cap",
        .chain = Chain::scores,
        .applies = [](const Plan& plan) { return keeps_scores(plan) && plan.caps(); },
        .reads = these({Chain::scores}),
        .outline = score_outline,
        .rule = always("capped_scores[q,k] = cap * tanh(scores[q,k] / cap)"),
        .compute = in_type([]<class T>(T, const Plan& plan, const Ledger& ledger) -> Tensor {
            const Tensor& scores = ledger.latest(Chain::scores, "capped_scores");
            const double cap = plan.config.softcap;
            return {scores.axes(), is_loop(plan) ? loop::soft_cap(scores.as<T>(), cap)
                                                 : vectorized::soft_cap(scores.as<T>(), cap)};
        }),
        .note = capped_note,
    };
}

}  // namespace attn
