#include "attn/judge/diagnose/their_tensors.hpp"

#include <algorithm>
#include <ranges>
#include <set>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/compare.hpp"

namespace attn {
namespace {

/// True if the tensor could be that step: some reading has its shape.
bool fits(const Plan& plan, const Judge& judge, const TheirTensor& theirs,
          const std::string& step) {
    if (step == "mask") return !mask_readings(theirs.tensor, plan).empty();
    const Tensor* expected = judge.reference().find(step);
    return expected != nullptr && !readings(theirs.tensor, *expected).empty();
}

/// True if some cell is far below any score.
bool looks_masked(const Tensor& tensor) {
    return count_cells(tensor, [](double cell) { return cell < -5000; }) > 0;
}

}  // namespace

std::string no_such_step(const std::string& step) { return "this walk has no step " + step; }

bool can_be_weights(const Tensor& tensor) {
    return count_cells(tensor, [](double cell) { return cell < 0; }) == 0;
}

namespace {

/// Explains why a name is not a step of this walk.
std::string reason_to_skip(const std::string& name, const Plan& plan) {
    const std::vector<std::string> steps = known_steps(name, kept_table(plan));
    if (steps.empty()) return "no step is known under that name";
    const std::string& step = steps.front();
    if (!plan.masks() && (step == "mask" || step == "masked_scores")) {
        return "nothing is masked in this walk: pass $mask"_told;
    }
    return no_such_step(step);
}

/// Returns the steps that have the shape of a tensor with an unknown name, the last of the walk
/// first.
std::vector<std::string> steps_by_shape(const Judge& judge, const Tensor& theirs) {
    std::vector<std::string> steps;
    if (!theirs.is_floating() || theirs.size() < 2) return steps;
    for (const Ledger::Entry& step : std::views::reverse(judge.reference().entries())) {
        const Step::Kind kind = find_step(kept_table(judge.plan()), step.name).kind;
        const bool is_made = (kind == Step::Kind::computed || kind == Step::Kind::detail) &&
                             !judge.given().has(step.name);
        if (is_made && step.tensor.is_floating() && !readings(theirs, step.tensor).empty()) {
            steps.push_back(step.name);
        }
    }
    return steps;
}

/// Keeps those of a tensor's candidate steps that its shape and numbers allow. If none does, keeps
/// the likeliest one.
void keep_fitting(const Plan& plan, const Judge& judge, TheirTensor& theirs) {
    const StepTable& table = kept_table(plan);
    const std::string first = theirs.steps.front();
    const bool has_forms = theirs.stray.empty() && !names_a_result(theirs.name);
    for (std::size_t i = 0; has_forms && i < theirs.steps.size(); ++i) {
        for (const std::string& kept : kept_of(theirs.steps[i])) {
            const bool is_new = std::ranges::count(theirs.steps, kept) == 0;
            if (is_new && judge.reference().has(kept)) theirs.steps.push_back(kept);
        }
    }
    // A context with its heads side by side may be the merged one.
    const bool is_context = theirs.stray.empty() && first == "context";
    if (is_context && std::ranges::count(theirs.steps, "merged") == 0 &&
        fits(plan, judge, theirs, "merged") &&
        judge.reference()["context"].shape() != theirs.tensor.shape()) {
        theirs.steps.emplace_back("merged");
    }
    theirs.options = theirs.steps;
    std::erase_if(theirs.steps, [&](const std::string& step) {
        if (!fits(plan, judge, theirs, step)) return true;
        // A tensor called query may be x before its projection, and one called weights may be
        // scores before softmax: only correct numbers show this. A tensor with the name of an input
        // may be x by its shape alone.
        const bool is_made = find_step(table, first).kind == Step::Kind::computed;
        const bool as_before =
            step != first &&
            (step == "x" ? is_made
                         : first == "weights" && place_of(table, step) < place_of(table, first));
        if (as_before) return !judge.looks_right(theirs, step);
        // A result has a head axis, or merged heads.
        if (!names_a_result(theirs.name) || (step != "context" && step != "merged")) return false;
        const bool has_heads = judge.reference()["context"].shape() == theirs.tensor.shape();
        return fits(plan, judge, theirs, "merged") && has_heads == (step == "merged");
    });
    if (looks_masked(theirs.tensor) && std::ranges::count(theirs.steps, "masked_scores") > 0) {
        std::erase_if(theirs.steps,
                      [](const auto& step) { return !step.starts_with("masked_scores"); });
    }
    // A tensor that fits no step of its name is the input whose numbers it has: x, or ids.
    for (const Ledger::Entry& each : judge.reference().entries()) {
        const bool is_guess = std::ranges::all_of(theirs.steps, kept_step);
        if (is_guess && theirs.stray.empty() &&
            find_step(table, each.name).kind == Step::Kind::input &&
            judge.looks_right(theirs, each.name)) {
            theirs.options = theirs.steps = {each.name};
        }
    }
    theirs.misfits = theirs.steps.empty();
    if (theirs.misfits) theirs.options = theirs.steps = {first};
    // If no step with that name has the shape, the tensor may be any step that has.
    const auto is_whole = [&](const std::string& step) {
        const Tensor* expected = judge.reference().find(step);
        return expected == nullptr || theirs.tensor.size() <= expected->size();
    };
    if (!theirs.misfits && std::ranges::any_of(theirs.steps, is_whole)) return;
    theirs.foreign = theirs.options.size();
    std::ranges::copy(steps_by_shape(judge, theirs.tensor), std::back_inserter(theirs.options));
}

/// Moves a step to the front: the one whose right numbers the tensor has, else the likeliest free
/// one.
class Settling {
    /// Moves the first of a tensor's steps for which `is_such` holds to the front.
    void put_first(TheirTensor& theirs, const auto& is_such) {
        const auto step = std::ranges::find_if(theirs.steps, is_such);
        if (step == theirs.steps.end()) return;
        claimed_.insert(*step);
        std::rotate(theirs.steps.begin(), step, step + 1);
    }

