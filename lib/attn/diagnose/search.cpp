#include "attn/diagnose/search.hpp"

#include <algorithm>
#include <limits>

#include "attn/text/number_text.hpp"

namespace attn {
namespace {

std::vector<const Mistake*> applicable(const std::vector<Mistake>& entries, const Plan& plan) {
    std::vector<const Mistake*> result;
    for (const Mistake& entry : entries) {
        if (entry.applies(plan)) result.push_back(&entry);
    }
    return result;
}

bool is_in(const std::vector<const Mistake*>& entries, const Mistake* entry) {
    return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

bool has_nan(const Tensor& tensor) {
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isnan(tensor.at(i))) return true;
    }
    return false;
}

}  // namespace

std::size_t explained_by(Replay replay, const Judge& judge, std::span<const TheirTensor> later) {
    std::size_t count = 0;
    const auto explains = [&](const TheirTensor& theirs) {
        for (const std::string& step : theirs.steps) {
            const Tensor* local = replay.step(step);
            if (local == nullptr) continue;
            for (Reading& reading : readings(theirs.tensor, *local)) {
                if (!judge(step, theirs, reading.tensor, *local, true).right()) continue;
                replay.take(step, std::move(reading.tensor));
                return true;
            }
        }
        return false;
    };
    for (const TheirTensor& theirs : later) {
        if (theirs.steps.front() == "mask" || theirs.aside) continue;
        if (!explains(theirs)) break;
        ++count;
    }
    return count;
}

Candidates::Candidates(const Plan& plan)
    : mistakes(applicable(attn::mistakes(), plan)),
      harmless(applicable(harmless_differences(), plan)) {}

Search::Search(const Plan& plan, Candidates candidates, const Judge& judge, Replay& replay,
               std::span<Screen> screens, const DiagnoseOptions& options, const TheirTensor& theirs,
               std::string step, bool uses_theirs)
    : plan_(plan),
      candidates_(std::move(candidates)),
      judge_(judge),
      replay_(replay),
      screens_(screens),
      options_(options),
      theirs_(theirs),
      step_(std::move(step)),
      uses_theirs_(uses_theirs),
      expected_(*replay.step(step_)) {}

/// Their tensor as one of that shape: as it is where it has the shape, else in every layout.
std::vector<Reading> Search::ways(const TheirTensor& theirs, const Tensor& like) const {
    std::vector<Reading> all = readings(theirs.tensor, like);
    if (theirs.tensor.shape() == like.shape()) all.resize(1);
    return all;
}

/// Whether the mistakes make another beginning than theirs is, however it is read.
bool Search::is_ruled_out(const TheirTensor& theirs, const std::vector<const Mistake*>& made,
                          Tried& tried) const {
    std::optional<Tensor> wrong;
    for (Screen& screen : screens_) {
        if (!wrong) wrong = screen.step_with(made, step_);
    }
    if (!wrong) return false;
    if (!tried.tolerance) {
        tried.tolerance = judge_.tolerance(step_, theirs, expected_, uses_theirs_);
        tried.readings = ways(theirs, expected_);
    }
    double nearest = HUGE_VAL;
    for (const Reading& reading : tried.readings) {
        const Tensor beginning = Prefix::of(reading.tensor, wrong->shape());
        const Judged answer = judged(beginning, *wrong, *tried.tolerance);
        if (answer.right() || answer.verdict == Verdict::shape) return false;
        nearest = std::min(nearest, answer.difference);
    }
    if (nearest == HUGE_VAL) return false;
    if (nearest < tried.runner_up_difference) {
        tried.runner_up = made.back();
        tried.runner_up_difference = nearest;
    }
    return true;
}

void Search::try_one(const TheirTensor& theirs, const std::vector<const Mistake*>& made,
                     Tried& tried) const {
    if (is_ruled_out(theirs, made, tried)) return;
    const std::optional<Tensor> wrong = replay_.step_with(made, step_);
    if (!wrong || judged(*wrong, expected_, {}).right()) return;
    if (made.size() <= 2 && has_nan(*wrong)) tried.left_nan.push_back(made.back());
    for (Reading& reading : ways(theirs, *wrong)) {
        const Judged answer = judge_(step_, theirs, reading.tensor, *wrong, uses_theirs_);
        if (answer.right()) {
            tried.matches.push_back({made.back(), std::move(reading), answer.difference});
            return;
        }
        if (answer.difference < tried.runner_up_difference) {
            tried.runner_up = made.back();
            tried.runner_up_difference = answer.difference;
        }
    }
}

