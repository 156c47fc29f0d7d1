#pragma once
#include <functional>
#include <map>
#include <span>

#include "attn/core/rules/rule.hpp"
#include "attn/judge/diagnose/replay.hpp"

namespace attn {

/// A finding at a step, and the reading of the tensor that led to it.
struct Match {
    Finding finding;
    Reading reading;
};

/// The result of a search: a match, or the reasons why there is none.
struct SearchResult {
    std::optional<Match> match;
    Finding unexplained{};
};

/// The user's tensors before any reading.
struct Intake {
    Ledger given;   ///< the inputs of the walk, some of them perhaps the user's
    Ledger actual;  ///< the others, which are compared with the walk
    std::vector<std::string> remarks{};
};

/// State shared by all readings of the user's tensors.
struct Case {
    const Plan& plan;
    const DiagnoseOptions& options;
    Intake intake;
    Judge judge;
    Replay replay;
    std::vector<const Mistake*> mistakes{}, harmless{};  ///< those that can show in the walk

    Case(const Plan& plan, const DiagnoseOptions& options, Intake intake, double epsilon);
};

/// One of the user's tensors, read as one step, after the earlier ones were examined. Its
/// references must outlive it.
struct Scene {
    const Case& about;
    const Judge& judge;
    Replay& replay;
    const UserTensor& actual;
    std::string step;
    bool uses_user_tensor;                        ///< an earlier tensor was the user's
    std::span<const UserTensor> later;            ///< the tensors after this one
    bool only_harmless;                           ///< the cost of a mistake would exceed the bound
    std::function<bool(const Mistake&)> refuted;  ///< some right tensor would be wrong with it
    Tensor expected = *replay.step(step);

    /// Returns this scene for another tensor, or for a replay with more mistakes.
    Scene with(const UserTensor& other, Replay& again) const {
        return {about, judge, again, other, step, uses_user_tensor, later, only_harmless, refuted};
    }

