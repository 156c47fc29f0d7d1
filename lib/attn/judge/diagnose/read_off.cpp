// Patterns in the numbers of a wrong tensor, compared with earlier steps.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attn/core/plan/visibility.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/search.hpp"

namespace attn {
namespace {

using Numbers = std::vector<double>;
constexpr double unset = std::numeric_limits<double>::infinity();

bool alike(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b || (std::isnan(a) && std::isnan(b));
    return std::abs(a - b) <= 1e-4 * (1e-2 + std::max(std::abs(a), std::abs(b)));
}

bool all_alike(const Numbers& a, const Numbers& b) { return std::ranges::equal(a, b, alike); }

std::string listed(const Numbers& numbers, std::size_t most = 6) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < std::min(most, numbers.size()); ++i) {
        words.push_back(std::abs(numbers[i]) < 1e-6 ? "0" : brief(numbers[i]));
    }
    return joined(words) + (numbers.size() > most ? ", ..." : "");
}

/// Returns one number per index of an axis that turns the right tensor into the user's; nullopt if
/// an index needs several numbers, or all are the same.
template <class Between>
std::optional<Numbers> one_for_each(const Tensor& actual, const Tensor& right, std::size_t axis,
                                    const Between& between) {
    const auto [outer, length, inner] = axis_view(actual.shape(), axis);
    Numbers found(length, std::nan(""));
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double number = between(actual.at(i), right.at(i));
        if (std::isnan(number)) continue;
        double& known = found[i / inner % length];
        if (std::isnan(known)) known = number;
        if (!alike(number, known)) return std::nullopt;
    }
    const bool differ =
        std::ranges::any_of(found, [&](double number) { return !alike(number, found.front()); });
    const bool are_known =
        std::ranges::none_of(found, [](double number) { return std::isnan(number); });
    return differ && are_known && inner * outer > 1 ? std::optional(found) : std::nullopt;
}

/// Describes a factor or an addend per place of one axis.
std::string of_its_own(const Tensor& actual, const Tensor& right, std::size_t axis) {
    const std::string& name = actual.axes()[axis];
    const auto factor = [](double a, double b) {
        return std::abs(b) < 1e-6 || !std::isfinite(b) ? std::nan("") : a / b;
    };
    const auto addend = [](double a, double b) { return std::isfinite(b) ? a - b : std::nan(""); };
    if (const auto factors = one_for_each(actual, right, axis, factor)) {
        return "each " + name + " has its own factor: " + listed(*factors);
    }
    if (const auto addends = one_for_each(actual, right, axis, addend)) {
        return "each " + name + " has its own offset: " + listed(*addends);
    }
    return {};
}

/// Describes one axis: the first places that are right, or a factor for each place.
std::string along(const Tensor& actual, const Tensor& right, std::size_t axis) {
    std::string own = of_its_own(actual, right, axis);
    if (!own.empty() || axis + 1 == actual.dimension()) return own;
    const auto [outer, length, inner] = axis_view(actual.shape(), axis);
    const std::string& name = actual.axes()[axis];
    std::vector<bool> is_right(length, true);
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (!alike(actual.at(i), right.at(i))) is_right[i / inner % length] = false;
    }
    Numbers wrong;
    for (std::size_t i = 0; i < length; ++i) {
        if (!is_right[i]) wrong.push_back(static_cast<double>(i));
    }
    if (wrong.empty() || wrong.size() == length) return {};
    const std::string first = brief(wrong.front()), last = brief(wrong.back());
    if (wrong.size() == 1) return "everything is right except " + name + " " + first;
    const bool to_end = wrong.back() + 1 == static_cast<double>(length);
    if (wrong.back() - wrong.front() + 1 != static_cast<double>(wrong.size())) {
        return "wrong at " + name + " " + listed(wrong) + ", right at the others";
    }
    // The first query of a causal walk has only one key and is always right.
    const bool is_row = name == "query" || name == "token";
    if (to_end && wrong.front() == 1 && is_row) return {};
    if (!to_end) return "wrong from " + name + " " + first + " to " + last + ", right elsewhere";
    return "right up to " + name + " " + brief(wrong.front() - 1) + ", wrong from " + name + " " +
           first + " on";
}

