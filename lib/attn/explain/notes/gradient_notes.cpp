#include "attn/explain/notes/attention_rows.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn::notes {
namespace {

/// `[0,2,1]`
std::string place_text(std::size_t flat, const Shape& shape) {
    std::string text;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        text = std::to_string(flat % shape[axis]) + (text.empty() ? "" : ",") + text;
        flat /= shape[axis];
    }
    return "[" + text + "]";
}

}  // namespace

std::vector<VisiblePairs> visible_pairs(const Ledger& ledger) {
    std::vector<VisiblePairs> rows;
    const Ledger::Entry* const softmax_of = ledger.find_latest(Chain::scores);
    if (softmax_of == nullptr || !ledger.has("row_dot") || !ledger.has("d_weights")) return rows;
    const Tensor* const after = ledger.find("d_" + softmax_of->name);
    const Tensor& before = ledger["d_weights"];
    const bool by_keys = !ledger["row_dot"].has_axis("key");
    if (after == nullptr || !by_keys || !Matrices(before).all_readable()) return rows;
    const Cells weights(ledger["weights"]);
    const Cells gradient(before);
    const Cells passed(*after);
    const Matrices matrices(before);
    for (std::size_t row = 0; row < matrices.count * matrices.rows; ++row) {
        double all = 0;
        double through = 0;
        double largest = 0;
        std::size_t seen = 0;
        for (std::size_t i = row * matrices.columns; i < (row + 1) * matrices.columns; ++i) {
            if (!(weights[i] > 0)) continue;
            ++seen;
            largest = std::max(largest, weights[i]);
            all += std::abs(gradient[i]);
            through += std::abs(passed[i]);
        }
        if (seen < 2 || !(all > 0)) continue;
        rows.push_back({row / matrices.rows, row % matrices.rows, through / all, largest});
    }
    return rows;
}

std::string percent(double share) {
    const double hundred = 100 * share;
    if (hundred >= 9.95) return fmt::format("{:.0f}%", hundred);
    return hundred >= 0.095 ? fmt::format("{:.1f}%", hundred) : fmt::format("{:.2g}%", hundred);
}

std::string softmax_gradient_note(const Subject& subject) {
    std::string note =
        "The gradient is positive where a weight adds more to the loss than its row's mean, "
        "row_dot: each row sums to 0.";
    if (!subject.excerpt.is_whole()) return note;
    const std::vector<VisiblePairs> rows = visible_pairs(subject.ledger);
    if (rows.empty()) return note;
    const auto [least, most] = std::ranges::minmax_element(rows, {}, &VisiblePairs::share);
    const auto named_row = [&](const VisiblePairs& row) {
        return row_label(subject, row.row, row.group) + within_matrix(subject, row.group);
    };
    append_sentence(
        note, "Softmax lets " + percent(most->share) + " of d_weights through for " +
                  named_row(*most) +
                  (rows.size() == 1
                       ? "."
                       : " and " + percent(least->share) + " for " + named_row(*least) +
                             ", whose largest weight is " + number(least->largest_weight) + "."));
    if (least->share < 0.01)
        append_sentence(note, "A weight near 0 or 1 hardly changes with its score.");
    return note;
}

std::string gradient_note(const Subject& subject, const std::string& how) {
    std::string note = how;
    if (!subject.excerpt.is_whole() || subject.tensor.size() > most_cells) return note;
    const Cells cells(subject.tensor);
    std::size_t largest = 0;
    std::size_t equal = 0;
    for (std::size_t i = 0; i < subject.tensor.size(); ++i) {
        if (!std::isfinite(cells[i])) return note;
        if (std::abs(cells[i]) > std::abs(cells[largest])) largest = i;
        equal += cells[i] == cells[0] ? 1 : 0;
    }
    const std::string& name = subject.step.gradient_of;
    if (subject.tensor.size() == 0) return note;
    if (equal == subject.tensor.size()) {
        append_sentence(note, cells[0] == 0
                                  ? "All are 0: here the loss does not depend on " + name + "."
                                  : "Each cell of " + name + " counts the same in the loss.");
        return note;
    }
    append_sentence(note, "The loss reacts most to " + name +
                              place_text(largest, subject.tensor.shape()) + ": it changes " +
                              number(cells[largest]) + " times as much as that cell.");
    return note;
}

}  // namespace attn::notes