void Search::report(double done) const {
    if (options_.progress) options_.progress(step_, done);
}

/// A harmless difference would have been found where it begins, if that is there.
bool Search::is_possible(const Mistake& harmless) const {
    return harmless.step == step_ || !replay_.is_given(harmless.step);
}

Search::Tried Search::try_each(const TheirTensor& theirs) const {
    Tried tried;
    std::size_t count = 0;
    const std::vector<const Mistake*>& all_mistakes = candidates_.mistakes;
    const std::vector<const Mistake*>& all_harmless = candidates_.harmless;
    for (const auto* entries : {&all_mistakes, &all_harmless}) {
        for (const Mistake* mistake : *entries) {
            if (entries == &all_harmless && !is_possible(*mistake)) continue;
            const std::size_t all = all_mistakes.size() + all_harmless.size();
            report(static_cast<double>(count++) / static_cast<double>(all));
            try_one(theirs, {mistake}, tried);
        }
    }
    return tried;
}

Found Search::best(std::span<const TheirTensor> later) {
    Tried singles = try_each(theirs_);
    Found found{match_among(singles, later)};
    found.unexplained.step = step_;
    found.unexplained.difference = HUGE_VAL;
    found.unexplained.runner_up = singles.runner_up;
    found.unexplained.runner_up_difference = singles.runner_up_difference;
    found.left_nan = std::move(singles.left_nan);
    return found;
}

Found Search::thorough(const Found& quick, std::span<const TheirTensor> later) const {
    Found found = quick;
    found.match = beside_harmless(quick.left_nan, later);
    for (const Reading& reading : ways(theirs_, expected_)) {
        if (found.match || step_ != "masked_scores") break;
        found.match = far_below(reading, later, true);
    }
    if (!found.match && options_.pairs) found.match = pairs();
    const std::vector<Reading> all = ways(theirs_, expected_);
    found.unexplained.evidence =
        evidence_of(step_, all.empty() ? theirs_.tensor : all.front().tensor, expected_);
    return found;
}

std::optional<Match> Search::match_among(const Tried& singles,
                                         std::span<const TheirTensor> later) const {
    if (!singles.matches.empty()) {
        Match match = chosen(singles, later);
        if (is_scores(step_) && match.reading.tensor.shape() == expected_.shape() &&
            gives_same_weights(match.reading.tensor)) {
            match.finding.harmless = true;
        }
        if (is_right_where_read(match.reading.tensor)) match.finding.harmless = true;
        return match;
    }
    if (std::optional<Match> match = in_padded_rows()) return match;
    if (std::optional<Match> match = dropout()) return match;
    if (std::optional<Match> match = otherwise_filled(later)) return match;
    return numbered();
}

Match Search::match_of(const Mistake& mistake, Reading reading, double difference) const {
    Match match;
    match.finding.step = step_;
    match.finding.mistake = &mistake;
    match.finding.difference = difference;
    match.finding.evidence = evidence_of(step_, reading.tensor, expected_);
    match.reading = std::move(reading);
    return match;
}

