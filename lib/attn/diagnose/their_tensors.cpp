#include "attn/diagnose/their_tensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <ranges>
#include <set>

#include "attn/compare/compare.hpp"
#include "attn/diagnose/replay.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

/// How many binary digits a number needs.
int digits_of(double number) {
    const std::uint64_t behind_the_first = std::bit_cast<std::uint64_t>(number) << 12U;
    return behind_the_first == 0 ? 1 : 65 - std::countr_zero(behind_the_first);
}

/// The spacing at 1 of the 16-bit type that a tensor went through: 11 binary digits are enough for
/// each of its numbers (bfloat16: 8), and many need nearly as many. 0 where there is none.
double epsilon_of_half(const Tensor& tensor) {
    if (!tensor.is_floating()) return 0;
    int most = 0;
    std::size_t numbers = 0;
    std::size_t long_ones = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double number = tensor.at(i);
        if (number == 0 || !std::isfinite(number)) continue;
        const int digits = digits_of(number);
        if (digits > 11) return 0;
        most = std::max(most, digits);
        ++numbers;
        long_ones += digits >= 6 ? 1U : 0U;
    }
    const bool is_half = numbers >= 8 && 2 * long_ones > numbers && most >= 8;
    return is_half ? std::ldexp(1.0, most <= 8 ? -7 : -10) : 0;
}

/// Whether the numbers could be that step's: some reading has its shape.
bool fits(const Plan& plan, const Judge& judge, const TheirTensor& theirs,
          const std::string& step) {
    if (step == "mask") return !mask_readings(theirs.tensor, plan).empty();
    const Tensor* expected = judge.reference().find(step);
    return expected != nullptr && !readings(theirs.tensor, *expected).empty();
}

/// Whether some cells are far below what scores are.
bool looks_masked(const Tensor& tensor) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (tensor.at(i) < -5000) return true;
    }
    return false;
}

/// Why a name stands for no step of this walk.
std::string reason_to_skip(const std::string& name, const Plan& plan) {
    const std::vector<std::string> steps = known_steps(name);
    if (steps.empty()) return "no step is known under that name";
    const std::string& step = steps.front();
    if (!plan.masks() && (step == "mask" || step == "masked_scores")) {
        return "nothing is masked in this walk: pass $mask"_told;
    }
    return "this walk has no step " + step;
}

/// The step whose right numbers a tensor of any name holds; what is alone is the last that fits.
std::vector<std::string> steps_held(const Judge& judge, const TheirTensor& theirs, bool alone) {
    for (const bool by_numbers : {true, false}) {
        for (const Ledger::Entry& step : std::views::reverse(judge.reference().entries())) {
            const bool computed = find_step(step_table(), step.name).kind == Step::Kind::computed;
            if (!computed || !step.tensor.is_floating() || step.tensor.size() == 1) continue;
            if (by_numbers ? judge.right_reading(theirs, step.name).has_value()
                           : alone && !readings(theirs.tensor, step.tensor).empty()) {
                return {step.name};
            }
        }
    }
    return {};
}

/// The steps that a tensor may be, of those that its name stands for: what its shape allows, and
/// its numbers. Where nothing fits, the likeliest one.
void keep_fitting(const Plan& plan, const Judge& judge, TheirTensor& theirs) {
    const std::vector<std::string> called = theirs.options = theirs.steps;
    std::erase_if(theirs.steps, [&](const std::string& step) {
        if (!fits(plan, judge, theirs, step)) return true;
        // A tensor called query that is x was not projected yet; what is called weights and holds
        // scores was not through softmax: only the right numbers show that.
        const bool as_before =
            step != called.front() && (step == "x" || (called.front() == "weights" &&
                                                       place_of(step_table(plan), step) <
                                                           place_of(step_table(plan), "weights")));
        if (as_before) return !judge.right_reading(theirs, step);
        // A result in the shape of merged heads is no context.
        return step == "context" && names_a_result(theirs.name) &&
               fits(plan, judge, theirs, "merged");
    });
    if (looks_masked(theirs.tensor) &&
        std::ranges::find(theirs.steps, "masked_scores") != theirs.steps.end()) {
        theirs.steps = {"masked_scores"};
    }
    theirs.misfits = theirs.steps.empty();
    if (theirs.misfits) theirs.steps = {called.front()};
}