/// Formats `0 to 3`, or a list of keys.
std::string keys_in(const std::vector<bool>& seen, std::size_t row, std::size_t keys) {
    Numbers which;
    for (std::size_t k = 0; k < keys; ++k) {
        if (seen[row * keys + k]) which.push_back(static_cast<double>(k));
    }
    if (which.empty()) return "no key";
    const bool is_range = which.back() - which.front() + 1 == static_cast<double>(which.size());
    if (!is_range) return "keys " + listed(which);
    if (which.size() == 1) return "key " + brief(which.front());
    return "keys " + brief(which.front()) + " to " + brief(which.back());
}

/// Describes the visible keys of each query as a kind of mask; empty if none fits.
std::string mask_of(const Plan& plan, const std::vector<bool>& seen) {
    const auto keys = static_cast<std::ptrdiff_t>(plan.key_len);
    const auto queries = static_cast<std::ptrdiff_t>(plan.query_len);
    const auto is = [&](const auto& rule) {
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const auto at = static_cast<std::ptrdiff_t>(i);
            const std::ptrdiff_t q = at / keys % queries + causal_offset(plan);
            if (seen[i] != rule(q, at % keys)) return false;
        }
        return true;
    };
    if (is([](auto, auto) { return true; })) return "every query sees every key";
    for (std::ptrdiff_t n = 1 - keys; n < keys; ++n) {
        const std::string many = std::to_string(n);
        if (is([n](auto q, auto k) { return k <= q + n; })) {
            return "a query sees the keys up to its own position" +
                   (n == 0 ? "" : (n > 0 ? " + " : " - ") + std::to_string(std::abs(n)));
        }
        if (n < 1) continue;
        if (is([n](auto q, auto k) { return k <= q && q - k < n; })) {
            return "a query sees " + many + " keys including its own, and no later ones";
        }
        if (is([n](auto q, auto k) { return std::abs(q - k) < n; })) {
            return "a query sees the keys less than " + many + " away, on both sides";
        }
        if (is([n](auto, auto k) { return k < n; })) return "the first " + many + " keys are seen";
        if (is([n](auto, auto k) { return k >= n; })) {
            return "all but the first " + many + " keys are seen";
        }
        if (is([n](auto q, auto k) { return k <= q && q / n == k / n; })) {
            return "a query sees the keys before it in its block of " + many;
        }
        if (is([n](auto q, auto k) { return k <= q && k % n == q % n; })) {
            return "a query sees its own key and every " + many + "th key before it";
        }
        for (std::ptrdiff_t first = 1; first < keys; ++first) {
            if (is([=](auto q, auto k) { return k <= q && (q - k < n || k < first); })) {
                return "a query sees " + many + " keys including its own, and the first " +
                       std::to_string(first);
            }
        }
    }
    return {};
}

/// Infers the visible keys from zero weights or from scores far below all others.
void keys_that_are_seen(const Plan& plan, const std::string& step, const Tensor& actual,
                        Replay& replay, std::vector<std::string>& evidence) {
    const Tensor* weights = replay.step("weights");
    const std::size_t keys = plan.key_len;
    if (weights == nullptr || weights->shape() != actual.shape()) return;
    const bool is_weights = step == "weights";
    const Tensor right = is_weights ? *weights : *replay.step(step);
    std::vector<bool> seen(actual.size()), should(actual.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        seen[i] = is_weights ? actual.at(i) != 0 : actual.at(i) > -1e4;
        should[i] = is_weights ? right.at(i) != 0 : right.at(i) > -1e4;
    }
    const auto [a, b] = std::ranges::mismatch(seen, should);
    if (a == seen.end()) return;
    const std::size_t row = static_cast<std::size_t>(a - seen.begin()) / keys;
    const std::string mask = mask_of(plan, seen);
    if (!mask.empty()) evidence.push_back(mask);
    evidence.push_back("query " + std::to_string(row % plan.query_len) + " sees " +
                       keys_in(seen, row, keys) + ", but should see " + keys_in(should, row, keys));
    if (!is_weights) return;
    // The rest is right if softmax over these keys gives the user's weights.
    Numbers shares = actual.numbers();
    for (std::size_t first = 0; first < shares.size(); first += keys) {
        std::size_t known = first;
        while (known < first + keys && !(seen[known] && should[known])) ++known;
        for (std::size_t i = first; i < first + keys && known < first + keys; ++i) {
            if (seen[i] && should[i] &&
                !alike(shares[i] * right.at(known), shares[known] * right.at(i))) {
                return;
            }
        }
    }
    evidence.emplace_back("among the keys that should be seen, the weights have the right ratios");
}

