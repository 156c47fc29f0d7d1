#include "attn/judge/diagnose/user_tensors.hpp"

#include <algorithm>
#include <ranges>
#include <set>

#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/compare.hpp"

namespace attn {
namespace {

/// True if the tensor could be that step: some reading has its shape.
bool fits(const Plan& plan, const Judge& judge, const UserTensor& actual, const std::string& step) {
    if (step == "mask") return !mask_readings(actual.tensor, plan).empty();
    const Tensor* expected = judge.reference().find(step);
    return expected != nullptr && !readings(actual.tensor, *expected).empty();
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
        return "nothing is masked in this walk: pass $mask"_message;
    }
    return no_such_step(step);
}

/// Returns the steps that have the shape of a tensor with an unknown name, the last of the walk
/// first.
std::vector<std::string> steps_by_shape(const Judge& judge, const Tensor& actual) {
    std::vector<std::string> steps;
    if (!actual.is_floating() || actual.size() < 2) return steps;
    for (const Ledger::Entry& step : std::views::reverse(judge.reference().entries())) {
        const Step::Kind kind = find_step(kept_table(judge.plan()), step.name).kind;
        const bool is_computed_step =
            (kind == Step::Kind::computed || kind == Step::Kind::detail) &&
            !judge.given().has(step.name);
        if (is_computed_step && step.tensor.is_floating() &&
            !readings(actual, step.tensor).empty()) {
            steps.push_back(step.name);
        }
    }
    return steps;
}

/// Keeps those of a tensor's candidate steps that its shape and numbers allow. If none does, keeps
/// the likeliest one.
void keep_fitting(const Plan& plan, const Judge& judge, UserTensor& actual) {
    const StepTable& table = kept_table(plan);
    const std::string first = actual.steps.front();
    const bool has_forms = actual.stray.empty() && !names_a_result(actual.name);
    for (std::size_t i = 0; has_forms && i < actual.steps.size(); ++i) {
        for (const std::string& kept : kept_of(actual.steps[i])) {
            const bool is_new = std::ranges::count(actual.steps, kept) == 0;
            if (is_new && judge.reference().has(kept)) actual.steps.push_back(kept);
        }
    }
    // A context with its heads side by side may be the merged one.
    const bool is_context = actual.stray.empty() && first == "context";
    if (is_context && std::ranges::count(actual.steps, "merged") == 0 &&
        fits(plan, judge, actual, "merged") &&
        judge.reference()["context"].shape() != actual.tensor.shape()) {
        actual.steps.emplace_back("merged");
    }
    actual.options = actual.steps;
    std::erase_if(actual.steps, [&](const std::string& step) {
        if (!fits(plan, judge, actual, step)) return true;
        // A tensor called query may be x before its projection, and one called weights may be
        // scores before softmax: only correct numbers show this. A tensor with the name of an input
        // may be x by its shape alone.
        const bool is_computed_step = find_step(table, first).kind == Step::Kind::computed;
        const bool as_before =
            step != first &&
            (step == "x" ? is_computed_step
                         : first == "weights" && place_of(table, step) < place_of(table, first));
        if (as_before) return !judge.looks_right(actual, step);
        // A result has a head axis, or merged heads.
        if (!names_a_result(actual.name) || (step != "context" && step != "merged")) return false;
        const bool has_heads = judge.reference()["context"].shape() == actual.tensor.shape();
        return fits(plan, judge, actual, "merged") && has_heads == (step == "merged");
    });
    if (looks_masked(actual.tensor) && std::ranges::count(actual.steps, "masked_scores") > 0) {
        std::erase_if(actual.steps,
                      [](const auto& step) { return !step.starts_with("masked_scores"); });
    }
    // A tensor that fits no step of its name is the input whose numbers it has: x, or ids.
    for (const Ledger::Entry& each : judge.reference().entries()) {
        const bool is_guess = std::ranges::all_of(actual.steps, kept_step);
        if (is_guess && actual.stray.empty() &&
            find_step(table, each.name).kind == Step::Kind::input &&
            judge.looks_right(actual, each.name)) {
            actual.options = actual.steps = {each.name};
        }
    }
    const bool misfits = actual.steps.empty();
    if (misfits) actual.options = actual.steps = {first};
    // If no step with that name has the shape, the tensor may be any step that has.
    const auto is_whole = [&](const std::string& step) {
        const Tensor* expected = judge.reference().find(step);
        return expected == nullptr || actual.tensor.size() <= expected->size();
    };
    if (!misfits && std::ranges::any_of(actual.steps, is_whole)) return;
    actual.foreign = actual.options.size();
    std::ranges::copy(steps_by_shape(judge, actual.tensor), std::back_inserter(actual.options));
}

/// Moves a step to the front: the one whose right numbers the tensor has, else the likeliest free
/// one.
class Settling {
    /// Moves the first of a tensor's steps for which `is_such` holds to the front.
    void put_first(UserTensor& actual, const auto& is_such) {
        const auto step = std::ranges::find_if(actual.steps, is_such);
        if (step == actual.steps.end()) return;
        claimed_.insert(*step);
        std::rotate(actual.steps.begin(), step, step + 1);
    }

