#include "attn/diagnose/their_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/compare/compare.hpp"
#include "attn/diagnose/replay.hpp"
#include "attn/steps/rotary.hpp"
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

/// Shares out the steps among tensors whose names leave a choice.
class Assignment {
public:
    Assignment(const Plan& plan, const Judge& judge, std::vector<TheirTensor>& tensors)
        : plan_(plan), judge_(judge), tensors_(tensors) {}

    void settle() {
        for (TheirTensor& theirs : tensors_) {
            if (theirs.steps.front() == theirs.name || theirs.steps.size() == 1) claim(theirs);
        }
        for (TheirTensor& theirs : tensors_) keep_fitting(theirs);
        // Numbers decide before names do; of several results the one saved last is the final one.
        for (const bool by_numbers : {true, false}) {
            for (std::size_t i = tensors_.size(); i-- > 0;) settle(tensors_[i], by_numbers);
        }
    }

private:
    /// What the shape forbids takes nothing from a tensor that it allows.
    void claim(const TheirTensor& theirs) {
        const std::string& step = theirs.steps.front();
        if (fits(plan_, judge_, theirs, step)) claimed_.emplace(step, &theirs);
    }

    /// Two tensors may both be right as one step, but what is called a result is what comes last.
    bool is_free(const std::string& step, const TheirTensor& theirs) const {
        const auto found = claimed_.find(step);
        return found == claimed_.end() || found->second == &theirs ||
               (!names_a_result(theirs.name) && judge_.right_reading(theirs, step));
    }

    void keep_fitting(TheirTensor& theirs) const {
        std::vector<std::string> free;
        std::vector<std::string> fitting;
        for (const std::string& step : theirs.steps) {
            if (!is_free(step, theirs)) continue;
            // What is called query and is x was not projected yet: only x itself shows that.
            const bool as_x = step == "x" && theirs.steps.front() != "x";
            if (as_x && !judge_.right_reading(theirs, step)) continue;
            // A result in the shape of merged heads is no context.
            if (step == "context" && names_a_result(theirs.name) &&
                fits(plan_, judge_, theirs, "merged")) {
                continue;
            }
            free.push_back(step);
            if (fits(plan_, judge_, theirs, step)) fitting.push_back(step);
        }
        const auto masked = std::find(fitting.begin(), fitting.end(), "masked_scores");
        if (masked != fitting.end() && looks_masked(theirs.tensor)) {
            theirs.steps = {"masked_scores"};
        } else if (!fitting.empty()) {
            theirs.steps = fitting;
        } else if (!free.empty()) {
            theirs.steps = {free.front()};
        } else {
            theirs.steps.resize(1);
        }
    }

    void settle(TheirTensor& theirs, bool by_numbers) {
        const auto taken = [&](const std::string& step) { return !is_free(step, theirs); };
        if (std::ranges::all_of(theirs.steps, taken)) theirs.steps.resize(1);
        if (theirs.steps.size() > 1) std::erase_if(theirs.steps, taken);
        if (theirs.steps.size() == 1) return claim(theirs);
        const std::string first = theirs.steps.front();
        const bool may_be_output = theirs.steps.back() == "output";
        const bool is_result = first == "output" || (first == "merged" && !may_be_output);
        for (const std::string& step : theirs.steps) {
            if (!by_numbers) break;
            if (step == "mask" || !judge_.right_reading(theirs, step)) {
                if (is_result) break;  // a result is what stands last, unless that is taken
                continue;
            }
            theirs.steps = {step};
            return claim(theirs);
        }
        if (!by_numbers && is_result) {
            theirs.steps.resize(1);
            claim(theirs);
        }
    }

    const Plan& plan_;
    const Judge& judge_;
    std::vector<TheirTensor>& tensors_;
    std::map<std::string, const TheirTensor*> claimed_;
};

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

/// The key that all heads share, turned as it will be as a part of each of theirs.
Tensor Judge::turned(const Tensor& rotary_key) const {
    const std::string side = plan_.has_memory ? "memory_" : "";
    return with_floating(rotary_key.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        return {rotary_key.axes(),
                vectorized::rotate(rotary_key.as<T>(), reference_[side + "cos"].as<T>(),
                                   reference_[side + "sin"].as<T>(), *plan_.config.rotary.pairing)};
    });
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
        if (step != "rotary_key" || !plan_.rotates()) continue;
        // One variable holds it before and after its turn.
        if ((*this)(step, theirs, reading.tensor, turned(*expected), false).right()) {
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
        if (entry.steps.empty()) {
            skipped.push_back({name, reason_to_skip(name, plan)});
        } else if (tensor.size() == 0) {
            skipped.push_back({name, "it has no elements"});
        } else {
            entry.epsilon = epsilon_of_half(tensor);
            tensors.push_back(std::move(entry));
        }
    }
    Assignment(plan, judge, tensors).settle();
    std::erase_if(tensors, [&](const TheirTensor& entry) {
        if (entry.steps.front() != "mask" || !mask_readings(entry.tensor, plan).empty()) {
            return false;
        }
        skipped.push_back({entry.name, "it is no mask of this walk, by its shape or its values"});
        return true;
    });
    std::ranges::stable_sort(tensors, {}, [&](const TheirTensor& entry) {
        return place_of(step_table(plan), entry.steps.front());
    });
    return tensors;
}

}  // namespace attn