/// Reports the addend of right scores for each distance and head.
void added_by_distance(const Plan& plan, const std::string& step, const Tensor& actual,
                       Replay& replay, std::vector<std::string>& evidence) {
    const StepTable& table = step_table(plan);
    const bool has_bias = step == "position_bias" || step == "biased_scores";
    const Tensor right = *replay.step(step);
    std::optional<Tensor> base;
    if (step == "biased_scores") {
        base = *replay.step(PlannedStep{plan, table, find_step(table, step)}.latest(Chain::scores));
    }
    const auto [groups, queries, keys] = groups_of(actual.shape());
    const std::size_t most = std::min<std::size_t>(keys, 5);
    const auto by_distance = [&, queries = queries, keys = keys](const Tensor& of,
                                                                 std::size_t group) -> Numbers {
        Numbers added(most, unset);
        for (std::size_t i = group * queries * keys; i < (group + 1) * queries * keys; ++i) {
            const auto q = static_cast<std::ptrdiff_t>(i / keys % queries) + causal_offset(plan);
            const std::ptrdiff_t away = q - static_cast<std::ptrdiff_t>(i % keys);
            const double start = step == "position_bias" ? 0 : base ? base->at(i) : right.at(i);
            const double more = of.at(i) - start;
            if (away < 0 || away >= static_cast<std::ptrdiff_t>(most) || !std::isfinite(more)) {
                continue;
            }
            double& known = added[static_cast<std::size_t>(away)];
            if (known == unset) known = more;
            if (std::abs(known - more) > 1e-4 * (1 + std::abs(of.at(i)))) return {};
        }
        while (!added.empty() && added.back() == unset) added.pop_back();
        return std::ranges::count(added, unset) == 0 ? added : Numbers();
    };
    const std::size_t heads = plan.has_head ? std::min(plan.heads, groups) : 1;
    for (std::size_t head = 0; head < std::min<std::size_t>(heads, 4); ++head) {
        const Numbers actual_add = by_distance(actual, head), correct = by_distance(right, head);
        const bool has_offsets = actual_add.size() == correct.size() && correct.size() > 1;
        if (!has_offsets || all_alike(actual_add, correct)) continue;
        evidence.push_back((heads > 1 ? "head " + std::to_string(head) + ": " : "") +
                           "the keys 0, 1, 2, ... tokens back have " + listed(actual_add) +
                           " added" + (has_bias ? ", not " + listed(correct) : ""));
    }
}

/// A rotation of a tensor: which features form pairs, and the angle of each pair at each token.
struct Turn {
    std::string pairs;
    std::vector<Numbers> angles;  ///< per token
};

/// Infers the rotation of `width` features per group; nullopt if the tensors are not a rotation of
/// each other.
std::optional<Turn> rotation_between(const Numbers& before, const Numbers& after,
                                     std::size_t tokens, std::size_t features, std::size_t width,
                                     bool halves) {
    Turn turn;
    const std::size_t pairs = width / 2;
    turn.pairs = halves ? "(i, i + " + std::to_string(pairs) + ")" : "(2i, 2i + 1)";
    if (width < features) turn.pairs += " of the first " + std::to_string(width) + " features";
    turn.angles.assign(tokens, Numbers(pairs, std::nan("")));
    for (std::size_t row = 0; row < before.size() / features; ++row) {
        for (std::size_t f = width; f < features; ++f) {
            if (!alike(before[row * features + f], after[row * features + f])) return {};
        }
        for (std::size_t i = 0; i < pairs; ++i) {
            const std::size_t one = row * features + (halves ? i : 2 * i);
            const std::size_t two = halves ? one + pairs : one + 1;
            const double a = before[one], b = before[two], c = after[one], d = after[two];
            if (std::abs(std::hypot(a, b) - std::hypot(c, d)) > 1e-4 * std::hypot(a, b)) return {};
            const double angle = std::atan2(a * d - b * c, a * c + b * d);
            double& known = turn.angles[row % tokens][i];
            if (std::isnan(known)) known = angle;
            if (std::abs(std::remainder(known - angle, 2 * std::numbers::pi)) > 1e-3) return {};
        }
    }
    return turn;
}

