#include "attn/diagnose/their_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

#include "attn/compare/compare.hpp"
#include "attn/diagnose/replay.hpp"
#include "attn/tensor/broadcast.hpp"
#include "attn/tensor/same_numbers.hpp"
#include "attn/tensor/slice.hpp"
#include "attn/text/told.hpp"

namespace attn {
namespace {

double largest_finite(const Tensor& tensor) {
    double largest = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isfinite(tensor.at(i))) largest = std::max(largest, std::abs(tensor.at(i)));
    }
    return largest;
}

/// How many binary digits a number needs.
int digits_of(double number) {
    int exponent = 0;
    double fraction = std::abs(std::frexp(number, &exponent));
    int digits = 0;
    for (; fraction != 0; ++digits) {
        fraction = 2 * fraction - std::floor(2 * fraction);
    }
    return digits;
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

template <class A, class B>
Judged judged_cells(const A* theirs, const B* expected, std::size_t size,
                    const Tolerance& tolerance) {
    bool within = true;
    double farthest = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const auto x = static_cast<double>(theirs[i]);
        const auto y = static_cast<double>(expected[i]);
        if (same_number(x, y)) continue;
        const bool finite = std::isfinite(x) && std::isfinite(y);
        const double difference = finite ? std::abs(x - y) : HUGE_VAL;
        farthest = std::max(farthest, difference);
        within =
            within && finite && difference <= tolerance.absolute + tolerance.relative * std::abs(y);
    }
    return {within ? Verdict::right : Verdict::wrong, farthest};
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

/// The step whose right numbers a tensor of any name holds; what is alone is the result.
std::vector<std::string> steps_held(const Judge& judge, const TheirTensor& theirs, bool alone) {
    const std::vector<Ledger::Entry>& all = judge.reference().entries();
    for (const Ledger::Entry& step : std::views::reverse(all)) {
        const bool computed = find_step(step_table(), step.name).kind == Step::Kind::computed;
        if (computed && step.tensor.is_floating() && step.tensor.size() > 1 &&
            theirs.tensor.size() == step.tensor.size() && judge.right_reading(theirs, step.name)) {
            return {step.name};
        }
    }
    const bool fits = alone && !readings(theirs.tensor, all.back().tensor).empty();
    return fits ? std::vector{all.back().name} : std::vector<std::string>();
}

/// The steps that a tensor may be, of those that its name stands for: what its shape allows, and
/// its numbers. Where nothing fits, the likeliest one.
void keep_fitting(const Plan& plan, const Judge& judge, TheirTensor& theirs) {
    const std::vector<std::string> called = theirs.options = theirs.steps;
    std::erase_if(theirs.steps, [&](const std::string& step) {
        if (!fits(plan, judge, theirs, step)) return true;
        // What is called query and is x was not projected yet; what is called weights and holds
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
    std::map<std::string, const TheirTensor*> claimed;
    const auto is_free = [&](const std::string& step) { return !claimed.contains(step); };
    const auto put_first = [&](TheirTensor& theirs, const std::string& step) {
        std::ranges::stable_partition(theirs.steps,
                                      [&](const std::string& each) { return each == step; });
        if (!theirs.misfits) claimed.emplace(theirs.steps.front(), &theirs);
    };
    const auto holds = [&](const TheirTensor& theirs, const std::string& step) {
        return step != "mask" && judge.right_reading(theirs, step).has_value();
    };
    for (TheirTensor& theirs : tensors) {
        if (theirs.steps.size() == 1 || theirs.steps.front() == theirs.name) {
            put_first(theirs, std::string(theirs.steps.front()));
        }
    }
    // What is called a result is what comes last, unless that is another; of several the one saved
    // last is the final one.
    for (TheirTensor& theirs : std::views::reverse(tensors)) {
        if (!names_a_result(theirs.name)) continue;
        std::vector<std::string> called = theirs.steps;
        std::ranges::copy(theirs.options, std::back_inserter(called));
        const auto free = std::ranges::find_if(called, [&](const std::string& step) {
            return is_free(step) || claimed[step] == &theirs;
        });
        const std::string step = free != called.end() ? *free : called.front();
        theirs.misfits = std::ranges::find(theirs.steps, step) == theirs.steps.end();
        theirs.steps = {step};
        put_first(theirs, step);
    }
    for (TheirTensor& theirs : tensors) {
        theirs.options = theirs.steps;
        theirs.is_right = std::ranges::any_of(
            theirs.steps, [&](const std::string& step) { return holds(theirs, step); });
    }
    for (const bool by_numbers : {true, false}) {
        for (TheirTensor& theirs : std::views::reverse(tensors)) {
            if (theirs.steps.size() == 1 || theirs.is_right != by_numbers) continue;
            const std::vector<std::string> steps = theirs.steps;
            for (const std::string& step : steps) {
                if (!is_free(step) && !by_numbers) continue;
                if (by_numbers && !holds(theirs, step)) continue;
                put_first(theirs, step);
                break;
            }
        }
    }
}

/// `tensor` with the expected numbers where the mask hides in every sequence and head.
Tensor as_seen(const Tensor& tensor, const Tensor& expected, const Tensor& mask) {
    const Shape full = broadcast_shape(mask.shape(), expected.shape());
    const auto hides = broadcast_strides("the mask", mask.shape(), "the scores", full);
    const auto holds = broadcast_strides("the tensor", expected.shape(), "the scores", full);
    std::vector<bool> seen(expected.size());
    for (std::size_t i = 0; i < element_count(full); ++i) {
        const std::vector<std::size_t> indices = indices_of(i, full);
        const auto along = [&](const std::vector<std::size_t>& strides) {
            return std::inner_product(indices.begin(), indices.end(), strides.begin(),
                                      std::size_t{0});
        };
        if (mask.at(along(hides)) == 0) seen[along(holds)] = true;
    }
    Array<double> cells = empty_array<double>(expected.shape());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        cells.data()[i] = (seen[i] ? tensor : expected).at(i);
    }
    return {expected.axes(), std::move(cells)};
}

}  // namespace

Judged judged(const Tensor& theirs, const Tensor& expected, const Tolerance& tolerance) {
    if (theirs.shape() != expected.shape()) return {Verdict::shape, HUGE_VAL};
    return std::visit(
        [&](const auto& a, const auto& b) {
            return judged_cells(a.data(), b.data(), a.size(), tolerance);
        },
        theirs.values(), expected.values());
}

Judge::Judge(const Plan& plan, const Ledger& given, const DiagnoseOptions& options)
    : plan_(plan), given_(given), options_(options), reference_(walk(plan, given)) {}

void Judge::accept(const Mistake& harmless) {
    table_ = harmless.apply(std::move(table_), plan_);
    reference_ = walk(plan_, given_, table_);
    relative_.clear();
}

/// How much a rounding of their tensors upstream may grow on its way through one step.
double Judge::amplification(const std::string& step) const {
    const auto size = [this](const char* name) {
        const Tensor* tensor = reference_.find(name);
        return tensor ? largest_finite(*tensor) : 0.0;
    };
    const auto keys = static_cast<double>(plan_.key_len);
    double parameter = 0;
    for (const auto& [name, tensor] : given_.entries()) {
        if (name.size() > 1 && name[1] == '_') {
            parameter = std::max(parameter, largest_finite(tensor));
        }
    }
    const double scores = static_cast<double>(plan_.head_dim) * (size("query") + size("key"));
    if (is_scores(step)) return scores + 1;
    if (step == "weights") return 2 * (scores + 1);
    if (step == "context" || step == "merged") return keys * (size("value") + 2);
    if (step == "output") {
        return static_cast<double>(plan_.heads * plan_.value_dim) * parameter *
               (keys * (size("value") + 2));
    }
    return static_cast<double>(plan_.embed_dim) * parameter + 1;
}

Tolerance Judge::rounding(const std::string& step, const Tensor& expected, DType coarser) const {
    const auto [known, is_new] = relative_.try_emplace({step, coarser});
    if (is_new) {
        known->second = relative_rounding(plan_, table_, reference_, step, coarser);
    }
    return rounding_of(expected, known->second);
}

Tolerance Judge::tolerance(const std::string& step, const TheirTensor& theirs,
                           const Tensor& expected, bool from_theirs) const {
    if (options_.tolerance) return *options_.tolerance;
    Tolerance allowed = rounding(step, expected, coarser_type(theirs.tensor, expected));
    if (theirs.epsilon != 0) {
        // What 16 bits cannot hold, at this step and at those before it.
        const Tolerance of_half = rounding(step, expected, DType::float32);
        const double relative = std::max(8 * theirs.epsilon, of_half.relative);
        allowed = {of_half.relative > 0 ? of_half.absolute * relative / of_half.relative : 0,
                   relative};
    }
    if (options_.decimals) {
        const double half = 0.5 * std::pow(10.0, -*options_.decimals) * (1 + 1e-9);
        allowed.absolute += from_theirs ? half * (1 + amplification(step)) : half;
    }
    return allowed;
}

Judged Judge::operator()(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                         const Tensor& expected, bool from_theirs) const {
    if (tensor.shape() != expected.shape()) return {Verdict::shape, HUGE_VAL};
    const bool varies = looks_away_ && find_step(table_, step).varies_where_hidden;
    return judged(varies ? as_seen(tensor, expected, reference_["mask"]) : tensor, expected,
                  tolerance(step, theirs, expected, from_theirs));
}

Tensor rotated_part(const Plan& plan, const Tensor& rotated_key, const Tensor& rotary_key) {
    std::vector<AxisPart> parts;
    for (std::size_t i = 0; i < rotated_key.dimension(); ++i) {
        const std::string& axis = rotated_key.axes()[i];
        const std::size_t length = rotated_key.shape()[i];
        const std::size_t width = rotary_key.shape().back();
        if (axis == "head") {
            parts.push_back({0, 1, 1, plan.has_head});
        } else if (i + 1 == rotated_key.dimension()) {
            parts.push_back({static_cast<std::ptrdiff_t>(length - width), 1, width, false});
        } else {
            parts.push_back({0, 1, length, false});
        }
    }
    return slice(rotated_key, parts).renamed(rotary_key.axes());
}

bool Judge::may_look_away(const TheirTensor& theirs) const {
    return reference_.has("mask") &&
           std::ranges::any_of(theirs.steps, [&](const std::string& step) {
               return find_step(table_, step).varies_where_hidden;
           });
}

std::optional<Reading> Judge::right_reading(const TheirTensor& theirs,
                                            const std::string& step) const {
    const Tensor* expected = reference_.find(step);
    if (expected == nullptr) return std::nullopt;
    for (Reading& reading : readings(theirs.tensor, *expected)) {
        if ((*this)(step, theirs, reading.tensor, *expected, false).right()) return reading;
        const Tensor* key = step == "rotary_key" ? reference_.find("rotated_key") : nullptr;
        if (key == nullptr) continue;
        // One variable holds it before and after its turn.
        const Tensor turned = rotated_part(plan_, *key, *expected);
        if ((*this)(step, theirs, reading.tensor, turned, false).right()) {
            return Reading{*expected, "turned by its positions already"};
        }
    }
    return std::nullopt;
}

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
    // A shape of its own beside what is right later on is another tensor, not a mistake.
    const bool some_right = std::ranges::any_of(tensors, [&](const TheirTensor& each) {
        return each.is_right && place_of(step_table(plan), each.steps.front()) >=
                                    place_of(step_table(plan), "weights");
    });
    std::erase_if(tensors, [&](const TheirTensor& each) {
        const Tensor* ours = judge.reference().find(each.steps.front());
        if (!each.misfits || !some_right || options.steps.contains(each.name) || ours == nullptr) {
            return false;
        }
        skipped.push_back({each.name, "its shape " + shape_text(each.tensor.shape()) +
                                          " is not that of " + each.steps.front() + ", " +
                                          shape_text(ours->shape())});
        return true;
    });
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
