#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/diagnose/search.hpp"
#include "attn/text/number_text.hpp"

// What hidden scores hold in the place of minus infinity.

namespace attn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// `tensor` with -inf where `hidden` says so.
Tensor with_infinity(const Tensor& tensor, const std::vector<bool>& hidden) {
    return with_floating(tensor.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> cells = tensor.as<T>();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (hidden[i]) cells.data()[i] = -std::numeric_limits<T>::infinity();
        }
        return {tensor.axes(), std::move(cells)};
    });
}

/// Whether each row is that of the other with one number added; hidden cells are hidden in both.
bool differ_by_rows(const Tensor& theirs, const Tensor& expected) {
    const std::size_t keys = expected.shape().back();
    for (std::size_t row = 0; row < expected.size(); row += keys) {
        std::optional<double> shift;
        for (std::size_t i = row; i < row + keys; ++i) {
            if (std::isfinite(expected.at(i)) != (theirs.at(i) > -1e4)) return false;
            if (!std::isfinite(expected.at(i))) continue;
            const double more = theirs.at(i) - expected.at(i);
            if (std::abs(more - shift.value_or(more)) > 1e-4 * (1 + std::abs(more))) return false;
            shift = more;
        }
    }
    return true;
}

}  // namespace

bool Search::gives_same_weights(const Tensor& tensor) const {
    // A later tensor of theirs would be what softmax reads, whatever this one is.
    const StepTable& table = step_table(plan_);
    for (std::size_t i = place_of(table, step_) + 1; i < table.size(); ++i) {
        if (is_scores(table[i].name) && replay_.is_given(table[i].name)) return false;
    }
    Replay other = replay_;
    other.take(step_, tensor);
    const Tensor* theirs = other.step("weights");
    const Tensor* ours = replay_.step("weights");
    return theirs != nullptr && ours != nullptr &&
           judge_("weights", theirs_, *theirs, *ours, true).right();
}

const Mistake* Search::name_of_fill(const Tensor& theirs, const std::vector<bool>& hidden,
                                    bool harmless) const {
    const StepTable& table = step_table(plan_);
    const PlannedStep masked{plan_, table, find_step(table, "masked_scores")};
    const Tensor* scores = replay_.step(masked.latest(Chain::scores));
    std::optional<double> fill;
    std::optional<double> added;
    bool one_fill = true;
    bool one_added = true;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        if (!hidden[i]) continue;
        const double cell = theirs.at(i);
        if (!std::isfinite(cell)) return nullptr;
        const double more = cell - scores->at(i);
        if (!fill) {
            fill = cell;
            added = more;
        }
        one_fill = one_fill && cell == *fill;
        one_added = one_added && std::abs(more - *added) <= 1e-4 * (std::abs(*added) + 1);
    }
    if (!fill) return nullptr;
    if (one_fill) return harmless ? &finite_fill(*fill) : &mistaken_fill(*fill);
    if (!one_added) return nullptr;
    // The rounding of many scores plus one number: the number has few digits of its own.
    const double number = std::stod(brief(*added));
    return harmless ? &added_fill(number) : &mistaken_addition(number);
}

/// Numbers so low that softmax makes nothing of them stand for -inf, whatever they are.
std::optional<Match> Search::far_below(const Reading& reading, std::span<const TheirTensor> later,
                                       bool thorough) const {
    double lowest = infinity;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
        if (std::isfinite(expected_.at(i))) lowest = std::min(lowest, expected_.at(i));
    }
    // exp() of less is 0 in every type.
    const double floor = lowest - (expected_.dtype() == DType::float64 ? 750 : 110);
    const Tensor& tensor = reading.tensor;
    std::vector<bool> hidden(tensor.size());
    for (std::size_t i = 0; i < tensor.size(); ++i) hidden[i] = tensor.at(i) <= floor;
    const Mistake* fill = name_of_fill(tensor, hidden, true);
    if (fill == nullptr) return std::nullopt;
    TheirTensor read = theirs_;
    read.tensor = with_infinity(tensor, hidden);
    const Judged answer = judge_(step_, theirs_, read.tensor, expected_, uses_theirs_);
    if (answer.right()) {
        const Mistake& empty_row = find_mistake("fully-masked-row");
        const bool uniform = !gives_same_weights(tensor) && empty_row.applies(plan_);
        Match match = match_of(uniform ? empty_row : *fill, reading, answer.difference);
        match.finding.harmless = !uniform;
        match.finding.evidence = {fill->title};
        return match;
    }
    Search inner(plan_, candidates_, judge_, replay_, screens_, options_, read, step_,
                 uses_theirs_);
    Found found = inner.best(later);
    if (!found.match && thorough) found = inner.thorough(found, later);
    if (!found.match) return std::nullopt;
    Finding& finding = found.match->finding;
    (finding.beside == nullptr ? finding.beside : finding.also_beside) = fill;
    found.match->reading = reading;
    return found.match;
}

