#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "attn/core/plan/words.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/explain/notes/step_notes.hpp"
#include "attn/ground/text/json.hpp"

namespace attn::notes {
namespace {

/// Returns the line that draws the same mask in the user's own program.
std::string drawn_by(const Subject& subject) {
    const WalkConfig& config = subject.plan.config;
    const Dropout& dropout = config.dropout;
    const std::string seed = std::to_string(dropout.seed.value_or(config.seed));
    const std::string p = json_number(dropout.p);
    const Shape shape = subject.step.outline(subject.plan).shape;
    switch (config.rng) {
        case Rng::torch:
            return "torch.manual_seed(" + seed + ") and then F.dropout(" +
                   std::string(word(dropout.place)) + ", " + p +
                   ") draw it on a CPU. A PyTorch with MKL (torch.backends.mkl.is_available()) "
                   "draws other cells.";
        case Rng::numpy:
            return "np.random.seed(" + seed + ") and then np.random.rand" + shape_text(shape) +
                   " >= " + p + " draw it.";
        case Rng::numpy_pcg64:
            break;
    }
    return "np.random.default_rng(" + seed + ").random(" + shape_text(shape) + ") >= " + p +
           " draws it.";
}

std::string keep_note(const Subject& subject) {
    const Dropout& dropout = subject.plan.config.dropout;
    std::string note = "Each cell is kept with probability " + json_number(dropout.share()) + ".";
    const bool is_given = subject.plan.config.parameters.has(subject.step.name);
    if (is_given) note = "The mask is yours: 1 keeps a cell, 0 drops it.";
    if (subject.tensor.size() <= most_cells) {
        std::size_t kept = 0;
        each_number(subject.tensor, [&](std::size_t, double cell) { kept += cell != 0 ? 1 : 0; });
        append_sentence(note, std::to_string(kept) + " of " +
                                  std::to_string(subject.tensor.size()) + " are kept" +
                                  shown_here(subject) + ".");
    }
    if (!is_given) append_sentence(note, drawn_by(subject));
    return note;
}

/// Returns the smallest and the largest row sum; nullopt if one is nan.
std::optional<std::pair<double, double>> sums_of_rows(const Tensor& weights) {
    const Cells cells(weights);
    const std::size_t keys = weights.shape().back();
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (std::size_t first = 0; first < weights.size(); first += keys) {
        double sum = 0;
        for (std::size_t k = 0; k < keys; ++k) sum += cells[first + k];
        if (std::isnan(sum)) return std::nullopt;
        least = std::min(least, sum);
        most = std::max(most, sum);
    }
    return std::pair(least, most);
}

/// Describes the change of row sums by dropout if rows summed to 1; empty otherwise.
std::string sums_note(const Subject& subject) {
    const Tensor* const before = subject.ledger.find("weights");
    const bool is_whole = subject.excerpt.has_all("key") && subject.tensor.size() <= most_cells;
    if (before == nullptr || !is_whole) return {};
    const auto sums = sums_of_rows(*before), dropped = sums_of_rows(subject.tensor);
    if (!sums || !dropped) return {};
    const bool was_one = std::abs(sums->first - 1) < 1e-2 && std::abs(sums->second - 1) < 1e-2;
    if (!was_one) return {};
    return "Each row summed to 1; now the smallest sum is " + number(dropped->first) +
           " and the largest " + number(dropped->second) + shown_here(subject) +
           ", 1 on average over many masks.";
}

std::string dropped_note(const Subject& subject) {
    const Dropout& dropout = subject.plan.config.dropout;
    std::string note = "A kept number is divided by " + json_number(dropout.share()) +
                       ", so that the mean over many masks is the number without dropout.";
    if (dropout.place == Dropout::Place::weights) {
        append_sentence(note, sums_note(subject));
    } else {
        append_sentence(note,
                        "Single features are dropped; dropout on the weights drops whole tokens.");
    }
    append_sentence(note, "This is training: model.eval() turns dropout off.");
    return note;
}

}  // namespace

NoteTable dropout_notes() {
    return {{"keep", keep_note},
            {"keep_context", keep_note},
            {"keep_output", keep_note},
            {"dropped_weights", dropped_note},
            {"dropped_context", dropped_note},
            {"dropped_output", dropped_note}};
}

}  // namespace attn::notes