    /// True if a tensor has the right numbers of a step.
    auto holds(const TheirTensor& theirs) const {
        return [this, &theirs](const std::string& step) {
            return step != "mask" && judge_.looks_right(theirs, step);
        };
    }
    bool holds_any(const TheirTensor& theirs) const {
        return std::ranges::any_of(theirs.steps, holds(theirs));
    }
    /// True if no tensor has claimed a step.
    auto is_free() const {
        return [this](const std::string& step) { return !claimed_.contains(step); };
    }

public:
    Settling(const Judge& judge, std::vector<TheirTensor>& tensors)
        : judge_(judge), tensors_(tensors) {
        // Query, key and value for which the user's own tensors are used.
        for (const auto& [name, tensor] : judge.given().entries()) {
            const bool is_made =
                find_step(kept_table(judge.plan()), name).kind == Step::Kind::computed;
            if (is_made) claimed_.insert(name);
        }
    }

    void settle() {
        for (TheirTensor& theirs : tensors_) {
            if (names_a_result(theirs.name)) continue;
            if (theirs.foreign == SIZE_MAX) theirs.options = theirs.steps;
            theirs.is_right = holds_any(theirs);
            if (theirs.is_right) put_first(theirs, holds(theirs));
        }
        find_strays();
        find_seconds();
        // The tensors saved last are settled first: the last of several results is the final one.
        for (TheirTensor& theirs : std::views::reverse(tensors_)) {
            if (names_a_result(theirs.name)) {
                if (theirs.stray.empty()) settle_result(theirs);
            } else if (!theirs.is_right && theirs.stray.empty()) {
                put_first(theirs, is_free());
            }
        }
        for (TheirTensor& theirs : tensors_) {
            if (!theirs.is_right && !theirs.stray.empty()) put_first(theirs, is_free());
        }
        keep_apart();
    }

private:
    /// If a result has the right numbers of the last step, others with such a name come after
    /// attention.
    void find_strays() {
        const auto is_result = [](const TheirTensor& each) {
            return names_a_result(each.name) && each.steps.front() == "output";
        };
        const auto whole = std::ranges::find_if(tensors_, [&](const TheirTensor& each) {
            return is_result(each) && holds(each)("output");
        });
        if (whole == tensors_.end()) return;
        for (TheirTensor& theirs : tensors_) {
            if (&theirs == &*whole || !is_result(theirs) || holds_any(theirs)) continue;
            theirs.stray = whole->name + " is the output, and nothing is computed from it";
        }
    }

