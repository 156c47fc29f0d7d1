#include "attn/judge/compare/tolerances.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Rounds up to two digits.
double rounded_up(double number) {
    if (number == 0 || !std::isfinite(number)) return number;
    const double step = std::pow(10.0, std::floor(std::log10(number)) - 1);
    return std::stod(fmt::format("{:.1e}", std::ceil(number / step - 1e-9) * step));
}

/// Returns a relative tolerance for most cells, and the absolute one that the others need in
/// addition.
Tolerance tolerance_of(const Ball& ball, double sides) {
    std::vector<double> shares;
    const auto each = [&](const auto& append_sentence) {
        for (std::size_t i = 0; i < ball.middle.size(); ++i) {
            const double middle = std::abs(ball.middle.at(i)), radius = sides * ball.radius.at(i);
            if (std::isfinite(middle) && std::isfinite(radius)) append_sentence(middle, radius);
        }
    };
    each([&](double middle, double radius) {
        if (middle > 0) shares.push_back(radius / middle);
    });
    Tolerance tolerance;
    if (!shares.empty()) {
        const auto half = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
        std::ranges::nth_element(shares, half);
        tolerance.relative = rounded_up(*half);
    }
    each([&](double middle, double radius) {
        tolerance.absolute = std::max(tolerance.absolute, radius - tolerance.relative * middle);
    });
    tolerance.absolute = rounded_up(tolerance.absolute);
    return tolerance;
}

/// Collects the operations that round in a rule, and in the parts of softmax that it reads.
void note_rounding(const PlannedStep& of, double& longest, std::set<std::string>& functions) {
    const std::optional<Rule> rule = rule_of(of);
    if (!rule) return;
    const auto note = [&](const auto& self, const RuleNode& node) -> void {
        if (node.kind == RuleNode::Kind::reduce && (node.word == "sum" || node.word == "mean")) {
            const RuleNode& end = *node.parts[1];
            const bool is_known = end.kind == RuleNode::Kind::number;
            longest = std::max(longest, is_known ? end.number - node.parts[0]->number
                                                 : static_cast<double>(of.plan.key_len));
        }
        if (node.kind == RuleNode::Kind::call) functions.insert(node.word);
        for (const RuleTree& part : node.parts) self(self, *part);
    };
    note(note, *rule->value);
    for (const std::string& name : tensors_read(*rule)) {
        const Step& step = find_step(of.table, name);
        if (step.kind == Step::Kind::detail) {
            note_rounding({of.plan, of.table, step}, longest, functions);
        }
    }
}

std::string reason_of(const PlannedStep& of) {
    double longest = 0;
    std::set<std::string> functions;
    note_rounding(of, longest, functions);
    std::vector<std::string> words;
    if (longest > 1) words.push_back("sums of " + brief(longest));
    for (const char* function : {"exp", "log", "sqrt", "tanh", "cos", "sigmoid"}) {
        if (functions.contains(function)) words.emplace_back(function);
    }
    return joined(words);
}

/// Returns a tensor whose numbers are perturbed at random, by up to an eighth of their radii: the
/// usual distance of other code within the bound, which covers all code.
Tensor moved(const Tensor& tensor, const Tensor& radius, std::minstd_rand& random) {
    constexpr double middle = std::minstd_rand::max() / 2.0, share = 1 / 8.0;
    const Tensor other = tensor_like(tensor, [&](std::size_t i) {
        const double off = share * radius.at(i) * (static_cast<double>(random()) / middle - 1);
        return tensor.at(i) + (std::isfinite(off) ? off : 0);
    });
    return cast(other, tensor.dtype());
}

/// Returns for each step the root mean square distance between the walk and some walks with
/// perturbed numbers: an estimate of accumulated errors, which differ in sign and partly cancel, as
/// in softmax. Other orders of summation alone would not change the rounding of stored numbers,
/// most of the error in 16 bits.
std::map<std::string, Ball> usual_errors(const Plan& plan, const Ledger& given,
                                         const StepTable& table, const Ledger& right,
                                         Bounds& alone) {
    constexpr int walks = 16;
    std::minstd_rand random(1);
    std::map<std::string, Ball> errors;
    for (int n = 0; n < walks; ++n) {
        Ledger ledger(chains_of(table));
        for (const Step& step : table) {
            perform({&step, 1}, table, plan, given, Details::kept, ledger);
            const Tensor* const result = right.find(step.name);
            if (step.kind != Step::Kind::computed || !result || !result->is_floating()) continue;
            const std::optional<Ball> own = alone.of(step.name);
            if (own) ledger.record(step.name, moved(ledger[step.name], own->radius, random));
            Array<double> squares = empty_array<double>(result->shape());
            Ball& error = errors.try_emplace(step.name).first->second;
            for (std::size_t i = 0; i < squares.size(); ++i) {
                const double difference = ledger[step.name].at(i) - result->at(i);
                const double before = n == 0 ? 0 : error.radius.at(i);
                squares.data()[i] = std::sqrt(before * before + difference * difference / walks);
            }
            error = {*result, Tensor(result->axes(), std::move(squares))};
        }
    }
    return errors;
}