/// Returns the numbers of a tensor with its heads side by side, as before the split.
Numbers heads_joined(const Tensor& tensor, std::size_t heads) {
    const std::size_t features = tensor.shape().back();
    const std::size_t tokens = tensor.shape()[tensor.dimension() - 2];
    Numbers moved(tensor.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
        const std::size_t row = i / features, t = row % tokens, h = row / tokens % heads;
        const std::size_t sample = row / tokens / heads;
        moved[((sample * tokens + t) * heads + h) * features + i % features] = tensor.at(i);
    }
    return moved;
}

/// Infers the rotation between two tensors, for any width and pairing, per head or over all heads.
std::optional<Turn> find_rotation(const Tensor& before, const Tensor& after, std::size_t heads) {
    const std::size_t tokens = after.shape()[after.dimension() - 2];
    for (const std::size_t together : {std::size_t{1}, heads}) {
        const std::size_t all = after.shape().back() * together;
        const bool joins = together > 1;
        const Numbers a = joins ? heads_joined(before, heads) : before.numbers();
        const Numbers b = joins ? heads_joined(after, heads) : after.numbers();
        for (std::size_t width = all - all % 2; width >= 2; width = width / 4 * 2) {
            for (const bool halves : {true, false}) {
                std::optional<Turn> turn = rotation_between(a, b, tokens, all, width, halves);
                if (turn && joins) turn->pairs += " of all heads joined: before the split";
                if (turn) return turn;
            }
        }
    }
    return std::nullopt;
}

/// Reports the angles between a rotated tensor and its input.
void angles_of_rotation(const Plan& plan, const std::string& step, const Tensor& actual,
                        Replay& replay, std::vector<std::string>& evidence) {
    const StepTable& table = step_table(plan);
    const Step& card = find_step(table, step);
    const Tensor* start = replay.step(PlannedStep{plan, table, card}.latest(card.chain));
    if (start == nullptr || start->shape() != actual.shape() || actual.size() > 1'000'000) return;
    const std::size_t heads = plan.has_head ? actual.shape()[actual.dimension() - 3] : 1;
    const Tensor before = *start;
    const std::optional<Turn> turn = find_rotation(before, actual, heads);
    const std::optional<Turn> meant = find_rotation(before, *replay.step(step), heads);
    if (!turn)
        evidence.emplace_back("no pairs of features keep their length: it is not a rotation");
    if (!turn || !meant) return;
    // The angle per token: the difference between neighbours, whatever the first position is.
    const auto rates = [](const Turn& of) {
        Numbers all;
        for (std::size_t i = 0; i < of.angles[0].size() && of.angles.size() > 1; ++i) {
            all.push_back(std::remainder(of.angles[1][i] - of.angles[0][i], 2 * std::numbers::pi));
        }
        return all;
    };
    const auto notify = [&](const std::string& what, const Numbers& is, const Numbers& should) {
        if (all_alike(is, should)) return;
        evidence.push_back(what + " by " + listed(is) + ", not by " + listed(should));
    };
    if (turn->pairs != meant->pairs) {
        evidence.push_back("the pairs " + turn->pairs + " are rotated, not " + meant->pairs);
    } else {
        notify("token 0 is rotated", turn->angles[0], meant->angles[0]);
    }
    notify("from token 0 to 1 the pairs rotate", rates(*turn), rates(*meant));
}

}  // namespace

void read_off_axes(const Tensor& actual, const Tensor& right, std::vector<std::string>& evidence) {
    for (std::size_t axis = 0; axis < actual.dimension(); ++axis) {
        if (actual.shape()[axis] < 2) continue;
        if (std::string line = along(actual, right, axis); !line.empty()) {
            evidence.push_back(std::move(line));
        }
    }
}

void read_off(const Plan& plan, const std::string& step, const Tensor& actual, Replay& replay,
              std::vector<std::string>& evidence) {
    const Tensor* right = replay.step(step);
    if (right == nullptr || right->shape() != actual.shape() || !actual.is_floating() ||
        actual.dimension() < 2 || actual.size() == 0) {
        return;
    }
    read_off_axes(actual, Tensor(*right), evidence);
    if (step == "weights" || step == "masked_scores") {
        keys_that_are_seen(plan, step, actual, replay, evidence);
    }
    const bool is_scores =
        step == "position_bias" || find_step(kept_table(plan), step).chain == Chain::scores;
    if (is_scores) added_by_distance(plan, step, actual, replay, evidence);
    if (step == "rotated_query" || step == "rotated_key") {
        angles_of_rotation(plan, step, actual, replay, evidence);
    }
}

}  // namespace attn