    /// True if a tensor has the right numbers of a step.
    auto holds(const UserTensor& actual) const {
        return [this, &actual](const std::string& step) {
            return step != "mask" && judge_.looks_right(actual, step);
        };
    }
    bool holds_any(const UserTensor& actual) const {
        return std::ranges::any_of(actual.steps, holds(actual));
    }
    /// True if no tensor has claimed a step.
    auto is_free() const {
        return [this](const std::string& step) { return !claimed_.contains(step); };
    }

public:
    Settling(const Judge& judge, std::vector<UserTensor>& tensors)
        : judge_(judge), tensors_(tensors) {
        // Query, key and value for which the user's own tensors are used.
        for (const auto& [name, tensor] : judge.given().entries()) {
            const bool is_computed_step =
                find_step(kept_table(judge.plan()), name).kind == Step::Kind::computed;
            if (is_computed_step) claimed_.insert(name);
        }
    }

    void settle() {
        for (UserTensor& actual : tensors_) {
            if (names_a_result(actual.name)) continue;
            if (actual.foreign == SIZE_MAX) actual.options = actual.steps;
            actual.is_right = holds_any(actual);
            if (actual.is_right) put_first(actual, holds(actual));
        }
        find_strays();
        find_seconds();
        // The tensors saved last are settled first: the last of several results is the final one.
        for (UserTensor& actual : std::views::reverse(tensors_)) {
            if (names_a_result(actual.name)) {
                if (actual.stray.empty()) settle_result(actual);
            } else if (!actual.is_right && actual.stray.empty()) {
                put_first(actual, is_free());
            }
        }
        for (UserTensor& actual : tensors_) {
            if (!actual.is_right && !actual.stray.empty()) put_first(actual, is_free());
        }
        separate_names();
    }

private:
    /// If a result has the right numbers of the last step, others with such a name come after
    /// attention.
    void find_strays() {
        const auto is_result = [](const UserTensor& each) {
            return names_a_result(each.name) && each.steps.front() == "output";
        };
        const auto whole = std::ranges::find_if(tensors_, [&](const UserTensor& each) {
            return is_result(each) && holds(each)("output");
        });
        if (whole == tensors_.end()) return;
        for (UserTensor& actual : tensors_) {
            if (&actual == &*whole || !is_result(actual) || holds_any(actual)) continue;
            actual.stray = whole->name + " is the output, and nothing is computed from it";
        }
    }

    /// Each tensor is one step, and each step one tensor: if every step that a name may mean is
    /// another tensor's, which is right, the shape alone decides.
    void find_seconds() {
        for (UserTensor& actual : tensors_) {
            const bool is_second = !actual.is_right && actual.stray.empty() &&
                                   !names_a_result(actual.name) && actual.steps.front() != "mask" &&
                                   std::ranges::none_of(actual.steps, is_free());
            if (!is_second) continue;
            actual.stray = actual.steps.front() + " is another tensor, which is right";
            actual.steps = steps_by_shape(judge_, actual.tensor);
            std::erase_if(actual.steps, [&](const auto& step) { return !is_free()(step); });
            if (actual.steps.empty()) actual.steps = {actual.options.front()};
            actual.options = actual.steps;
            actual.is_right = holds_any(actual);
            if (actual.is_right) put_first(actual, holds(actual));
        }
    }

