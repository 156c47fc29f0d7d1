#include <algorithm>
#include <cmath>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/diagnose.hpp"
#include "attn/judge/diagnose/judged_tensors.hpp"
#include "attn/judge/diagnose/replay.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {
namespace {

/// The share of numbers as large as its own that rounding may at most take of a cell.
constexpr double most_of_float = 1e-2, most_of_few = 0.25;
/// The units of the largest number by which two builds of a library may draw different numbers.
constexpr double drawn_units = 4;

/// True if `holds(x, y)` for all pairs of cells that are different numbers; stops at the first for
/// which it does not. May also call it for equal numbers: equality is tested last, because a
/// processor cannot predict that branch.
template <class Holds>
bool every_difference(const Tensor& actual, const Tensor& expected, Holds holds) {
    return std::visit(
        [&](const auto& a, const auto& b) {
            for (std::size_t i = 0; i < a.size(); ++i) {
                const auto x = static_cast<double>(a.data()[i]);
                const auto y = static_cast<double>(b.data()[i]);
                if (!holds(x, y) && !same_number(x, y)) return false;
            }
            return true;
        },
        actual.values(), expected.values());
}

/// Returns the difference of two numbers, infinity if only one is finite.
double difference_of(double x, double y) {
    const double distance = std::abs(x - y);
    return distance < HUGE_VAL ? distance : same_number(x, y) ? 0 : HUGE_VAL;
}

/// Returns the largest difference of two tensors of one shape. Stops at a difference of at least
/// `enough`.
double greatest_difference(const Tensor& actual, const Tensor& expected, double enough) {
    double farthest = 0;
    every_difference(actual, expected, [&](double x, double y) {
        farthest = std::max(farthest, difference_of(x, y));
        return farthest < enough;
    });
    return farthest;
}

}  // namespace

bool same_cells(const Tensor& actual, const Tensor& expected) {
    return actual.shape() == expected.shape() &&
           every_difference(actual, expected, [](double x, double y) { return x == y; });
}

Judged judged(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
    if (actual.shape() != expected.shape()) return {Verdict::shape, HUGE_VAL};
    Judged answer{Verdict::right};
    every_difference(actual, expected, [&](double x, double y) {
        const double distance = difference_of(x, y);
        answer.difference = std::max(answer.difference, distance);
        const double most = tolerance.absolute + tolerance.relative * std::abs(y);
        if (distance == HUGE_VAL || (distance != 0 && !(distance <= most))) {
            answer.verdict = Verdict::wrong;
        }
        return true;
    });
    return answer;
}

Judge::Judge(const Plan& plan, const Ledger& given, const DiagnoseOptions& options)
    : plan_(plan), given_(given), options_(options), reference_(chains_of(table_)) {
    perform(table_, table_, plan, given, Details::kept, reference_);
}

void Judge::accept(const Mistake& harmless) {
    table_ = harmless.apply(std::move(table_), plan_);
    reference_ = walk(plan_, given_, table_);
    balls_.clear();
}

void Judge::take(const std::string& step, const Tensor& actual) {
    read_so_far_.record(step, actual);
    std::erase_if(balls_, [](const auto& each) { return std::get<0>(each.first); });
}

double Judge::most_of(const Rounding& rounding) const {
    const bool has_few_digits = rounding.is_half || options_.decimals || options_.digits;
    return has_few_digits ? most_of_few : most_of_float;
}

Rounding Judge::rounding(const UserTensor& actual, const Tensor& expected) const {
    const double correct = is_16_bit(expected.dtype()) ? epsilon(expected.dtype()) : 0;
    const double coarsest = std::max(epsilon_of(actual), correct);
    return coarsest != 0 ? rounding_of_half(coarsest)
                         : rounding_of(coarser_type(actual.tensor, expected));
}

