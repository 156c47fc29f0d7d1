#include <algorithm>
#include <cmath>

#include "attn/core/plan/words.hpp"
#include "attn/explain/notes/attention_rows.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/lint/lint_checks.hpp"

namespace attn::lint_checks {
namespace {

double largest_of(const Tensor& tensor) {
    double largest = -HUGE_VAL;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isfinite(tensor.at(i))) largest = std::max(largest, tensor.at(i));
    }
    return largest;
}

/// Rows of scores, for queries that see a key and keys that are seen.
using ScoreRows = std::vector<std::vector<double>>;

/// Returns the scores of one matrix without padding and fully masked rows.
ScoreRows seen_scores(const Plan& plan, const Ledger& ledger, std::size_t group) {
    const Tensor& scores = ledger["scores"];
    const Tensor& masked = softmax_input(ledger);
    const auto [groups, rows, columns] = groups_of(scores.shape());
    const std::size_t batch = group / (groups / plan.batch);
    const auto at = [&, start = group * rows * columns, width = columns](
                        const Tensor& tensor, std::size_t row, std::size_t column) {
        return tensor.at(start + row * width + column);
    };
    std::vector<std::size_t> seen;
    for (std::size_t c = 0; c < columns; ++c) {
        bool visible = false;
        for (std::size_t r = 0; r < rows; ++r) visible = visible || at(masked, r, c) > -HUGE_VAL;
        if (visible && !is_padding(plan, batch, c)) seen.push_back(c);
    }
    ScoreRows result;
    for (std::size_t r = 0; r < rows; ++r) {
        if (!plan.has_memory && is_padding(plan, batch, plan.past_len + r)) continue;
        bool sees = false;
        std::vector<double>& row = result.emplace_back();
        for (const std::size_t c : seen) {
            row.push_back(at(scores, r, c));
            sees = sees || at(masked, r, c) > -HUGE_VAL;
        }
        if (!sees) result.pop_back();
    }
    return result;
}

/// Returns the share of a matrix's energy (its sum of squares) in its best rank-one approximation:
/// one row of numbers times a factor per row. nullopt if the matrix is zero or not finite.
std::optional<double> energy_of_one_pattern(const ScoreRows& scores) {
    const std::size_t columns = scores.front().size();
    double energy = 0;
    double longest = -1;
    std::vector<double> pattern(columns);
    for (const std::vector<double>& row : scores) {
        double square = 0;
        for (const double score : row) square += score * score;
        energy += square;
        if (!(square > longest)) continue;
        longest = square;
        pattern = row;
    }
    if (!(energy > 0) || !std::isfinite(energy)) return std::nullopt;
    // Start the iteration from the longest row, which for rank one is already nearly right.
    double held_weight = 0;
    for (int turn = 0; turn < 5; ++turn) {
        double length = 0;
        for (const double value : pattern) length += value * value;
        std::vector<double> next(columns, 0);
        held_weight = 0;
        for (const std::vector<double>& row : scores) {
            double part = 0;
            for (std::size_t c = 0; c < columns; ++c) part += row[c] * pattern[c];
            part /= std::sqrt(length);
            held_weight += part * part;
            for (std::size_t c = 0; c < columns; ++c) next[c] += part * row[c];
        }
        pattern = std::move(next);
    }
    return held_weight / energy;
}

}  // namespace

Answer softmax_axis(const Plan& plan, const Ledger&) {
    if (plan.config.softmax_axis == SoftmaxAxis::key) return std::nullopt;
    return "softmax runs over the " + std::string(word(plan.config.softmax_axis)) +
           " axis: no row sums to 1 over the keys";
}

Answer scale_missing(const Plan& plan, const Ledger& ledger) {
    if (plan.scales() || plan.head_dim == 1) return std::nullopt;
    return "scores are not scaled: sqrt(head_dim) is " +
           brief(std::sqrt(static_cast<double>(plan.head_dim))) + ", the largest score " +
           brief(largest_of(ledger["scores"]));
}

Answer saturated(const Plan& plan, const Ledger& ledger) {
    if (plan.config.softmax_axis != SoftmaxAxis::key) return std::nullopt;
    const Tensor& weights = ledger["weights"];
    const std::size_t keys = weights.extent("key");
    double sum = 0;
    std::size_t rows = 0;
    for (std::size_t row = 0; row < weights.size() / keys; ++row) {
        double largest = 0;
        std::size_t visible = 0;
        for (std::size_t k = 0; k < keys; ++k) {
            const double weight = weights.at(row * keys + k);
            if (weight > largest) largest = weight;
            visible += softmax_input(ledger).at(row * keys + k) > -HUGE_VAL ? 1U : 0U;
        }
        if (visible < 2) continue;  // a single key has all the weight, whatever its score
        sum += largest;
        ++rows;
    }
    if (rows == 0 || sum / static_cast<double>(rows) < 0.95) return std::nullopt;
    return "the largest weight of a row is " + four_decimals(sum / static_cast<double>(rows)) +
           " on average: softmax is saturated, each query sees one key only";
}

