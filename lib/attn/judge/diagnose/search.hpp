#pragma once
#include <functional>
#include <map>
#include <span>

#include "attn/core/rules/rule.hpp"
#include "attn/judge/diagnose/replay.hpp"

namespace attn {

/// A finding at a step, and how the tensor was read to find it.
struct Match {
    Finding finding;
    Reading reading;
};

/// The answer of a search: a match, or why there is none.
struct SearchResult {
    std::optional<Match> match;
    Finding unexplained{};
    std::vector<const Mistake*> left_nan{};  ///< gave nan, which a finite fill would not
};

/// The user's tensors as they come in.
struct Intake {
    Ledger given;   ///< the start of the walk, with tensors of the user perhaps
    Ledger theirs;  ///< the others, which are compared with the walk
    std::vector<std::string> remarks{};
};

/// Shared by all readings of the user's tensors.
struct Case {
    const Plan& plan;
    const DiagnoseOptions& options;
    Intake intake;
    Judge judge;
    Replay replay;
    std::vector<const Mistake*> mistakes{}, harmless{};  ///< those that can show in the walk

    Case(const Plan& plan, const DiagnoseOptions& options, Intake intake, double epsilon);
};

/// One of the user's tensors, read as one step, after those before it were examined. Its references
/// must outlive it.
struct Scene {
    const Case& about;
    const Judge& judge;
    Replay& replay;
    const TheirTensor& theirs;
    std::string step;
    bool uses_theirs;                             ///< something before it was theirs
    std::span<const TheirTensor> later;           ///< the tensors that come afterwards
    bool only_harmless;                           ///< a mistake would cost more than is left
    std::function<bool(const Mistake&)> refuted;  ///< something is right that would not be
    Tensor expected = *replay.step(step);

    /// The same with another tensor in its place, or with more mistakes made.
    Scene with(const TheirTensor& other) const {
        return {about, judge, replay, other, step, uses_theirs, later, only_harmless, refuted};
    }
    Scene with(Replay& other) const {
        return {about, judge, other, theirs, step, uses_theirs, later, only_harmless, refuted};
    }

