#include <algorithm>
#include <cmath>

#include "attn/diagnose/search.hpp"
#include "attn/text/number_text.hpp"

// Mistakes with a number of their own: a scale, a fill, a base, an offset.

namespace attn {
namespace {

constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();

/// One step of Newton's method towards the number whose tensor is nearest: `near` is made with it,
/// `next` with `more` added to it.
struct Newton {
    double step = 0;
    double distance = 0;

    Newton(const Tensor& theirs, const Tensor& near, const Tensor& next, double more) {
        double along = 0, slope = 0;
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            const double missing = theirs.at(i) - near.at(i);
            const double change = (next.at(i) - near.at(i)) / more;
            if (!std::isfinite(missing) || !std::isfinite(change)) continue;
            distance += missing * missing;
            along += missing * change;
            slope += change * change;
        }
        step = slope > 0 ? along / slope : nowhere;
    }
};

}  // namespace

/// The number for which an entry makes their tensor, or comes nearest to it.
double Search::read_off(const NumberedEntry& family, double start, Replay& replay,
                        const Tensor& theirs) const {
    if (family.whole) return start;
    const auto number = [&](double at) { return family.positive ? std::exp(at) : at; };
    double at = family.positive ? std::log(start) : start;
    double before = HUGE_VAL;
    for (int tries = 0; tries < 12; ++tries) {
        const double more = 1e-3 * std::max(1.0, std::abs(at));
        const auto near = replay.step_once(family.entry(number(at)), step_);
        const auto next = replay.step_once(family.entry(number(at + more)), step_);
        if (!near || !next || near->shape() != theirs.shape()) return nowhere;
        const Newton newton(theirs, *near, *next, more);
        if (!std::isfinite(newton.step)) return nowhere;
        at += std::clamp(newton.step, -2.0, 2.0);
        if (std::abs(newton.step) < 1e-6 * std::max(1.0, std::abs(at))) break;
        if (tries > 3 && newton.distance > 0.5 * before) return nowhere;
        before = newton.distance;
    }
    return number(at);
}

std::optional<Match> Search::numbered() const {
    // A number is read off a part as well as off the whole.
    Replay* replay = screens_.empty() ? &replay_ : &screens_.front().replay();
    for (const Reading& reading : ways(theirs_, expected_)) {
        const Tensor* like = replay->step(step_);
        if (like == nullptr) return std::nullopt;
        const Tensor part = Prefix::of(reading.tensor, like->shape());
        for (const NumberedEntry& family : numbered_entries()) {
            for (const double start : family.starts) {
                if (!family.entry(start).applies(plan_)) break;
                const double exact = read_off(family, start, *replay, part);
                if (!std::isfinite(exact)) continue;
                for (const double number : {std::stod(brief(exact)), exact}) {
                    if (std::abs(number) > 1e6) continue;
                    const Mistake& mistake = family.entry(number);
                    if (!mistake.applies(plan_)) continue;
                    const auto begun = replay->step_once(mistake, step_);
                    if (!begun || !judge_(step_, theirs_, part, *begun, true).right()) continue;
                    const auto wrong = replay_.step_once(mistake, step_);
                    if (!wrong || judged(*wrong, expected_, {}).right()) continue;
                    const Judged answer =
                        judge_(step_, theirs_, reading.tensor, *wrong, uses_theirs_);
                    if (!answer.right()) continue;
                    Match match = match_of(mistake, reading, answer.difference);
                    if (family.right != nullptr) {
                        match.finding.evidence.push_back("the number is " + brief(number) +
                                                         " where it should be " +
                                                         brief(family.right(plan_)));
                    }
                    return match;
                }
            }
        }
    }
    return std::nullopt;
}

}  // namespace attn
