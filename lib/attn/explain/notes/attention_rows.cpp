#include "attn/explain/notes/attention_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/explain/notes/labels.hpp"

namespace attn::notes {
namespace {

AttentionRow read_row(const Cells& weights, const std::optional<Cells>& scores, std::size_t start,
                      std::size_t columns, double tolerance) {
    AttentionRow row;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double least = infinity;
    row.weight = -infinity;
    for (std::size_t k = 0; k < columns; ++k) {
        const double weight = weights[start + k];
        const double score = scores ? (*scores)[start + k] : 0;
        row.has_nan = row.has_nan || std::isnan(weight);
        row.bad_score = row.bad_score || !(score < infinity);
        row.sum += weight;
        if (weight > row.weight) {
            row.weight = weight;
            row.best = k;
        }
        if (score == -infinity) continue;
        ++row.visible;
        least = std::min(least, weight);
    }
    for (std::size_t k = 0; k < columns; ++k) {
        if (row.weight - weights[start + k] <= tolerance * row.weight) ++row.equals;
    }
    row.even = !row.has_nan && row.visible > 1 && row.weight - least <= tolerance * row.weight;
    return row;
}

}  // namespace

std::vector<AttentionRow> attention_rows(const Ledger& ledger, std::size_t group,
                                         std::string_view name) {
    const Tensor& weights = ledger[name];
    const Matrices matrices(weights);
    const Ledger::Entry* source = ledger.find_latest(Chain::scores);
    std::optional<Cells> scores;
    if (source != nullptr && source->tensor.shape() == weights.shape())
        scores.emplace(source->tensor);
    const Cells cells(weights);
    std::vector<AttentionRow> rows;
    rows.reserve(matrices.rows);
    for (std::size_t q = 0; q < matrices.rows; ++q) {
        const std::size_t start = group * matrices.cells() + q * matrices.columns;
        rows.push_back(read_row(cells, scores, start, matrices.columns, rounding(weights)));
    }
    return rows;
}

bool has_rows_of_keys(const Tensor& tensor) {
    const Axes& axes = tensor.axes();
    return axes.size() >= 2 && axes[axes.size() - 2] == "query" && axes.back() == "key";
}

bool has_readable_rows(const Tensor& weights) {
    return has_rows_of_keys(weights) && Matrices(weights).readable();
}

std::string pair_text(const Subject& subject, const MatrixCell& cell) {
    return row_label(subject, cell.row) + " with " + seen_label(subject, cell.row, cell.column);
}

bool LargestScore::became(double expected) const {
    return std::abs(after - expected) <= 1e-3 * std::abs(expected) + 1e-30;
}

std::optional<LargestScore> largest_score(const Subject& subject) {
    const Ledger::Entry* entry = subject.ledger.find_latest(Chain::scores, subject.step.name);
    if (entry == nullptr) return std::nullopt;
    const Tensor& scores = entry->tensor;
    if (scores.shape() != subject.tensor.shape() || !has_rows_of_keys(scores) ||
        !Matrices(scores).readable()) {
        return std::nullopt;
    }
    const std::optional<MatrixCell> largest = largest_cell(scores, 0);
    if (!largest) return std::nullopt;
    const std::size_t cell = largest->row * Matrices(scores).columns + largest->column;
    const double after = Cells(subject.tensor)[cell];
    return LargestScore{largest->value, after,
                        "The largest" + shown_here(subject) + within_matrix(subject) +
                            " goes from " + number(largest->value) + " to " + number(after) + "."};
}

std::optional<std::size_t> strongest(const std::vector<AttentionRow>& rows) {
    std::optional<std::size_t> best;
    for (std::size_t q = 0; q < rows.size(); ++q) {
        if (!rows[q].chooses()) continue;
        if (!best || rows[q].weight > rows[*best].weight) best = q;
    }
    return best;
}

RowSums row_sums(const Ledger& ledger, std::string_view name) {
    const Tensor& weights = ledger[name];
    const Matrices matrices(weights);
    const double tolerance =
        rounding(weights) * (4 + std::sqrt(static_cast<double>(matrices.columns)));
    RowSums found;
    for (std::size_t g = 0; g < (matrices.all_readable() ? matrices.count : 1); ++g) {
        for (const AttentionRow& row : attention_rows(ledger, g, name)) {
            if (row.visible == 0 && (row.has_nan || row.sum == 0)) {
                found.no_key = true;
            } else if (row.has_nan) {
                found.has_nan = true;
            } else {
                found.any = found.any || row.sum != 0;
                found.to_other = found.to_other || std::abs(row.sum - 1) > tolerance;
            }
        }
    }
    return found;
}

}  // namespace attn::notes