bool passes(const Tensor& actual, const Tensor& right, const Tolerance& tolerance) {
    return actual.shape() == right.shape() && distance(actual, right, tolerance).within();
}

/// Counts the keys of a head whose omission would not be noticed in any query.
void note_dropped(const Ledger& ledger, const Tolerance& tolerance, Hidden& hidden) {
    const Tensor *weights = ledger.find("weights"), *context = ledger.find("context");
    const Ledger::Entry* const values = ledger.find_latest(Chain::values);
    if (weights == nullptr || context == nullptr || values == nullptr) return;
    const std::size_t keys = weights->shape().back(), width = context->shape().back();
    const std::size_t queries = weights->shape()[weights->dimension() - 2];
    const std::size_t groups = weights->size() / (queries * keys);
    if (values->tensor.size() != groups * keys * width) return;
    for (std::size_t key = 0; key < groups * keys; ++key) {
        const std::size_t group = key / keys;
        bool is_missed = false;
        for (std::size_t row = group * queries; !is_missed && row < (group + 1) * queries; ++row) {
            const double weight = weights->at(row * keys + key % keys);
            for (std::size_t f = 0; !is_missed && f < width; ++f) {
                const double right = context->at(row * width + f);
                const double more =
                    weight / (1 - weight) * (right - values->tensor.at(key * width + f));
                is_missed =
                    weight != 0 &&
                    !(std::abs(more) <= tolerance.absolute + tolerance.relative * std::abs(right));
            }
        }
        hidden.dropped += is_missed ? 0 : 1;
    }
    hidden.keys = groups * keys;
}

}  // namespace

std::vector<StepTolerance> tolerances(const Plan& plan, const Ledger& given) {
    const StepTable& table = step_table(plan);
    const Rounding rounding = rounding_of(plan.compute_dtype);
    constexpr double sides = 2, deviations = 6;
    const Ledger ledger = walk(plan, given, table);
    Ledger starts = given;
    for (const auto& [name, tensor] : ledger.entries()) {
        if (!tensor.is_floating()) starts.record(name, tensor);
    }
    Bounds alone(plan, table, ledger, rounding), whole(plan, table, starts, rounding);
    const std::map<std::string, Ball> usual = usual_errors(plan, given, table, ledger, alone);
    std::vector<StepTolerance> all;
    for (const auto& [name, tensor] : ledger.entries()) {
        const PlannedStep of{plan, table, find_step(table, name)};
        if (of.step.kind != Step::Kind::computed || !tensor.is_floating()) continue;
        const std::optional<Ball> own = alone.of(name), from_start = whole.of(name);
        if (!own || !from_start) continue;
        StepTolerance& one = all.emplace_back();
        one = {name, tolerance_of(*own, sides), tolerance_of(*from_start, sides),
               tolerance_of(usual.at(name), deviations), reason_of(of)};
        const bool is_copy = one.alone.absolute == 0 && one.alone.relative == 0;
        if (one.reason.empty()) one.reason = is_copy ? "a copy" : "one rounding";
    }
    return all;
}

std::vector<Hidden> hidden_by(const std::vector<Tolerance>& tolerances, const Plan& plan,
                              const Ledger& given, const std::string& step) {
    constexpr std::size_t most_scores = 4096;  // a walk per mistake is fast enough
    const Ledger ledger = walk(plan, given);
    const Tensor& right = ledger[step];
    const bool tries = plan.batch * plan.heads * plan.query_len * plan.key_len <= most_scores;
    std::vector<Hidden> all;
    for (const Tolerance& tolerance : tolerances) {
        Hidden& hidden = all.emplace_back();
        hidden.factor = HUGE_VAL;
        hidden.tries = tries;
        for (std::size_t i = 0; i < right.size(); ++i) {
            const double size = std::abs(right.at(i));
            if (size == 0 || !std::isfinite(size)) continue;
            hidden.factor = std::min(hidden.factor, tolerance.absolute / size + tolerance.relative);
        }
        if (step == "context") note_dropped(ledger, tolerance, hidden);
    }
    for (const Mistake& mistake : mistakes()) {
        if (!tries || mistake.by_chance || !mistake.applies(plan)) continue;
        const std::optional<Ledger> wrong = walk_with(mistake, plan, given);
        const Tensor* const result = wrong ? wrong->find(step) : nullptr;
        if (result == nullptr || same_numbers(*result, right)) continue;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (passes(*result, right, tolerances[i])) {
                all[i].mistakes.push_back(&mistake);
            } else {
                ++all[i].shown;
            }
        }
    }
    return all;
}

}  // namespace attn