const Judge::Allowed* Judge::allowed(const std::string& step, const Rounding& rounding,
                                     bool from_user) const {
    std::shared_ptr<Balls>& balls =
        balls_[{from_user, rounding.unit, rounding.sums, rounding.kept_more}];
    if (balls == nullptr) {
        Ledger used = given_;
        for (const auto& [name, tensor] : reference_.entries()) {
            if (!tensor.is_floating()) used.record(name, tensor);
        }
        for (const auto& [name, tensor] : read_so_far_.entries()) {
            if (from_user) used.record(name, tensor);
        }
        Ledger radii = printed_radii(used);
        balls = std::make_shared<Balls>(plan_, table_, std::move(used), rounding, std::move(radii));
    }
    const auto [place, is_new] = balls->known.try_emplace(step);
    if (is_new) {
        if (const std::optional<Ball> ball = balls->bounds.of(step)) {
            const double most = most_of(rounding);
            Array<double> radius = ball->radius.as<double>();
            const double* const middle = ball->middle.as<double>().data();
            double relative = 0;
            bool is_finite = true;
            const bool is_copy = std::ranges::max(radius) <= rounding.least;
            CellSizes(ball->middle).each([&](std::size_t i, double of_cell, double of_matrix) {
                const double size = of_cell + std::abs(middle[i]);
                double& cell = radius.data()[i];
                // Builds of a library draw numbers that differ in the last digits.
                if (is_copy) cell = std::max(cell, drawn_units * rounding.unit * of_matrix);
                is_finite = is_finite && std::isfinite(cell);
                if (!std::isfinite(cell / size)) return;
                // A bound above the size of the numbers explains nothing. All numbers of a column
                // may be small if its sums cancel.
                relative = std::max(relative, std::min(cell / size, most));
                cell = std::min(cell, most * std::max(size, of_matrix));
            });
            place->second = Allowed{
                {ball->middle, {ball->radius.axes(), std::move(radius)}}, relative, is_finite};
        }
    }
    return place->second ? &*place->second : nullptr;
}

double Judge::excess(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                     const Tensor& expected, bool from_user) const {
    if (options_.tolerance || options_.decimals || options_.digits) return 0;
    if (ignores_hidden_ || !expected.is_floating() || same_cells(tensor, expected)) return 0;
    const Rounding kind = rounding(actual, expected);
    const Allowed* const bound = allowed(step, kind, from_user);
    if (bound == nullptr || bound->ball.middle.shape() != expected.shape()) return 0;
    const double* exact = bound->ball.middle.as<double>().data();
    double off = 0, usual = 0;
    every_difference(tensor, expected, [&](double theirs, double ours) {
        const double middle = *exact++, stored = kind.unit * middle;
        const double distance = theirs - middle, own = ours - middle;
        if (std::isfinite(distance) && std::isfinite(own)) {
            off += distance * distance;
            usual += own * own + stored * stored;
        }
        return true;
    });
    return off == 0 ? 0 : std::sqrt(off / usual);
}

/// Returns the radius relative to the size of a number: actual and expected ones are both rounded.
double Judge::relative(const Allowed* allowed, const Rounding& rounding) const {
    constexpr double usual = 64;
    if (allowed == nullptr) return std::min(usual * rounding.unit, most_of_float);
    return std::min(2 * allowed->relative, most_of(rounding));
}

Tolerance Judge::tolerance(const std::string& step, const UserTensor& actual,
                           const Tensor& expected, bool from_user) const {
    if (options_.tolerance) return *options_.tolerance;
    if (!expected.is_floating()) return {};
    const Rounding kind = rounding(actual, expected);
    const Allowed* const usual = allowed(step, kind, from_user);
    const double relative = this->relative(usual, kind);
    const Tolerance bounded{relative * usual_size(expected), relative};
    if (!options_.decimals && !options_.digits) return bounded;
    return printed_tolerance(actual, usual, usual_size(expected),
                             std::min(relative, 64 * kind.unit));
}

/// True if the numbers that are expected are those of the right step.
bool Judge::is_middle(const Tensor& expected, const Allowed* allowed, const Rounding& rounding) {
    if (allowed == nullptr || allowed->ball.middle.shape() != expected.shape()) return false;
    const bool is_finer = rounding.is_half && !is_16_bit(expected.dtype());
    const double share = is_finer ? 0x1p-22 / rounding.unit : 1;
    const double* radius = allowed->ball.radius.as<double>().data();
    return every_difference(expected, allowed->ball.middle, [&](double cell, double middle) {
        return std::abs(cell - middle) <= share * *radius++;
    });
}

/// Returns the ball of the right step if `expected` is within it; else, with a mistake made, a ball
/// around `expected` with the radius for numbers of that size.
Ball Judge::ball_around(const Tensor& expected, const Allowed* allowed,
                        const Rounding& rounding) const {
    if (is_middle(expected, allowed, rounding)) return allowed->ball;
    const double part = relative(allowed, rounding);
    const Tensor middle = cast(expected, DType::float64);
    const double* const cells = middle.as<double>().data();
    Array<double> radius = empty_array<double>(expected.shape());
    CellSizes(middle).each([&](std::size_t i, double size, double) {
        radius.data()[i] = part * (size + (std::isfinite(cells[i]) ? std::abs(cells[i]) : 0));
    });
    return {middle, {expected.axes(), std::move(radius)}};
}

