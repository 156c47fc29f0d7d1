#include "attn/explain/notes/step_notes.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/explain/notes/attention_rows.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"

namespace attn::notes {
namespace {

std::string note_of_weights(const notes::Subject& subject) {
    if (!subject.plan.config.sigmoid) return notes::weights_note(subject);
    std::string note =
        "Each score became a weight on its own: 0 gives 0.5, and keys do not compete.";
    const bool is_whole =
        notes::has_readable_rows(subject.tensor) && subject.excerpt.has_all("key");
    if (!is_whole) return note;
    const std::vector<notes::AttentionRow> rows = notes::attention_rows(subject.ledger, 0);
    const auto most = std::ranges::max_element(rows, {}, &notes::AttentionRow::sum);
    if (most == rows.end() || most->has_nan) return note;
    const auto row = static_cast<std::size_t>(most - rows.begin());
    notes::append_sentence(note, "The weights of " + notes::row_label(subject, row) +
                                     " add up to " + notes::number(most->sum) +
                                     "; softmax would make that 1.");
    return note;
}

std::string sink_note(const Subject& subject) {
    std::string note =
        "An extra logit per head in softmax's denominator, like a key whose value is 0: a query "
        "that finds nothing can attend to it. It is not scaled, not masked, and has no position.";
    if (*subject.plan.config.sink == SinkLogit::zero) {
        append_sentence(
            note, "A sink of 0 is off-by-one softmax: it adds 1 to the sum of the exponentials.");
    }
    return note;
}

std::string sink_weight_note(const Subject& subject) {
    std::string note =
        "The sink's share of each query's attention: with it, the weights of a row sum to 1.";
    if (subject.tensor.size() == 0 || subject.tensor.size() > most_cells) return note;
    const Cells cells(subject.tensor);
    const std::size_t queries = subject.tensor.shape().back();
    std::size_t most = 0;
    for (std::size_t q = 1; q < queries; ++q) {
        if (cells[q] > cells[most]) most = q;
    }
    append_sentence(note, "It takes most" + shown_here(subject) +
                              within_matrix(subject, subject.ledger["weights"]) + " from " +
                              row_label(subject, most) + ": " + number(cells[most]) + ".");
    return note;
}

std::string difference_note(const Subject& subject) {
    const std::vector<std::size_t> heads = heads_in(subject, subject.plan.key_len);
    std::string pairs;
    for (std::size_t i = 0; i < std::min<std::size_t>(heads.size(), 2); ++i) {
        pairs += (i == 0 ? "Heads " : ", heads ") + std::to_string(2 * heads[i]) + " and " +
                 std::to_string(2 * heads[i] + 1) +
                 (i == 0 ? " of the weights make head " : " head ") + std::to_string(heads[i]);
    }
    std::string note =
        pairs +
        ": attention common to both cancels, like noise in the difference of two measurements.";
    const Cells cells(subject.tensor);
    const std::size_t keys = subject.tensor.shape().back();
    if (keys == 0 || subject.tensor.size() > most_cells) return note;
    std::size_t negative = 0;
    double sum = 0;
    for (std::size_t i = 0; i < subject.tensor.size(); ++i) {
        if (cells[i] < 0) ++negative;
        if (i < keys) sum += cells[i];
    }
    const double lambda = subject.ledger["lambda_full"].at(0);
    if (!subject.excerpt.has_all("key")) {
        // Without whole rows, their sums are unknown.
    } else if (std::abs(sum - (1 - lambda)) < 1e-3) {
        append_sentence(note,
                        "Each row sums to 1 - lambda = " + number(1 - lambda) + ", not to 1.");
    } else if (std::isfinite(sum)) {
        append_sentence(note, "The first row sums to " + number(sum) + ".");
    }
    if (negative > 0) {
        append_sentence(note, std::to_string(negative) + " of " +
                                  std::to_string(subject.tensor.size()) + " cells" +
                                  shown_here(subject) +
                                  " are negative: there the second head attends more.");
    }
    return note;
}

std::string scaled_context_note(const Subject& subject) {
    return "A fixed number, " + brief(1 - subject.plan.lambda_init()) +
           " in this layer, so that gradients are as large as with one softmax.";
}

}  // namespace

NoteTable share_notes() {
    NoteTable table{
        {"row_max", row_max_note},
        {"exponentials", exponentials_note},
        {"row_sum", row_sum_note},
        {"weights", note_of_weights},
        {"sink", sink_note},
        {"sink_weight", sink_weight_note},
        {"lambda_full", fixed_note("One number for all heads of the layer. Deeper layers start "
                                   "with a larger one: 0.2 in layer 0, up to 0.8 in deep layers.")},
        {"differential_weights", difference_note},
        {"scaled_context", scaled_context_note},
    };
    for (const char* vector : {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"}) {
        table.push_back({vector, fixed_note("All heads share it. Training starts it near 0, so "
                                            "that its exponential is near 1.")});
    }
    return table;
}

}  // namespace attn::notes
