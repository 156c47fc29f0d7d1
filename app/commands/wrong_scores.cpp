#include "app/commands/wrong_scores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attn/ground/tensor/slice.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

constexpr double least = 1e-5;  ///< of numbers in float32

double cut_of(const attn::Printed& digits, double number) {
    return std::max(digits.cut(number), least * std::max(1.0, std::abs(number)));
}

/// One row of weights, and the weights that follow from its scores.
struct WeightsRow {
    std::vector<double> actual, correct;
    attn::Printed digits;

    double near(std::size_t key) const { return 3 * cut_of(digits, actual[key]); }
    bool follows() const {
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (!attn::same_number(actual[i], correct[i]) &&
                !(std::abs(actual[i] - correct[i]) <= near(i)))
                return false;
        }
        return true;
    }
    /// Returns by how much the logit of a key is off if all other keys have the right ratios.
    std::optional<double> error_at(std::size_t key) const {
        double sum_actual = 0, sum_correct = 0;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (i == key) continue;
            sum_actual += actual[i];
            sum_correct += correct[i];
        }
        const bool is_known =
            sum_actual > 0 && sum_correct > 0 && actual[key] > 0 && correct[key] > 0;
        if (!is_known) return std::nullopt;
        const double factor = sum_actual / sum_correct;
        for (std::size_t i = 0; i < actual.size(); ++i) {
            if (i != key && !(std::abs(actual[i] - factor * correct[i]) <= near(i)))
                return std::nullopt;
        }
        return std::log(actual[key] / correct[key] / factor);
    }
};

}  // namespace

std::optional<WrongScore> wrong_score_by_scaled(const attn::Tensor& scores,
                                                const attn::Tensor& scaled, double factor) {
    if (scores.shape() != scaled.shape()) return std::nullopt;
    std::size_t worst = 0;
    double most = -1;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const double off = std::abs(scores.at(i) * factor - scaled.at(i));
        if (off > most) worst = i, most = off;
    }
    return WrongScore{attn::indices_of(worst, scores.shape()), scores.at(worst),
                      scaled.at(worst) / factor};
}

std::optional<WrongScore> wrong_score_by_weights(const attn::Tensor& scores,
                                                 const attn::Tensor& weights,
                                                 const attn::Tensor& correct, double factor) {
    if (scores.shape() != weights.shape() || correct.shape() != weights.shape())
        return std::nullopt;
    const std::size_t keys = weights.shape().back();
    std::optional<std::size_t> wrong;
    WeightsRow of_wrong;
    for (std::size_t first = 0; first < weights.size(); first += keys) {
        WeightsRow row{{}, {}, attn::printed_alone(weights)};
        for (std::size_t i = first; i < first + keys; ++i) {
            row.actual.push_back(weights.at(i));
            row.correct.push_back(correct.at(i));
        }
        if (row.follows()) continue;
        if (wrong) return std::nullopt;
        wrong = first;
        of_wrong = std::move(row);
    }
    if (!wrong) return std::nullopt;
    double sum = 0, near = 0;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < keys; ++i) {
        sum += of_wrong.actual[i];
        near += of_wrong.near(i);
        seen += of_wrong.actual[i] > of_wrong.near(i) ? 1U : 0U;
    }
    if (seen < 3 || !(std::abs(sum - 1) <= near)) return std::nullopt;
    std::optional<WrongScore> found;
    for (std::size_t key = 0; key < keys; ++key) {
        const std::optional<double> off = of_wrong.error_at(key);
        if (!off) continue;
        if (found) return std::nullopt;
        const std::size_t at = *wrong + key;
        found = WrongScore{attn::indices_of(at, scores.shape()), scores.at(at),
                           scores.at(at) + *off / factor};
    }
    return found;
}

}  // namespace app