    /// Each tensor is one step, and each step one tensor: if every step that a name may mean is
    /// another tensor's, which is right, the shape alone decides.
    void find_seconds() {
        for (TheirTensor& theirs : tensors_) {
            const bool is_second = !theirs.is_right && theirs.stray.empty() &&
                                   !names_a_result(theirs.name) && theirs.steps.front() != "mask" &&
                                   std::ranges::none_of(theirs.steps, is_free());
            if (!is_second) continue;
            theirs.stray = theirs.steps.front() + " is another tensor, which is right";
            theirs.steps = steps_by_shape(judge_, theirs.tensor);
            std::erase_if(theirs.steps, [&](const auto& step) { return !is_free()(step); });
            if (theirs.steps.empty()) theirs.steps = {theirs.options.front()};
            theirs.options = theirs.steps;
            theirs.is_right = holds_any(theirs);
            if (theirs.is_right) put_first(theirs, holds(theirs));
        }
    }

    /// If the user has the right tensor of a step, another tensor of that shape is not that step.
    void keep_apart() {
        std::set<std::string> right;
        for (const TheirTensor& each : tensors_) {
            if (each.is_right) right.insert(each.steps.front());
        }
        for (TheirTensor& theirs : tensors_) {
            if (theirs.is_right || theirs.foreign >= theirs.options.size()) continue;
            const auto begin = theirs.options.begin() + static_cast<std::ptrdiff_t>(theirs.foreign);
            theirs.options.erase(
                std::remove_if(begin, theirs.options.end(),
                               [&](const std::string& step) { return right.contains(step); }),
                theirs.options.end());
        }
    }

    /// A tensor with a name for results comes last, whatever its numbers are.
    void settle_result(TheirTensor& theirs) {
        const std::vector<std::string> fitting = theirs.steps;
        if (theirs.foreign == SIZE_MAX) {
            std::ranges::copy(theirs.options, std::back_inserter(theirs.steps));
        }
        put_first(theirs, is_free());
        theirs.misfits = std::ranges::count(fitting, theirs.steps.front()) == 0;
        theirs.steps = {theirs.steps.front()};
        if (theirs.foreign == SIZE_MAX) theirs.options = theirs.steps;
        theirs.is_right = holds_any(theirs);
        // The saved result may be the input of the output projection.
        const std::string before = judge_.reference().find("merged") ? "merged" : "context";
        const Tensor* projected = judge_.reference().find(before);
        const bool may_be_before = theirs.steps.front() == "output" && theirs.name != "output" &&
                                   projected != nullptr && is_free()(before) &&
                                   !readings(theirs.tensor, *projected).empty();
        if (!may_be_before) return;
        theirs.foreign = std::min(theirs.foreign, theirs.options.size());
        theirs.options.push_back(before);
    }

    const Judge& judge_;
    std::vector<TheirTensor>& tensors_;
    std::set<std::string> claimed_;
};

/// Returns the names that may be those of weights, of tensors that can be weights.
std::set<std::string> names_of_weights(const Plan& plan, const Ledger& theirs) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : theirs.entries()) {
        const std::vector<std::string> steps = steps_called(name, plan);
        if (!steps.empty() && steps.front() == "weights" && can_be_weights(tensor)) {
            names.insert(name);
        }
    }
    return names;
}