/// True if some cell is off by more than any bound allows. Called first because it needs no bound,
/// unless the only such cells are infinite in one of the two tensors.
bool Judge::is_beyond_all(const std::string& step, const Tensor& tensor, const Tensor& expected,
                          const Rounding& rounding, bool from_user) const {
    const double most = 2 * most_of(rounding);
    const double least = most * usual_size(expected) + rounding.least;
    bool is_finite = true;
    const bool is_beyond = !every_difference(tensor, expected, [&](double x, double y) {
        const double distance = std::abs(x - y);
        if (distance < HUGE_VAL) return distance <= least + most * std::abs(y);
        is_finite = is_finite && same_number(x, y);
        return true;
    });
    if (is_beyond || is_finite) return is_beyond;
    const Allowed* const usual = allowed(step, rounding, from_user);
    return usual == nullptr || usual->is_finite;
}

/// A difference within its ball that is systematically larger or smaller is not rounding. Sums of
/// 16-bit numbers are assumed to be float32, or 16 bits if that explains more; code may also
/// compute in float64 and save float32, so its later steps read more digits than were saved.
Judged Judge::by_rounding(const std::string& step, const Tensor& tensor, const Tensor& expected,
                          const Rounding& rounding, bool from_user, const Depth& depth) const {
    if (same_cells(tensor, expected)) return {Verdict::right};
    Judged answer;
    const bool is_far = is_beyond_all(step, tensor, expected, rounding, from_user);
    const bool is_refused = is_far && !depth.in_full;
    answer.difference = greatest_difference(tensor, expected, is_refused ? depth.enough : HUGE_VAL);
    if (is_refused) return answer;
    Rounding way = rounding;
    Ball ball = ball_around(expected, allowed(step, way, from_user), way);
    answer.within = within(tensor, ball);
    if (answer.within->beyond > 0 && !is_far && (rounding.is_half || from_user)) {
        way.sums = rounding.is_half ? way.unit : way.sums;
        way.kept_more = !rounding.is_half;
        const Ball wider = ball_around(expected, allowed(step, way, from_user), way);
        WithinBall again = within(tensor, wider);
        if (again.beyond == 0) {
            again.way =
                rounding.is_half ? "sums in 16 bits" : "computed with more digits than stored";
            answer.within = std::move(again);
            ball = wider;
        }
    }
    const std::optional<Slope> slope = slope_of(tensor, ball, rounding);
    // Earlier rounding changes many cells alike.
    const double deviations = from_user ? 5 : 10;
    if (slope && slope->is_all && !slope->is_one(rounding, deviations)) answer.slope = slope;
    const bool is_right = answer.within->beyond == 0 && !answer.slope;
    answer.verdict = is_right ? Verdict::right : Verdict::wrong;
    return answer;
}

Judged Judge::operator()(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                         const Tensor& expected, bool from_user, const Depth& depth) const {
    if (tensor.shape() != expected.shape()) return {Verdict::shape, HUGE_VAL};
    const bool varies = ignores_hidden_ && find_step(table_, step).varies_where_hidden;
    const bool may_shift = varies && step == "position_bias" && !plan_.has_sink() &&
                           !plan_.config.sigmoid && plan_.config.softmax_axis == SoftmaxAxis::key;
    Tensor seen = may_shift ? as_shifted(tensor, expected, causal_offset(plan_)) : tensor;
    if (varies && reference_.has("mask")) seen = as_seen(seen, expected, reference_["mask"]);
    if (options_.tolerance || !expected.is_floating()) {
        return judged(seen, expected, tolerance(step, actual, expected, from_user));
    }
    if (options_.decimals || options_.digits) {
        return as_printed(step, actual, seen, expected, from_user);
    }
    const auto by = [&](const Rounding& rounding) {
        return by_rounding(step, seen, expected, rounding, from_user, depth);
    };
    const Rounding own = rounding_of(coarser_type(actual.tensor, expected));
    const bool is_guessed = guesses(actual);
    const auto looks_so = [&] { return looks_rounded(seen, expected, epsilon_); };
    // Called first if only the verdict counts, because it needs no bound.
    if (is_guessed && !depth.in_full && !looks_so()) return by(own);
    const Judged answer = by(rounding(actual, expected));
    const bool is_refused =
        is_guessed && depth.in_full && answer.right() && answer.difference != 0 && !looks_so();
    return is_refused ? by(own) : answer;
}

