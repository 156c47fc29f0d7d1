#include "attn/judge/diagnose/search.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

bool is_in(const std::vector<const Mistake*>& entries, const Mistake* entry) {
    return std::ranges::find(entries, entry) != entries.end();
}

bool has_nan(const Tensor& tensor) {
    const std::vector<double> numbers = tensor.numbers();
    return std::ranges::any_of(numbers, [](double number) { return std::isnan(number); });
}

using Mistakes = std::vector<const Mistake*>;

/// Tries hypotheses about one of the user's tensors, one kind after another.
class Search {
public:
    explicit Search(const Scene& scene) : scene_(scene), case_(scene.about) {
        if (!scene.only_harmless) mistakes_ = case_.mistakes;
        // A harmless difference would have been found at its own step if that was saved.
        std::ranges::copy_if(
            case_.harmless, std::back_inserter(harmless_),
            [&](const Mistake* one) { return one->step == scene.step || !is_saved(one->step); });
    }

    /// Goes through the queue to the first match that costs at most `most`.
    SearchResult found(double most) {
        result_.unexplained.step = scene_.step;
        for (const Generator& each : queue) {
            const bool is_too_dear = scene_.only_harmless && each.cost >= cost::mistake;
            if (is_too_dear || each.cost > most) break;
            result_.match = (this->*each.match)();
            if (result_.match) return std::move(result_);
        }
        // An explanation that costs more than a mistake is not reported.
        if (scene_.only_harmless) return std::move(result_);
        const std::vector<Reading> ways = scene_.ways(scene_.expected);
        const Tensor& read = ways.empty() ? scene_.actual.tensor : ways.front().tensor;
        result_.unexplained.evidence = evidence_of(scene_.step, read, scene_.expected);
        return std::move(result_);
    }

    std::optional<Match> hidden(const Reading& reading, double most_left) {
        constexpr std::size_t fewest_cells = 8;  // fewer may agree by chance
        if (reading.tensor.size() < fewest_cells) return std::nullopt;
        for (const Mistake* mistake : mistakes_) {
            const auto wrong = scene_.replay.step_with({mistake}, scene_.step);
            if (!wrong || wrong->shape() != reading.tensor.shape()) continue;
            if (!(scene_.share_left(reading.tensor, *wrong) <= most_left)) continue;
            matches_.push_back(
                {mistake, reading, scene_.judged_as(reading.tensor, *wrong).difference});
        }
        drop_refuted();
        return matches_.empty() ? std::nullopt : std::optional(best_match());
    }

private:
    /// Tries hypotheses of one kind and returns the likeliest one that makes the tensor.
    struct Generator {
        double cost;  ///< of the cheapest match
        std::optional<Match> (Search::*match)();
    };
    /// Sorted by cost.
    static const Generator queue[9];

    /// Tries mistakes on top of a harmless difference, which may change their effect: in a fully
    /// masked row a finite fill and -inf give different results. Code may have two: a fill, and
    /// rows set to zero.
    std::optional<Match> beside_harmless() {
        const StepTable& table = kept_table(case_.plan);
        const auto in_place = [&](const Mistake* one) { return place_of(table, one->step); };
        const std::size_t masking = place_of(table, "masked_scores");
        std::vector<Mistakes> ways_to_write;
        for (const Mistake* one : harmless_) ways_to_write.push_back({one});
        for (const Mistake* fill : case_.harmless) {
            for (const Mistake* rows : case_.harmless) {
                if (in_place(fill) == masking && in_place(rows) > masking) {
                    ways_to_write.push_back({fill, rows});
                }
            }
        }
        for (const Mistakes& harmless : ways_to_write) {
            const std::optional<Tensor> alone = scene_.replay.step_with(harmless, scene_.step);
            const bool shows =
                alone &&
                !scene_.judge(scene_.step, scene_.actual, *alone, scene_.expected, true).right();
            const bool fills = in_place(harmless.front()) >= masking;
            // Its fill of hidden cells is visible if a mistake changes the mask.
            const bool hides = find_step(table, harmless.front()->step).varies_where_hidden;
            Search tried(scene_);
            for (const Mistake* mistake : mistakes_) {
                const bool empties = is_in(left_nan_, mistake);
                const bool uncovers = hides && in_place(mistake) >= place_of(table, "mask");
                const bool one_shows = shows || uncovers || (fills && empties);
                if (harmless.size() == 1 ? !one_shows : !empties) continue;
                Mistakes outcome = harmless;
                outcome.push_back(mistake);
                tried.try_made(outcome);
            }
            tried.drop_refuted();
            std::optional<Match> numbers;
            if (tried.matches_.empty() && shows) numbers = find_numbered(harmless);
            if (tried.matches_.empty() && !numbers) continue;
            Match match = numbers ? *std::move(numbers) : tried.best_match();
            for (const Mistake* each : harmless) match.finding.add(Role::beside, each);
            return match;
        }
        return std::nullopt;
    }