/// Puts in front the step whose right numbers a tensor holds, else the likeliest that no other has.
void settle(const Judge& judge, std::vector<TheirTensor>& tensors) {
    std::set<std::string> claimed;
    const auto settle_one = [&](TheirTensor& theirs, auto&& fits) {
        const auto step = std::ranges::find_if(theirs.steps, fits);
        if (step == theirs.steps.end()) return;
        claimed.insert(*step);
        std::rotate(theirs.steps.begin(), step, step + 1);
    };
    const auto holds = [&](const TheirTensor& theirs, const std::string& step) {
        return step != "mask" && judge.right_reading(theirs, step).has_value();
    };
    const auto is_free = [&](const std::string& step) { return !claimed.contains(step); };
    for (TheirTensor& theirs : tensors) {
        if (names_a_result(theirs.name)) continue;
        theirs.options = theirs.steps;
        const auto is_held = [&](const std::string& step) { return holds(theirs, step); };
        theirs.is_right = std::ranges::any_of(theirs.steps, is_held);
        if (theirs.is_right) settle_one(theirs, is_held);
    }
    for (TheirTensor& theirs : std::views::reverse(tensors)) {
        if (!names_a_result(theirs.name)) {
            if (!theirs.is_right) settle_one(theirs, is_free);
            continue;
        }
        // A tensor called a result comes last, whatever it holds; of several the one saved
        // last is the final one.
        const std::vector<std::string> fitting = theirs.steps;
        std::ranges::copy(theirs.options, std::back_inserter(theirs.steps));
        settle_one(theirs, is_free);
        theirs.misfits = std::ranges::count(fitting, theirs.steps.front()) == 0;
        theirs.options = theirs.steps = {theirs.steps.front()};
        theirs.is_right = holds(theirs, theirs.steps.front());
    }
}

}  // namespace

bool is_scores(const std::string& step) {
    return find_step(step_table(), step).chain == Chain::scores;
}

std::vector<TheirTensor> their_tensors(const Plan& plan, const Judge& judge, const Ledger& theirs,
                                       const DiagnoseOptions& options,
                                       std::vector<Skipped>& skipped) {
    std::vector<TheirTensor> tensors;
    for (const auto& [name, tensor] : theirs.entries()) {
        TheirTensor entry{name, tensor, {}, 0};
        if (const auto said = options.steps.find(name); said != options.steps.end()) {
            if (!has_step(step_table(), plan, said->second)) {
                skipped.push_back({name, reason_to_skip(said->second, plan)});
                continue;
            }
            entry.steps = {said->second};
        } else {
            entry.steps = steps_called(name, plan);
        }
        if (entry.steps.empty() && known_steps(name).empty()) {
            entry.steps = steps_held(judge, entry, theirs.entries().size() == 1);
        }
        if (entry.steps.empty()) {
            skipped.push_back({name, reason_to_skip(name, plan)});
        } else if (tensor.size() == 0) {
            skipped.push_back({name, "it has no elements"});
        } else {
            entry.epsilon = epsilon_of_half(tensor);
            keep_fitting(plan, judge, entry);
            tensors.push_back(std::move(entry));
        }
    }
    settle(judge, tensors);
    std::erase_if(tensors, [&](const TheirTensor& entry) {
        if (entry.steps.front() != "mask" || !mask_readings(entry.tensor, plan).empty()) {
            return false;
        }
        skipped.push_back({entry.name, "it is no mask of this walk, by its shape or its values"});
        return true;
    });
    return tensors;
}

}  // namespace attn