Answer no_gradient(const Plan&, const Ledger& ledger) {
    const std::vector<notes::VisiblePairs> rows = notes::visible_pairs(ledger);
    std::size_t stopped = 0;
    double least = 1;
    for (const notes::VisiblePairs& row : rows) {
        stopped += row.share < 0.01 ? 1U : 0U;
        least = std::min(least, row.share);
    }
    if (stopped == 0) return std::nullopt;
    return std::to_string(stopped) + " of " + std::to_string(rows.size()) +
           (rows.size() == 1 ? " row" : " rows") +
           " of softmax let less than 1% of their gradient through, one of them " +
           notes::percent(least);
}

Answer exp_overflow(const Plan& plan, const Ledger& ledger) {
    const DType type = plan.compute_dtype;
    const double limit = type == DType::float64 ? 709.78 : type == DType::float16 ? 11.09 : 88.72;
    const double largest = largest_of(softmax_input(ledger));
    if (largest <= limit) return std::nullopt;
    return "the largest score is " + brief(largest) + ": exp() without subtracting the maximum " +
           "overflows " + std::string(dtype_name(type)) + " from " + brief(limit) + " on";
}

Answer float16_scores(const Plan&, const Ledger& ledger) {
    const Tensor* const scores = ledger.find("scores");
    double largest = 0;
    const auto is_beyond = [&](double score) {
        largest = std::fmax(largest, std::abs(score));
        return std::abs(score) > 65504;
    };
    const std::size_t beyond = scores == nullptr ? 0 : count_cells(*scores, is_beyond);
    if (beyond == 0) return std::nullopt;
    return counted(beyond, "score") + " before the scale, the largest of them " + brief(largest) +
           ": the largest float16 is 65504";
}

Answer narrow_sums(const Plan& plan, const Ledger& ledger) {
    const Tensor* const weights = ledger.find("weights");
    if (!is_16_bit(plan.compute_dtype) || weights == nullptr || weights->size() == 0) {
        return std::nullopt;
    }
    const std::size_t keys = weights->shape().back();
    double lost = 0.01, narrow = 0, whole = 0;
    for (std::size_t row = 0; row < weights->size() / keys; ++row) {
        float sum = 0;
        double exact = 0;
        for (std::size_t k = 0; k < keys; ++k) {
            const double weight = weights->at(row * keys + k);
            sum = nearest(sum + static_cast<float>(weight), plan.compute_dtype);
            exact += weight;
        }
        const double distance = std::abs(double{sum} - exact);
        if (!(distance > lost)) continue;
        lost = distance;
        narrow = double{sum};
        whole = exact;
    }
    if (narrow == whole) return std::nullopt;
    const std::string type(dtype_name(plan.compute_dtype));
    return "added up in " + type + ", the " + std::to_string(keys) + " weights of a row come to " +
           brief(narrow) + " instead of " + brief(whole);
}

Answer rank_one(const Plan& plan, const Ledger& ledger) {
    if (plan.head_dim < 3) return std::nullopt;  // with so few features the rank is always small
    const std::size_t groups = groups_of(ledger["scores"].shape()).count;
    std::size_t judged = 0;
    std::size_t found = 0;
    double least = 1;
    for (std::size_t group = 0; group < groups; ++group) {
        const ScoreRows scores = seen_scores(plan, ledger, group);
        if (scores.size() < 3 || scores.front().size() < 3) continue;
        ++judged;
        const std::optional<double> part = energy_of_one_pattern(scores);
        if (!part || *part < 0.99) continue;
        ++found;
        least = std::min(least, *part);
    }
    if (2 * found <= judged) return std::nullopt;
    const std::string where = judged == 1 ? ""
                                          : "in " + std::to_string(found) + " of " +
                                                std::to_string(judged) + " matrices ";
    return where + brief(100 * least) + "% " + (found > 1 ? "or more " : "") +
           "of the scores' energy is one pattern (rank 1): all queries prefer the same keys";
}

}  // namespace attn::lint_checks