    /// Tries two mistakes at once.
    std::optional<Match> pairs() {
        std::optional<Match> result;
        if (!case_.options.pairs) return result;
        for (std::size_t i = 0; i < mistakes_.size(); ++i) {
            report(static_cast<double>(i) / static_cast<double>(mistakes_.size()));
            for (std::size_t j = i + 1; j < mistakes_.size(); ++j) {
                const Mistake *one = mistakes_[i], *two = mistakes_[j];
                matches_.clear();
                left_nan_.clear();
                try_made({one, two});
                // A fully masked row is nan unless the fill is finite.
                if (matches_.empty() && !left_nan_.empty() && case_.plan.masks()) {
                    try_made({&finite_fill(-1e9), one, two});
                }
                if (matches_.empty()) continue;
                if (result) {
                    result->finding.add(Role::pairs, one);
                    result->finding.add(Role::pairs, two);
                    continue;
                }
                const Candidate& found = matches_.front();
                result = scene_.match_of(*one, found.reading, found.difference);
                result->finding.add(Role::makes, two);
            }
        }
        for (std::size_t i = 0; i < mistakes_.size() && !result; ++i) {
            result = find_numbered({mistakes_[i]});
            if (result) result->finding.add(Role::makes, mistakes_[i]);
        }
        return result;
    }

    struct Candidate {
        const Mistake* mistake;
        Reading reading;
        double difference;
        std::size_t explains = 0;  ///< number of later tensors
    };

    /// True if the user saved that step or a later one of its chain, from which later steps are
    /// computed.
    bool is_saved(const std::string& step) const {
        const StepTable& table = kept_table(case_.plan);
        const std::size_t place = place_of(table, step);
        const Chain chain = table[place].chain;
        for (std::size_t i = place; i < table.size(); ++i) {
            const std::string& name = table[i].name;
            const bool goes_on = i == place || (chain != Chain::none && table[i].chain == chain);
            if (!goes_on || case_.intake.given.has(name)) continue;
            if (scene_.replay.is_given(name)) return true;
        }
        return false;
    }

    void report(double done) const {
        if (case_.options.progress) case_.options.progress(scene_.step, done);
    }

    void note_distance(const Mistake* mistake, double difference) {
        if (difference >= nearest_difference_) return;
        nearest_ = mistake;
        nearest_difference_ = difference;
    }

    void note_nearest(Finding& finding) const {
        if (nearest_ != nullptr) finding.add(Role::nearest, nearest_);
        finding.nearest_difference = nearest_difference_;
    }

    /// Compares the user's tensor with the one that these mistakes make together.
    void try_made(const Mistakes& outcome) {
        const std::optional<Tensor> wrong = scene_.replay.step_with(outcome, scene_.step);
        if (!wrong || same_cells(*wrong, scene_.expected)) return;
        if (outcome.size() <= 2 && has_nan(*wrong)) left_nan_.push_back(outcome.back());
        for (Reading& reading : scene_.ways(*wrong)) {
            const Judged answer = scene_.judged_as(reading.tensor, *wrong, nearest_difference_);
            if (answer.right() && scene_.explains_most(reading.tensor, *wrong)) {
                matches_.push_back({outcome.back(), std::move(reading), answer.difference});
                return;
            }
            note_distance(outcome.back(), answer.difference);
        }
    }

    /// Tries mistakes with a number, on top of these.
    std::optional<Match> find_numbered(const Mistakes& outcome) const {
        Replay replay = scene_.replay;
        for (const Mistake* each : outcome) replay.make(*each);
        if (replay.step(scene_.step) == nullptr) return std::nullopt;
        return numbered(scene_.with(scene_.actual, replay));
    }

    /// Tries each mistake and each harmless difference of the catalogue.
    std::optional<Match> one_of_catalogue() {
        const auto all = static_cast<double>(mistakes_.size() + harmless_.size());
        std::size_t count = 0;
        for (const auto* entries : {&mistakes_, &harmless_}) {
            for (const Mistake* mistake : *entries) {
                report(static_cast<double>(count++) / all);
                try_made({mistake});
            }
        }
        drop_refuted();
        if (!matches_.empty()) return best_match();
        note_nearest(result_.unexplained);
        return std::nullopt;
    }

    /// Drops mistakes that would make a right tensor wrong.
    void drop_refuted() {
        std::erase_if(matches_,
                      [&](const Candidate& each) { return scene_.refuted(*each.mistake); });
    }