/// Of several that match: what leaves right what is right, what explains later tensors too, what
/// shows first at this very step, mistakes before harmless differences, and the nearest.
Match Search::chosen(Tried tried, std::span<const TheirTensor> later) const {
    std::vector<Candidate>& all = tried.matches;
    if (all.size() > 1) {
        for (Candidate& candidate : all) {
            Replay replay = replay_;
            replay.make(*candidate.mistake);
            const Tensor* ours = replay.step(step_);
            if (ours != nullptr && ours->shape() == candidate.reading.tensor.shape()) {
                replay.take(step_, candidate.reading.tensor);
            }
            candidate.explains = explained_by(std::move(replay), judge_, later);
            candidate.refuted = candidates_.refuted(*candidate.mistake);
        }
        const auto rank = [&](const Candidate& c) {
            return std::tuple(c.refuted, later.size() - c.explains, c.mistake->step != step_,
                              is_in(candidates_.harmless, c.mistake), c.difference);
        };
        std::stable_sort(all.begin(), all.end(),
                         [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
    }
    Match match = match_of(*all.front().mistake, all.front().reading, all.front().difference);
    for (std::size_t i = 1; i < all.size(); ++i) {
        // What is before and what comes after tells the others apart.
        const bool is_tie = all[i].refuted == all[0].refuted && all[i].explains == all[0].explains;
        if (is_tie) match.finding.ties.push_back(all[i].mistake);
    }
    match.finding.harmless = is_in(candidates_.harmless, match.finding.mistake);
    match.finding.runner_up = tried.runner_up;
    match.finding.runner_up_difference = tried.runner_up_difference;
    return match;
}

/// A replay draws other cells than their dropout did, so its traces are looked for instead.
std::optional<Match> Search::dropout() const {
    if (step_ != "weights") return std::nullopt;
    for (const Reading& reading : ways(theirs_, expected_)) {
        const auto found = dropout_in(reading.tensor, expected_,
                                      judge_.tolerance(step_, theirs_, expected_, true));
        if (!found) continue;
        Match match = match_of(find_mistake("dropout-at-eval"), reading, found->difference);
        match.finding.evidence.push_back(
            std::to_string(found->dropped) + " weights are 0, the others " + brief(found->factor) +
            " times what they should be: p is " + brief(1 - 1 / found->factor));
        return match;
    }
    return std::nullopt;
}

/// A harmless difference may change what a mistake looks like: where nobody can be seen, a finite
/// fill and -inf part ways. Code may have two: a fill, and rows set to zero.
std::optional<Match> Search::beside_harmless(const std::vector<const Mistake*>& left_nan,
                                             std::span<const TheirTensor> later) const {
    std::vector<std::vector<const Mistake*>> ways_to_write;
    for (const Mistake* one : candidates_.harmless) {
        if (is_possible(*one)) ways_to_write.push_back({one});
    }
    const StepTable& table = step_table(plan_);
    const auto in_place = [&](const Mistake* one) { return place_of(table, one->step); };
    const std::size_t masking = place_of(table, "masked_scores");
    for (const Mistake* fill : candidates_.harmless) {
        for (const Mistake* rows : candidates_.harmless) {
            if (in_place(fill) == masking && in_place(rows) > masking) {
                ways_to_write.push_back({fill, rows});
            }
        }
    }
    for (const std::vector<const Mistake*>& harmless : ways_to_write) {
        const std::optional<Tensor> alone = replay_.step_with(harmless, step_);
        const bool shows = alone && !judge_(step_, theirs_, *alone, expected_, true).right();
        const bool fills = in_place(harmless.front()) >= masking;
        Tried tried;
        for (const Mistake* mistake : candidates_.mistakes) {
            const bool empties = is_in(left_nan, mistake);
            if (harmless.size() == 1 ? !shows && !(fills && empties) : !empties) continue;
            std::vector<const Mistake*> made = harmless;
            made.push_back(mistake);
            try_one(theirs_, made, tried);
        }
        if (tried.matches.empty()) continue;
        Match match = chosen(std::move(tried), later);
        match.finding.beside = harmless.front();
        if (harmless.size() > 1) match.finding.also_beside = harmless.back();
        return match;
    }
    return std::nullopt;
}

std::optional<Match> Search::pairs() const {
    std::optional<Match> result;
    const std::vector<const Mistake*>& all = candidates_.mistakes;
    for (std::size_t i = 0; i < all.size(); ++i) {
        report(static_cast<double>(i) / static_cast<double>(all.size()));
        for (std::size_t j = i + 1; j < all.size(); ++j) {
            Tried tried;
            try_one(theirs_, {all[i], all[j]}, tried);
            // What hides all keys of a row leaves nan, but with a finite fill.
            if (tried.matches.empty() && !tried.left_nan.empty() && plan_.masks()) {
                try_one(theirs_, {&finite_fill(-1e9), all[i], all[j]}, tried);
            }
            if (tried.matches.empty()) continue;
            const Candidate& found = tried.matches.front();
            if (result) {
                result->finding.pairs.emplace_back(all[i], all[j]);
                continue;
            }
            result = match_of(*all[i], found.reading, found.difference);
            result->finding.second = all[j];
        }
    }
    return result;
}

}  // namespace attn