    /// Reads the user's tensor in that shape: as it is if it has the shape, else in every layout.
    std::vector<Reading> ways(const Tensor& like) const;
    /// Returns the first match that `tried` finds for a reading of the user's tensor.
    std::optional<Match> first_of(auto&& tried) const {
        for (const Reading& reading : ways(expected)) {
            if (std::optional<Match> match = tried(reading)) return match;
        }
        return std::nullopt;
    }
    /// The distance is exact only if it is less than `enough`, or right.
    Judged judged_as(const Tensor& tensor, const Tensor& wrong, double enough = HUGE_VAL) const {
        return judge(step, actual, tensor, wrong, uses_user_tensor, {.enough = enough});
    }
    /// True if softmax of a tensor, read as this step, equals that of the expected one; for the
    /// user's, to the precision of its type.
    bool gives_same_weights(const Tensor& tensor, bool is_user_tensor = true) const;
    bool is_right_where_read(const Tensor& tensor) const {
        return judge.right_where_read(step, actual, tensor, expected, uses_user_tensor);
    }
    /// True if `result` leaves at most half of the distance between the user's tensor and the right
    /// one, a tenth if its few digits are a guess: a 16-bit bound may be as wide as that distance,
    /// and then accepts everything.
    bool explains_most(const Tensor& tensor, const Tensor& result) const;
    /// Returns the share of that squared distance which `result` leaves; infinity if there is none.
    double share_left(const Tensor& tensor, const Tensor& result) const;
    Match match_of(const Mistake& mistake, Reading reading, double difference) const;
    /// Returns the match of a harmless difference in form, which no replay makes.
    Match written_otherwise(const char* id, Reading reading) const;
};

/// Finds the cheapest hypothesis that makes a tensor, among those that cost at most `most`: a
/// difference that needs no replay, a mistake, a mistake with a number, a mistake on top of a
/// harmless difference, two mistakes.
SearchResult searched(const Scene& scene, double most = HUGE_VAL);

/// Tries scores whose hidden cells have a number in place of minus infinity, judged by the weights
/// that they give; with another mistake, too.
std::optional<Match> otherwise_filled(const Scene& scene);
std::optional<Match> far_below(const Scene& scene, const Reading& reading, double most);
/// Tries mistakes with a number: a scale, a fill, a base, an offset.
std::optional<Match> numbered(const Scene& scene);

/// Finds the mistake that a reading shows although rounding could explain each of its cells: it
/// leaves at most that share of the squared distance from the right numbers.
std::optional<Match> hidden_by_rounding(const Scene& scene, const Reading& reading,
                                        double most_left);

/// Tries another scale for a result with few digits, even if rounding accepts the right one:
/// rounding errors of the cells do not correlate with the scale.
std::optional<Match> rescaled(const Scene& scene, const Reading& reading);

/// The verdict on the user's mask.
struct MaskAnswer {
    bool right = false;
    std::string layout;
    std::optional<Finding> finding;
    std::optional<Tensor> hidden;  ///< the cells it hides, if nothing explains them
};

/// Judges a mask, in any of its readings; see mask_readings.
MaskAnswer answer_of_mask(const Plan& plan, const Judge& judge, const Replay& replay,
                          const UserTensor& actual, std::span<const UserTensor> later);

/// Counts the tensors in `later` that a replay explains, in order, up to the first that it does
/// not.
std::size_t explained_by(Replay replay, const Judge& judge, std::span<const UserTensor> later);
/// Counts them after a mistake (nullptr for none) that made the tensor of `step`.
std::size_t count_explained(Replay replay, const Mistake* mistake, const std::string& step,
                            const Tensor& tensor, const Judge& judge,
                            std::span<const UserTensor> later);

class Examiner;

/// The diagnosis of one reading of all tensors. In its cost, unknown differences cost most, then
/// mistakes, then differences in form, then less likely steps for a name.
struct Outcome {
    Diagnosis diagnosis;
    /// Looks for the rule that an unknown step follows; takes long.
    std::map<std::string, std::function<void(Finding&)>> follow{};
};

/// A tensor that adds to the cost of a reading, so that another reading of it may cost less.
struct Fork {
    std::size_t tensor;
    double cost;                             ///< of the tensors before it
    std::shared_ptr<const Examiner> before;  ///< the examination of those tensors
};

/// Replays a walk from the user's own tensors, each read as one of its steps, and compares the
/// outcome with them; returns nullopt once it would cost at least `bound`. Adds the forks that it
/// finds. Continues from `before`, the examination of a reading with the same beginning.
///
/// Shapes  theirs in the order of the walk.
std::optional<Outcome> examined(const Case& about, const std::vector<UserTensor>& actual,
                                double bound, std::vector<Fork>& forks,
                                const Examiner* before = nullptr);

/// Returns the diagnosis for the reading of all tensors that costs the least.
Diagnosis best_reading(const Case& about, std::vector<UserTensor> actual);

// Helpers of the examiner.

bool is_unjudged(const StepVerdict& step);

/// True if a step belongs to the query or key side of the product, and if it rotates both: the same
/// change to both leaves their product.
bool is_side(const std::string& step);
bool turns_both(const std::string& step);

/// True if a tensor, read as the first of its steps, explains more of the later ones than ours
/// does.
bool explains_more(const UserTensor& actual, const Replay& replay, const Judge& judge,
                   std::span<const UserTensor> later);
/// Returns the row of a tensor before it is judged.
StepVerdict row_of(const Judge& judge, const UserTensor& actual, const std::string& step);
/// Adds the catalogue's entry for a tensor that only other code keeps, if there is one.
void note_kept(const StepVerdict& verdict, Diagnosis& diagnosis);

double weight_of(const Finding& finding);
double cost_of(const Diagnosis& diagnosis, const std::vector<UserTensor>& actual);

/// Returns the first parameter that the step needs and that was drawn although others were given:
/// its numbers are random, so another seed gives another result. Empty if there is none.
std::string drawn_for(const Case& about, const std::string& step);

/// True if query and key of a replay, possibly rotated, have the product of the reference.
bool have_same_product(const Case& about, Replay& actual);

/// True if some matrix and bias map the merged heads to `actual`, row by row; also if there are too
/// few rows to decide.
bool may_be_projected(const Tensor& actual, const Tensor& merged);

/// True if some right tensor of the user would be wrong with this mistake.
bool is_refuted(const Case& about, const Diagnosis& diagnosis, const Mistake& mistake);

/// Records the rule that the numbers follow, if it is close to the right one: of the step or, if no
/// tensor of the user is in between, of one before it. Otherwise records patterns in the numbers.
void follow_a_rule(const Case& about, const UserTensor& actual, const std::string& step,
                   const Tensor& tensor, Replay& replay, Finding& finding);

/// Adds patterns in the numbers of a wrong tensor, compared with those of earlier steps: rows or
/// heads that are right, or have a factor each; the keys that rows see; angles between a query and
/// the rotated one; addends of scores at each distance.
/// Shapes  `actual` as the step.
void read_off(const Plan& plan, const std::string& step, const Tensor& actual, Replay& replay,
              std::vector<std::string>& evidence);

/// Adds the patterns that any tensor may have: rows, heads or features that are right, or have a
/// factor or an addend each.  Shapes  both the same.
void read_off_axes(const Tensor& actual, const Tensor& right, std::vector<std::string>& evidence);

/// A rule that differs in one thing from the right one: two indices exchanged, a factor left out,
/// doubled or inverted, another tensor of the same shape read, an offset of one, a sum along
/// another axis, a condition negated, a function left out, a sign flipped, two steps in the other
/// order; less likely another row or number, an additional addend, factor or function, the step
/// done twice.
struct Mutation {
    std::string kind;  ///< `two indices exchanged`
    Rule rule;
    std::string
        written_rule{};  ///< the rule as text; may use the step's own name for the right result
    std::string also{};  ///< the first rule of another kind with the same result
};

/// Returns all mutations of a completed rule that read tensors of `read`, the likeliest first.
std::vector<Mutation> mutations_of(const Rule& rule, const Ledger& read, const Outline& result);

/// True if a tensor, as the result of a step, gives the user's numbers.
using GivesTheirs = std::function<bool(const std::string& step, const Tensor& result)>;

/// Returns the first mutation of a step's rule whose result `gives_theirs` accepts, or of the rule
/// of an earlier step, the latest first, for which `may_differ` is true; nullopt if there is none.
/// Steps that are not in `read` are computed by their rules.
std::optional<Mutation> changed_rule(const PlannedStep& of, Ledger read,
                                     const GivesTheirs& gives_theirs,
                                     const std::function<bool(const std::string&)>& may_differ);

/// True if a step is the weights or depends on them.
bool is_result_step(const Plan& plan, const std::string& step);

/// Marks a step that differs as harmless if the weights and all later steps are right and follow
/// from it; `undone` is set if an unknown change of query and key leaves their product. A
/// difference that a wrong result depends on is not harmless.
void mark_if_harmless(const Plan& plan, Finding& finding, Diagnosis& diagnosis, bool undone,
                      bool follows, bool results_are_wrong);

/// Drops the finding that a scale is already applied if another one is that it is applied twice.
void fold_halves(Diagnosis& diagnosis);

}  // namespace attn