    /// Ranks the matches: first those that also explain later tensors, then those that are nearest
    /// by far, those whose error first appears at this step, and mistakes before harmless
    /// differences.
    Match best_match() {
        std::vector<Candidate>& all = matches_;
        for (Candidate& each : all) {
            if (all.size() == 1) break;
            each.explains = count_explained(scene_.replay, each.mistake, scene_.step,
                                            each.reading.tensor, scene_.judge, scene_.later);
        }
        const double nearest = std::ranges::min(all, {}, &Candidate::difference).difference;
        const double alike = 4 * nearest + 1e-6 * usual_size(scene_.expected);
        std::ranges::stable_sort(all, {}, [&](const Candidate& each) {
            return std::tuple(scene_.later.size() - each.explains, each.difference > alike,
                              each.mistake->step != scene_.step,
                              is_in(case_.harmless, each.mistake), each.difference);
        });
        Match match = scene_.match_of(*all[0].mistake, all[0].reading, all[0].difference);
        for (std::size_t i = 1; i < all.size(); ++i) {
            // Steps before and after distinguish the others.
            const bool is_tie = all[i].explains == all[0].explains;
            if (is_tie) match.finding.add(Role::ties, all[i].mistake);
        }
        // A mistake is not harmless just because the digits that show it are missing.
        const auto outcome = scene_.replay.step_with({match.finding.mistake()}, scene_.step);
        match.finding.harmless = is_in(case_.harmless, match.finding.mistake()) ||
                                 (is_scores(case_.plan, scene_.step) && outcome &&
                                  outcome->shape() == scene_.expected.shape() &&
                                  scene_.gives_same_weights(*outcome, false)) ||
                                 scene_.is_right_where_read(match.reading.tensor);
        note_nearest(match.finding);
        return match;
    }

    /// Accepts any number subtracted from a row before its exponentials: they and their sum follow
    /// from it.
    std::optional<Match> other_maximum() {
        const StepTable& table = kept_table(case_.plan);
        if (scene_.step != "row_max" || scene_.later.empty() ||
            place_of(table, scene_.later.front().steps.front()) >= place_of(table, "weights")) {
            return std::nullopt;
        }
        return scene_.first_of([&](const Reading& reading) -> std::optional<Match> {
            const std::size_t explains = count_explained(
                scene_.replay, nullptr, scene_.step, reading.tensor, scene_.judge, scene_.later);
            if (explains == 0) return std::nullopt;
            return scene_.written_otherwise("other-row-max", reading);
        });
    }

    /// Accepts other numbers in rows of padding, which no result needs.
    std::optional<Match> other_padding() {
        return scene_.first_of([&](const Reading& reading) -> std::optional<Match> {
            if (!scene_.is_right_where_read(reading.tensor)) return std::nullopt;
            return scene_.written_otherwise("padded-rows-other", reading);
        });
    }

    std::optional<Match> filled() { return otherwise_filled(scene_); }
    std::optional<Match> with_number() { return numbered(scene_); }
    std::optional<Match> beside_fill() {
        if (scene_.step != "masked_scores") return std::nullopt;
        return scene_.first_of(
            [&](const Reading& reading) { return far_below(scene_, reading, HUGE_VAL); });
    }

    /// A replay drops other cells than the user's code did, so traces of dropout are looked for
    /// instead.
    std::optional<Match> dropout() {
        if (case_.plan.drops()) return std::nullopt;
        const bool of_weights = scene_.step == "weights";
        if (!of_weights && scene_.step != "context" && scene_.step != "merged") return std::nullopt;
        const Tolerance tolerance =
            scene_.judge.tolerance(scene_.step, scene_.actual, scene_.expected, true);
        for (const Reading& reading : scene_.ways(scene_.expected)) {
            const auto found = dropout_in(reading.tensor, scene_.expected, tolerance);
            if (!found) continue;
            Match match =
                scene_.match_of(find_mistake(of_weights ? "dropout-at-eval" : "dropout-on-context"),
                                reading, found->difference);
            match.finding.evidence.push_back(
                std::to_string(found->dropped) + (of_weights ? " weights" : " numbers") +
                " are 0, the others " + brief(found->factor) + " times what they should be: p is " +
                brief(1 - 1 / found->factor));
            return match;
        }
        return std::nullopt;
    }

    const Scene& scene_;
    const Case& case_;
    Mistakes mistakes_, harmless_;
    std::vector<Candidate> matches_;
    SearchResult result_;
    Mistakes left_nan_;                 ///< gave nan, which a finite fill prevents
    const Mistake* nearest_ = nullptr;  ///< of the mistakes that do not match
    double nearest_difference_ = HUGE_VAL;
};

const Search::Generator Search::queue[]{
    {cost::harmless, &Search::other_maximum},
    {cost::harmless, &Search::one_of_catalogue},
    {cost::harmless, &Search::other_padding},
    {cost::harmless, &Search::filled},
    {cost::mistake, &Search::dropout},
    {cost::mistake, &Search::with_number},
    {cost::mistake + cost::harmless, &Search::beside_harmless},
    {cost::mistake + cost::harmless, &Search::beside_fill},
    {2 * cost::mistake, &Search::pairs},
};

}  // namespace

std::optional<Match> hidden_by_rounding(const Scene& scene, const Reading& reading,
                                        double most_left) {
    return Search(scene).hidden(reading, most_left);
}

SearchResult searched(const Scene& scene, double most) { return Search(scene).found(most); }

}  // namespace attn