bool Judge::may_ignore_hidden(const UserTensor& actual) const {
    return std::ranges::any_of(actual.steps, [&](const std::string& step) {
        return find_step(table_, step).varies_where_hidden &&
               (reference_.has("mask") || step == "position_bias");
    });
}

bool Judge::looks_right(const UserTensor& actual, const std::string& step) const {
    constexpr double usual_units = 16;
    const Tensor* expected = reference_.find(step);
    if (expected == nullptr) return false;
    if (actual.tensor.shape() == expected->shape() && expected->is_floating()) {
        const double near = usual_units * rounding(actual, *expected).unit;
        const double most = near * usual_size(*expected);
        const auto is_near = [most](double x, double y) {
            const double distance = std::abs(x - y);
            return distance <= most && distance < HUGE_VAL;
        };
        if (every_difference(actual.tensor, *expected, is_near)) return true;
    }
    return right_reading(actual, step).has_value();
}

std::optional<Reading> Judge::right_reading(const UserTensor& actual,
                                            const std::string& step) const {
    const Tensor* expected = reference_.find(step);
    if (expected == nullptr) return std::nullopt;
    const Tensor* key = step == "rotary_key" ? reference_.find("rotated_key") : nullptr;
    return reading_as(actual, step, *expected, key, false);
}

std::optional<Reading> Judge::reading_as(const UserTensor& actual, const std::string& step,
                                         const Tensor& expected, const Tensor* key,
                                         bool from_user) const {
    for (Reading& reading : readings(actual.tensor, expected)) {
        if ((*this)(step, actual, reading.tensor, expected, from_user).right()) return reading;
        if (key == nullptr) continue;
        // The same variable may be saved before and after its rotation.
        const Tensor turned = rotated_part(plan_, *key, expected);
        if ((*this)(step, actual, reading.tensor, turned, from_user).right()) {
            return Reading{expected, "already rotated by its positions"};
        }
    }
    return std::nullopt;
}

bool Judge::right_where_read(const std::string& step, const UserTensor& actual,
                             const Tensor& tensor, const Tensor& expected, bool from_user) const {
    const Shape shape = tensor.shape();
    const StepTable& table = kept_table(plan_);
    // A bias has rows of queries too, but not one set per sequence, and padding differs by
    // sequence.
    const bool by_sequence = !plan_.has_batch || expected.has_axis("batch");
    const bool by_query = place_of(table, step) >= place_of(table, "scores") && shape.size() > 1 &&
                          shape == expected.shape() && by_sequence &&
                          shape[shape.size() - 2] == plan_.query_len;
    if (!by_query || !pads_queries(plan_)) return false;
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    // nan, or a row that becomes nan, spreads when a later layer reads these rows as keys and
    // values.
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const bool is_number = tensor.at(i) > lowest;
        if (!is_number && expected.at(i) > lowest) return false;
    }
    // Rows without readers count as right; the others keep their bounds.
    const Tensor is_read =
        without_padded_rows(plan_, tensor_like(tensor, [](std::size_t) { return 1.0; }));
    const Tensor read = tensor_like(
        tensor, [&](std::size_t i) { return is_read.at(i) == 1 ? tensor.at(i) : expected.at(i); });
    return (*this)(step, actual, cast(read, tensor.dtype()), expected, from_user).right();
}

void refuse_wide_tolerance(const DiagnoseOptions& options, Diagnosis& diagnosis) {
    if (!options.tolerance || !diagnosis.plan) return;
    Replay right(*diagnosis.plan, diagnosis.given);
    for (StepVerdict& step : diagnosis.steps) {
        const Tensor* const expected = step.name == "mask" ? nullptr : right.step(step.name);
        const double largest = expected == nullptr ? 0 : usual_size(*expected);
        const bool lets_zeros_pass =
            largest > 0 &&
            options.tolerance->absolute + options.tolerance->relative * largest >= largest;
        if (!lets_zeros_pass) continue;
        step.global = step.local = Verdict::not_compared;
        diagnosis.open.push_back("the tolerance is too large for " + step.name +
                                 ": its largest number is " + brief(largest) +
                                 ", so zeros would pass. Pass a smaller $atol or $rtol"_message);
    }
}

}  // namespace attn