/// Any other number on every hidden cell is judged by the weights that it gives.
std::optional<Match> Search::one_fill(const Reading& reading) const {
    std::vector<bool> hidden(expected_.size());
    for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] = expected_.at(i) == -infinity;
    const Tensor visible = with_infinity(reading.tensor, hidden);
    const Judged answer = judge_(step_, theirs_, visible, expected_, uses_theirs_);
    if (!answer.right()) return std::nullopt;
    const bool harmless = gives_same_weights(reading.tensor);
    const Mistake* fill = name_of_fill(reading.tensor, hidden, harmless);
    if (fill == nullptr) return std::nullopt;
    Match match = match_of(*fill, reading, answer.difference);
    match.finding.harmless = harmless;
    return match;
}

std::optional<Match> Search::otherwise_filled(std::span<const TheirTensor> later) const {
    if (!is_scores(step_)) return std::nullopt;
    for (const Reading& reading : ways(theirs_, expected_)) {
        if (step_ == "masked_scores") {
            if (std::optional<Match> match = far_below(reading, later, false)) return match;
            if (std::optional<Match> match = one_fill(reading)) return match;
        }
        const bool beside_sink = plan_.has_sink() && !reading.layout.empty() &&
                                 differ_by_rows(reading.tensor, expected_);
        if (!beside_sink && !gives_same_weights(reading.tensor)) continue;
        Match match = match_of(find_mistake("same-after-softmax"), reading, 0);
        match.finding.harmless = true;
        match.finding.replayed = false;
        return match;
    }
    return std::nullopt;
}

// Rows of padded queries, which nobody reads.

bool Judge::right_where_read(const std::string& step, const TheirTensor& theirs,
                             const Tensor& tensor, const Tensor& expected, bool from_theirs) const {
    const Shape shape = tensor.shape();
    const StepTable& table = step_table(plan_);
    // A bias has rows of queries too, but none for each sequence, whose padding differs.
    const bool by_sequence = !plan_.has_batch || expected.has_axis("batch");
    const bool by_query = place_of(table, step) >= place_of(table, "scores") && shape.size() > 1 &&
                          shape == expected.shape() && by_sequence &&
                          shape[shape.size() - 2] == plan_.query_len;
    if (!by_query || !pads_queries(plan_)) return false;
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    // nan, or a row that will be, spreads to what reads this as keys and values later.
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const bool is_number = tensor.at(i) > lowest;
        if (!is_number && expected.at(i) > lowest) return false;
    }
    return (*this)(step, theirs, without_padded_rows(plan_, tensor),
                   without_padded_rows(plan_, expected), from_theirs)
        .right();
}

bool Search::is_right_where_read(const Tensor& tensor) const {
    return judge_.right_where_read(step_, theirs_, tensor, expected_, uses_theirs_);
}

std::optional<Match> Search::in_padded_rows() const {
    for (const Reading& reading : ways(theirs_, expected_)) {
        if (!is_right_where_read(reading.tensor)) continue;
        Match match = match_of(find_mistake("padded-rows-other"), reading, 0);
        match.finding.harmless = true;
        match.finding.replayed = false;
        return match;
    }
    return std::nullopt;
}

}  // namespace attn