    /// If the user has the right tensor of a step, another tensor of that shape is not that step.
    void separate_names() {
        std::set<std::string> right;
        for (const UserTensor& each : tensors_) {
            if (each.is_right) right.insert(each.steps.front());
        }
        for (UserTensor& actual : tensors_) {
            if (actual.is_right || actual.foreign >= actual.options.size()) continue;
            const auto begin = actual.options.begin() + static_cast<std::ptrdiff_t>(actual.foreign);
            actual.options.erase(
                std::remove_if(begin, actual.options.end(),
                               [&](const std::string& step) { return right.contains(step); }),
                actual.options.end());
        }
    }

    /// A tensor with a name for results comes last, whatever its numbers are.
    void settle_result(UserTensor& actual) {
        if (actual.foreign == SIZE_MAX) {
            std::ranges::copy(actual.options, std::back_inserter(actual.steps));
        }
        put_first(actual, is_free());
        actual.steps = {actual.steps.front()};
        if (actual.foreign == SIZE_MAX) actual.options = actual.steps;
        actual.is_right = holds_any(actual);
        // The saved result may be the input of the output projection.
        const std::string before = judge_.reference().find("merged") ? "merged" : "context";
        const Tensor* projected = judge_.reference().find(before);
        const bool may_be_before = actual.steps.front() == "output" && actual.name != "output" &&
                                   projected != nullptr && is_free()(before) &&
                                   !readings(actual.tensor, *projected).empty();
        if (!may_be_before) return;
        actual.foreign = std::min(actual.foreign, actual.options.size());
        actual.options.push_back(before);
    }

    const Judge& judge_;
    std::vector<UserTensor>& tensors_;
    std::set<std::string> claimed_;
};

/// Returns the names that may be those of weights, of tensors that can be weights.
std::set<std::string> names_of_weights(const Plan& plan, const Ledger& actual) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : actual.entries()) {
        const std::vector<std::string> steps = steps_called(name, plan);
        if (!steps.empty() && steps.front() == "weights" && can_be_weights(tensor)) {
            names.insert(name);
        }
    }
    return names;
}

/// True if a tensor with a name of scores has another number of keys and the shape of no step, and
/// other scores or weights have the keys of the walk: logits of a vocabulary.
bool has_other_keys(const Plan& plan, const Judge& judge, const Ledger& actual,
                    const UserTensor& entry) {
    const auto is_score = [&](const std::string& step) {
        return step == "weights" || is_scores(plan, step);
    };
    const auto fits_one = [&](const UserTensor& each) {
        return std::ranges::any_of(each.steps, [&](const std::string& step) {
            return is_score(step) && fits(plan, judge, each, step);
        });
    };
    const std::vector<std::string>& steps = entry.steps;
    if (steps.empty() || !is_score(steps.front()) || entry.tensor.dimension() == 0) return false;
    if (entry.tensor.shape().back() == plan.key_len) return false;
    if (!steps_by_shape(judge, entry.tensor).empty()) return false;
    return std::ranges::any_of(actual.entries(), [&](const auto& other) {
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

std::vector<UserTensor> read_user_tensors(const Plan& plan, const Judge& judge,
                                          const Ledger& actual, const DiagnoseOptions& options,
                                          std::vector<Skipped>& skipped) {
    std::vector<UserTensor> tensors;
    const std::set<std::string> weights = names_of_weights(plan, actual);
    for (const auto& [name, tensor] : actual.entries()) {
        UserTensor entry{name, tensor, {}, 0};
        if (const auto specified = options.steps.find(name); specified != options.steps.end()) {
            if (!has_step(kept_table(plan), plan, specified->second)) {
                skipped.push_back({name, reason_to_skip(specified->second, plan)});
                continue;
            }
            entry.steps = {specified->second};
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
            if (has_other_keys(plan, judge, actual, entry)) {
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