/// True if a tensor with a name of scores has another number of keys and the shape of no step, and
/// other scores or weights have the keys of the walk: logits of a vocabulary.
bool has_other_keys(const Plan& plan, const Judge& judge, const Ledger& theirs,
                    const TheirTensor& entry) {
    const auto is_score = [&](const std::string& step) {
        return step == "weights" || is_scores(plan, step);
    };
    const auto fits_one = [&](const TheirTensor& each) {
        return std::ranges::any_of(each.steps, [&](const std::string& step) {
            return is_score(step) && fits(plan, judge, each, step);
        });
    };
    const std::vector<std::string>& steps = entry.steps;
    if (steps.empty() || !is_score(steps.front()) || entry.tensor.dimension() == 0) return false;
    if (entry.tensor.shape().back() == plan.key_len) return false;
    if (!steps_by_shape(judge, entry.tensor).empty()) return false;
    return std::ranges::any_of(theirs.entries(), [&](const auto& other) {
        return fits_one({other.name, other.tensor, steps_called(other.name, plan), 0});
    });
}

/// Explains why a name does not identify a tensor in this walk, so that its shape must; empty if it
/// does.
std::string why_stray(const std::string& name, const Tensor& tensor, const Plan& plan,
                      std::vector<std::string>& steps) {
    if (!steps.empty()) {
        if (steps.front() != "mask" || !mask_readings(tensor, plan).empty()) return {};
        std::erase(steps, "mask");
        return steps.empty() ? "it is not a mask of this walk, by its shape or its values" : "";
    }
    const std::vector<std::string> known = known_steps(name, kept_table(plan));
    const bool may_be_any =
        known.empty() || (known.front() != "masked_scores" &&
                          find_step(kept_table(plan), known.front()).kind == Step::Kind::computed);
    return may_be_any ? reason_to_skip(name, plan) : "";
}

}  // namespace

bool is_scores(const Plan& plan, const std::string& step) {
    return find_step(kept_table(plan), step).chain == Chain::scores;
}

std::vector<TheirTensor> their_tensors(const Plan& plan, const Judge& judge, const Ledger& theirs,
                                       const DiagnoseOptions& options,
                                       std::vector<Skipped>& skipped) {
    std::vector<TheirTensor> tensors;
    const std::set<std::string> weights = names_of_weights(plan, theirs);
    for (const auto& [name, tensor] : theirs.entries()) {
        TheirTensor entry{name, tensor, {}, 0};
        if (const auto said = options.steps.find(name); said != options.steps.end()) {
            if (!has_step(kept_table(plan), plan, said->second)) {
                skipped.push_back({name, reason_to_skip(said->second, plan)});
                continue;
            }
            entry.steps = {said->second};
        } else {
            entry.steps = steps_called(name, plan);
            // A table of embeddings next to x is not a second x.
            const std::vector<std::string> known = known_steps(name, kept_table(plan));
            if (!known.empty() && known.front().ends_with("embedding") &&
                !judge.looks_right(entry, "x") &&
                (judge.given().has("x") || !fits(plan, judge, entry, "x"))) {
                std::erase(entry.steps, "x");
            }
            // Beside weights, numbers below 0 are scores.
            const bool are_others = weights.size() > weights.count(name) && !can_be_weights(tensor);
            if (are_others && entry.steps.size() > 1) std::erase(entry.steps, "weights");
            if (has_other_keys(plan, judge, theirs, entry)) {
                const std::string keys = std::to_string(plan.key_len);
                skipped.push_back({name, "its last axis has length " +
                                             std::to_string(tensor.shape().back()) +
                                             ", and this walk has " + keys + " keys"});
                continue;
            }
        }
        if (entry.steps.empty() && tensor.dimension() == 0) {
            skipped.push_back({name, "a single number is no step"});
            skipped.back().is_number = true;
            continue;
        }
        entry.stray = why_stray(name, tensor, plan, entry.steps);
        if (!entry.stray.empty()) entry.steps = steps_by_shape(judge, tensor);
        const std::string reason = entry.stray.empty() ? reason_to_skip(name, plan) : entry.stray;
        if (entry.steps.empty()) {
            skipped.push_back({name, reason});
        } else if (tensor.size() == 0) {
            skipped.push_back({name, "it has no elements"});
        } else {
            entry.epsilon = epsilon_of_half(tensor);
            keep_fitting(plan, judge, entry);
            tensors.push_back(std::move(entry));
        }
    }
    share_types(tensors);
    Settling(judge, tensors).settle();
    return tensors;
}

}  // namespace attn