    /// Their tensor as one of that shape: as it is where it has the shape, else in every layout.
    std::vector<Reading> ways(const Tensor& like) const;
    /// The distance is exact only if it is less than `enough`, or right.
    Judged judged_as(const Tensor& tensor, const Tensor& wrong, double enough = HUGE_VAL) const {
        return judge(step, theirs, tensor, wrong, uses_theirs, enough);
    }
    /// Whether softmax makes the same of a tensor, read as this step, as of the expected one; of
    /// theirs as far as their type tells.
    bool gives_same_weights(const Tensor& tensor, bool is_theirs = true) const;
    bool is_right_where_read(const Tensor& tensor) const {
        return judge.right_where_read(step, theirs, tensor, expected, uses_theirs);
    }
    Match match_of(const Mistake& mistake, Reading reading, double difference) const;
    /// The same of what is only written otherwise, which no replay makes.
    Match written_otherwise(const char* id, Reading reading) const;
};

/// The cheapest hypothesis that makes a tensor, of those that cost at most `most`: a difference
/// that needs no replay, a mistake, one with a number of its own, a mistake on top of a harmless
/// difference, two mistakes.
SearchResult searched(const Scene& scene, double most = HUGE_VAL);

/// Scores whose hidden cells hold a number in the place of minus infinity, judged by the weights
/// that they give; another mistake beside that.
std::optional<Match> otherwise_filled(const Scene& scene);
std::optional<Match> far_below(const Scene& scene, const Reading& reading, double most);
/// A mistake with a number of its own: a scale, a fill, a base, an offset.
std::optional<Match> numbered(const Scene& scene);

/// The other scale of which a result of few digits is, though rounding allows the right one too:
/// what rounding does to the cells does not go along with the scale.
std::optional<Match> rescaled(const Scene& scene, const Reading& reading);

/// The verdict on the user's mask.
struct MaskAnswer {
    bool right = false;
    std::string layout;
    std::optional<Finding> finding;
    std::optional<Tensor> hidden;  ///< the cells it hides, where nothing explains them
};

/// The verdict on a mask that is read in any of its ways; see mask_readings.
MaskAnswer answer_of_mask(const Plan& plan, const Judge& judge, const Replay& replay,
                          const TheirTensor& theirs, std::span<const TheirTensor> later);

/// How many of `later` a replay explains, one after the other, before the first that it does not.
std::size_t explained_by(Replay replay, const Judge& judge, std::span<const TheirTensor> later);
/// The same after a mistake, whose tensor they have; nullptr makes none.
std::size_t explained_behind(Replay replay, const Mistake* mistake, const std::string& step,
                             const Tensor& tensor, const Judge& judge,
                             std::span<const TheirTensor> later);

class Examiner;

/// The cost of one reading of all tensors: an unnamed difference weighs most, then a mistake, then
/// what is only written otherwise, then a step that the name would mean less likely.
struct Outcome {
    Diagnosis diagnosis;
    double cost = 0;
    /// Looks for the rule that an unknown step follows, which takes long.
    std::map<std::string, std::function<void(Finding&)>> follow{};
};

/// A tensor that costs a reading something, so that another reading of it may cost less.
struct Fork {
    std::size_t tensor;
    double cost;                             ///< of the tensors before it
    std::shared_ptr<const Examiner> before;  ///< the examination of these
};

/// Replays a walk from the user's own tensors, each read as one of its steps, and compares the
/// outcome with them; returns nothing once it would cost as much as `bound`. Adds the forks that it
/// comes to. The examination of a reading that begins as another one goes on from `before`.
///
/// Shapes  theirs in the order of the walk.
std::optional<Outcome> examined(const Case& about, const std::vector<TheirTensor>& theirs,
                                double bound, std::vector<Fork>& forks,
                                const Examiner* before = nullptr);

/// The diagnosis under the reading of all tensors that costs the least.
Diagnosis best_reading(const Case& about, std::vector<TheirTensor> theirs);

// Questions of the examiner about a reading.

bool is_unjudged(const StepVerdict& step);

/// Whether a step is of one side of the product, and whether query and key are turned by it: what
/// is done to both alike leaves their product.
bool is_side(const std::string& step);
bool turns_both(const std::string& step);

/// Whether a tensor, read as the first of its steps, makes more of the later ones than ours does.
bool explains_more(const TheirTensor& theirs, const Replay& replay, const Judge& judge,
                   std::span<const TheirTensor> later);
/// The row of a tensor, before it is judged.
StepVerdict row_of(const Judge& judge, const TheirTensor& theirs, const std::string& step);
/// Says of a tensor that only other code keeps what the catalogue says of it, where it does.
void note_kept(const StepVerdict& verdict, Diagnosis& diagnosis);

double weight_of(const Finding& finding);
double cost_of(const Diagnosis& diagnosis, const std::vector<TheirTensor>& theirs);

/// The first parameter that the step needs and nobody gave, where they gave others: its numbers are
/// chance, so another seed makes another step. Empty where there is none.
std::string drawn_for(const Case& about, const std::string& step);

/// Whether the query and key of a replay, some of them rotated already, have the product of ours.
bool have_same_product(const Case& about, Replay& theirs);

/// Whether some matrix and bias make `theirs` of the merged heads, row by row; true also where
/// there are too few rows to tell.
bool may_be_projected(const Tensor& theirs, const Tensor& merged);

/// Whether something of theirs is right that would be wrong with this mistake.
bool is_refuted(const Case& about, const Diagnosis& diagnosis, const Mistake& mistake);

/// Notes the rule that their numbers follow, where one is near the right one: of the step or, where
/// none of their tensors comes between, of one before it. Else what is read off them.
void follow_a_rule(const Case& about, const TheirTensor& theirs, const std::string& step,
                   const Tensor& tensor, Replay& replay, Finding& finding);

/// What the numbers of a wrong tensor say beside those of the steps before it: rows or heads that
/// are right, or have a factor of their own; the keys that rows see; angles between a query and
/// the rotated one; what scores have more at each distance.
/// Shapes  `theirs` that of the step.
void read_off(const Plan& plan, const std::string& step, const Tensor& theirs, Replay& replay,
              std::vector<std::string>& evidence);

/// The part of it that any tensor has: rows, heads or features that are right, or each have a
/// factor or an addend of their own. Shapes  both the same.
void read_off_axes(const Tensor& theirs, const Tensor& right, std::vector<std::string>& evidence);

/// A rule that differs in one thing from the right one: two indices exchanged, a factor left out,
/// doubled or inverted, another tensor of the same shape read, an offset of one, a sum along
/// another axis, a condition turned round, a function left out, a sign turned, two steps in the
/// other order; less likely another row or number, an addend, a factor or a function more, the step
/// done twice.
struct Mutation {
    std::string kind;  ///< `two indices exchanged`
    Rule rule;
    std::string told{};  ///< the rule as text, which may name its own step for the right one
    std::string also{};  ///< the first rule of another kind that makes the same
};

/// All of a completed rule that reads tensors of `read`, the likeliest first.
std::vector<Mutation> mutations_of(const Rule& rule, const Ledger& read, const Outline& made);

/// The first that makes of the tensors of `read` what `is_theirs` says is theirs, of that outline;
/// nothing where none does. A step that is not in `read` is worked out by its rule.
std::optional<Mutation> mutation_behind(const Outline& made, const PlannedStep& of,
                                        const Ledger& read,
                                        const std::function<bool(const Tensor&)>& is_theirs);

/// Whether a step is made of weights, or is these.
bool is_result_step(const Plan& plan, const std::string& step);

/// A step that differs is harmless if the weights and all steps after them are right and follow
/// from it; `undone` says that what is unknown of query and key leaves their product. What a wrong
/// result needs is not harmless.
void mark_if_harmless(const Plan& plan, Finding& finding, Diagnosis& diagnosis, bool undone,
                      bool follows, bool results_are_wrong);

/// A scale that is there already is no finding beside that it is there twice.
void fold_halves(Diagnosis& diagnosis);

}  // namespace attn
