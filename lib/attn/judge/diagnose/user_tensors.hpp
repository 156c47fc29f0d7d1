#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/judge/diagnose/verdict.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace attn {

// Reads tensors that other code saved: as which step, and in which layout.

/// A form of a step that other code keeps and no walk has, with a rule of its own.
struct KeptStep {
    std::string name;
    std::string of;        ///< the step, or KeptStep, that it is another form of
    std::string after;     ///< the last step that it depends on
    std::string called{};  ///< names in other code, as for a step
    std::function<Rule(const Plan&)> rule;
    std::string words;        ///< the operation applied to the step
    bool by_name = false;     ///< a tensor with the step's name is never read as this form
    std::string without{};    ///< the axis of the step that it lacks
    std::string harmless{};   ///< the entry of the catalogue that describes it, if there is one
    bool is_mistake = false;  ///< that entry is a mistake
    std::function<bool(const Plan&)> applies{};
};
/// Returns the one with that name; nullptr if there is none.
const KeptStep* kept_step(const std::string& name);
/// Returns the names of those that are another form of a step.
std::vector<std::string> kept_of(const std::string& step);

/// All steps, or those of one walk, with the forms that other code keeps.
const StepTable& kept_table();
const StepTable& kept_table(const Plan& plan);

/// The place of a step in a table; after the last one if the table has no step of that name.
std::size_t place_of(const StepTable& table, const std::string& step);

/// The reason to leave out a tensor with the name of this step.
std::string no_such_step(const std::string& step);

/// Returns the steps of a table that this name may mean, the likeliest first.
std::vector<std::string> known_steps(const std::string& name,
                                     const StepTable& table = kept_table());
/// Returns the likeliest step; empty for an unknown name.
std::string likeliest_step(const std::string& name);

/// True if the name is that of a module's parameter, whatever the module: `q_einsum.w`,
/// `query/kernel:0`.
bool looks_like_parameter(const std::string& name);

/// Returns the parameter that a typical name means: `self.q_proj.weight`, `W_q`, `Wq`, `bq`,
/// `in_proj_bias` and `c_attn.weight`; empty if there is none. `w_kv` is key and value in one.
std::string parameter_called(const std::string& name);

/// True if the matrix of the query is square, so that its shape does not show its layout.
bool has_square_matrix(const WalkConfig& config);

/// Renames the tensors of a file to the steps that fit their names and shapes; the others keep
/// their names.
Ledger named_by_step(const Ledger& file, const Plan& plan);

/// True if the name is a common one for the result of attention.
bool names_a_result(const std::string& name);

/// Returns the steps of this walk that a tensor of that name may be, the likeliest first: a step's
/// own name for itself, `attn` for the weights, `out` for the last step of the walk. Empty for an
/// unknown name.
std::vector<std::string> steps_called(const std::string& name, const Plan& plan);

/// Stacks the tensors that a file has once per head (`q.0` and `q.1`, `w_head0`,
/// `heads.0.key.weight`), with an axis of heads before the last two.
Ledger heads_together(const Ledger& file);

/// The tensors of one layer, without its name in front of theirs.
struct FileLayer {
    std::string name;
    Ledger tensors{};
};

/// Separates the layers of a file that has several (`layers.0.attn.q`, `h.1.attn.q`), in the order
/// of the file; empty if it has one. A mask without a layer belongs to each of them, other such
/// tensors to the first.
std::vector<FileLayer> split_layers(const Ledger& file);

/// Splits the tensors of a file that combine query, key and value, or key and value: activations
/// three times as wide as the output, stacked parameters. Those that `specified` maps to a step are
/// not split.
Ledger split_fused(const Ledger& file, const std::map<std::string, std::string>& specified);

/// One way to read a tensor: its numbers in our order of axes, and how they were rearranged.
struct Reading {
    Tensor tensor;
    std::string layout;  ///< `(batch, query, head, feature)`; empty if it is ours
};

/// Every way to read `actual` as a tensor of that shape: as it is, with axes of length 1 added or
/// dropped, in another order of axes, with neighbouring axes joined, as (B * H, T, D) is. Queries
/// stay in front of keys: exchanging them is a mistake, not a layout.
///
/// Shapes  theirs any; the readings have `shape` and `axes`, and the type `dtype`.
std::vector<Reading> readings(const Tensor& actual, const Axes& axes, const Shape& shape,
                              DType dtype);
/// Reads it with the axes, shape and dtype of `like`.
std::vector<Reading> readings(const Tensor& actual, const Tensor& like);

/// Returns the share of weights that dropout dropped, from the weights before and after it, each
/// near to its number; 0 unless some are 0 that were not, and all others were multiplied by one
/// number above 1.
double share_dropped(const std::vector<double>& before, const std::vector<double>& after,
                     double near);

/// Sets the share of dropout, and that it keeps the cells that are not 0 after it.
void set_shown_dropout(double share, const Tensor& after, Dropout& dropout);

/// The digits of a printed tensor.
struct Printed {
    int count = 0;                 ///< 0 if it was not cut
    bool are_significant = false;  ///< not decimals

    double cut(double number) const;
};

/// True if some number has fewer decimals than others because its significant digits were limited:
/// 12.3 next to 1.23. Whole numbers give no evidence.
bool has_cut_decimals(const Ledger& tensors, int digits);

/// The digits that a tensor was printed with, judged by its own numbers; none for whole numbers.
Printed printed_alone(const Tensor& tensor);

/// One way to read a mask: which cells it hides, over (batch, head, query, key).
struct MaskReading {
    Tensor hidden;            ///< bool, with all axes of the scores
    bool true_keeps = false;  ///< true, 1, or the 0 of an added mask means a visible key
    std::string layout;
};

/// Returns every way to read `actual` as a mask: bool, zeros and ones, or numbers to add; true for
/// hidden or for kept; broadcast to the scores from the right, as (batch, query, key), or as
/// (batch, key).
///
/// Shapes  theirs one to four axes. Empty if it is no mask of this walk.
std::vector<MaskReading> mask_readings(const Tensor& actual, const Plan& plan);

/// Returns the machine epsilon of the 16-bit type that a tensor went through: 11 binary digits
/// (bfloat16: 8) are enough for each of its numbers, and many need nearly all of them. 0 if there
/// is none.
double epsilon_of_half(const Tensor& tensor);

/// A few numbers, or simple ones such as 0.5 and 0.25, do not reveal their type: they get the
/// 16-bit type of the other tensors, or of the walk.
template <class UserTensors>
void share_types(std::vector<UserTensors>& tensors, double of_walk = 0) {
    for (const double epsilon : {0x1p-7, 0x1p-10}) {
        const auto is_it = [&](const UserTensors& each) { return each.epsilon == epsilon; };
        if (of_walk != epsilon && std::ranges::none_of(tensors, is_it)) continue;
        const Rounding rounding = rounding_of_half(epsilon);
        for (UserTensors& each : tensors) {
            if (each.epsilon == 0 && holds(rounding, each.tensor)) each.epsilon = epsilon;
        }
    }
}

/// The mistakes that an input can reveal.
struct Power {
    struct Blind {
        const Mistake* mistake;
        std::string reason;
    };
    /// Mistakes that change the last tensor of the walk, grouped by equal results.
    std::vector<std::vector<const Mistake*>> groups;
    /// Mistakes that change some step, but not the last: they are visible only if that step is
    /// given.
    std::vector<const Mistake*> inside;
    /// Mistakes that change no tensor, and why.
    std::vector<Blind> blind;
};

/// Makes every mistake of the catalogue on this input and records which steps change.
Power power(const Plan& plan, const Ledger& given);

/// Returns the mistakes that would show in the saved tensors if x and the weights were larger: a
/// verdict of right does not exclude them. Empty for a long walk, for which this would take long.
std::vector<const Mistake*> below_rounding(const Diagnosis& diagnosis);

/// Formats the answer as text for people, and as JSON.
std::string power_text(const Power& power);
std::string power_json(const Power& power);

/// Returns a walk that reveals nearly every mistake: different numbers of samples, tokens, heads
/// and features, biases everywhere, one padded sequence, a causal mask, no repeated token.
WalkConfig probe_config();

/// Returns the requested walk, with inputs that reveal its mistakes: by default three samples of
/// 7 tokens, more than a small window has; gains that differ within a pair.
WalkConfig probe_config(WalkConfig requested);

/// One of the user's tensors, and the steps that it may be.
struct UserTensor {
    std::string name;
    Tensor tensor;
    std::vector<std::string> steps;      ///< the step that it is read as comes first
    double epsilon = 0;                  ///< machine epsilon if all its numbers are 16-bit numbers
    std::vector<std::string> options{};  ///< all steps that its name, shape and numbers allow
    /// Why its name identifies no step of this walk, so that it may be any or none.
    std::string stray{};
    std::size_t foreign = SIZE_MAX;  ///< index of the first option that its name does not mean
    bool is_right = false;           ///< it has the reference numbers of one of its options
    bool aside = false;              ///< no step is replayed from it
    std::size_t rank = 0;            ///< index of the current step among the options
};

/// The comparison of a tensor with an expectation: whether it is within the tolerance, and its
/// distance.
struct Judged {
    Verdict verdict = Verdict::wrong;
    double difference = 0;
    std::optional<WithinBall> within{};  ///< if rounding was estimated
    std::optional<Slope> slope{};        ///< of a difference that is systematic
    bool right() const { return verdict == Verdict::right; }
};

/// True if no number is negative: softmax gives none below 0, whatever its axis.
bool can_be_weights(const Tensor& tensor);

/// True if both have the same shape and numbers; stops at the first difference.
bool same_cells(const Tensor& actual, const Tensor& expected);

/// Shapes  any; a shape other than the expected one has its own verdict.
Judged judged(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

/// The detail needed of the verdict on a tensor that is far off.
struct Depth {
    bool in_full = false;  ///< with `within` and `slope`
    double enough = 0;     ///< a larger distance need not be exact
};

/// Judges tensors by the rounding errors that are possible at their step.
class Judge {
public:
    Judge(const Plan& plan, const Ledger& given, const DiagnoseOptions& options);

    const Plan& plan() const { return plan_; }
    const Ledger& reference() const { return reference_; }
    const Ledger& given() const { return given_; }
    /// Accepts another form of the result from now on.
    void accept(const Mistake& harmless);
    /// Judges later tensors as computed from this one of the user's.
    void take(const std::string& step, const Tensor& actual);

    /// Accepts numbers with few digits, as long as the error looks like rounding.
    void loosen(double epsilon) { epsilon_ = epsilon; }
    /// Ignores cells under the mask, in steps whose values there are implementation-defined.
    void ignore_hidden(bool from_hidden) { ignores_hidden_ = from_hidden; }
    bool ignores_hidden() const { return ignores_hidden_; }
    Rounding rounding(const UserTensor& actual, const Tensor& expected) const;
    /// Returns the machine epsilon of the 16-bit type that a tensor went through; 0 if it has more
    /// digits.
    double epsilon_of(const UserTensor& actual) const { return std::max(actual.epsilon, epsilon_); }
    /// True if few digits are assumed of all tensors, and if the numbers of this one do not show
    /// them.
    bool is_loose() const { return epsilon_ != 0; }
    bool guesses(const UserTensor& actual) const { return is_loose() && actual.epsilon == 0; }
    bool may_ignore_hidden(const UserTensor& actual) const;

    /// Judges a tensor as one step. `from_user` is set if the expectation was computed from the
    /// user's tensors.
    Judged operator()(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                      const Tensor& expected, bool from_user, const Depth& depth = {}) const;
    /// True if all differences are in rows of padded queries, which have no readers.
    bool right_where_read(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                          const Tensor& expected, bool from_user) const;
    /// True if a tensor may be identified as that step of the reference: it is right, or within a
    /// few units of the largest number.
    bool looks_right(const UserTensor& actual, const std::string& step) const;
    /// Returns a reading in which a tensor is right as that step of the reference.
    std::optional<Reading> right_reading(const UserTensor& actual, const std::string& step) const;
    /// Returns a reading in which a tensor is the expected one; for a key that all heads share,
    /// also tries the part of `key` that has it rotated, if there is one.
    std::optional<Reading> reading_as(const UserTensor& actual, const std::string& step,
                                      const Tensor& expected, const Tensor* key,
                                      bool from_user) const;
    Tolerance tolerance(const std::string& step, const UserTensor& actual, const Tensor& expected,
                        bool from_user) const;
    /// Returns the distance of a tensor from the exact numbers, in multiples of the usual one: that
    /// of `expected`, and of storing numbers. The largest error that rounding may have is often a
    /// thousand times the usual one. 0 if the bound of the step is unknown.
    ///
    /// Shapes  both the same.
    double excess(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                  const Tensor& expected, bool from_user) const;

private:
    /// The rounding error that a step may have: its ball, and the radius relative to a number's
    /// size.
    struct Allowed {
        Ball ball;
        double relative = 0;
        bool is_finite = true;  ///< all radii are finite
    };
    /// The balls of all steps, for the tensors that the user's code used.
    struct Balls {
        StepTable table;
        Ledger used;
        Bounds bounds;
        std::map<std::string, std::optional<Allowed>> known{};

        Balls(const Plan& plan, StepTable steps, Ledger tensors, const Rounding& rounding,
              Ledger radii)
            : table(std::move(steps)),
              used(std::move(tensors)),
              bounds(plan, table, used, rounding, std::move(radii)) {}
        Balls(const Balls&) = delete;  // its bounds refer to its tensors
    };

    double most_of(const Rounding& rounding) const;
    Printed printed_digits(const Tensor& tensor) const;
    Printed own_digits(const Tensor& tensor) const;
    Ledger printed_radii(const Ledger& used) const;
    Tolerance printed_tolerance(const UserTensor& actual, const Allowed* usual, double size,
                                double relative) const;
    const Allowed* allowed(const std::string& step, const Rounding& rounding, bool from_user) const;
    double relative(const Allowed* allowed, const Rounding& rounding) const;
    static bool is_middle(const Tensor& expected, const Allowed* allowed, const Rounding& rounding);
    Ball ball_around(const Tensor& expected, const Allowed* allowed,
                     const Rounding& rounding) const;
    Judged as_printed(const std::string& step, const UserTensor& actual, const Tensor& tensor,
                      const Tensor& expected, bool from_user) const;
    bool is_beyond_all(const std::string& step, const Tensor& tensor, const Tensor& expected,
                       const Rounding& rounding, bool from_user) const;
    Judged by_rounding(const std::string& step, const Tensor& tensor, const Tensor& expected,
                       const Rounding& rounding, bool from_user, const Depth& depth) const;

    const Plan& plan_;
    Ledger given_;
    const DiagnoseOptions& options_;
    StepTable table_ = kept_table(plan_);
    Ledger reference_;
    Ledger read_so_far_{};  ///< the user's tensors that were read so far
    bool ignores_hidden_ = false;
    double epsilon_ = 0;  ///< of the type that all numbers went through, if specified
    /// Per type that was requested, with or without the user's tensors.
    mutable std::map<std::tuple<bool, double, double, bool>, std::shared_ptr<Balls>> balls_{};
};

/// Determines the steps that each tensor may be, and which tensors are none. If names are
/// ambiguous, the step whose right numbers a tensor has comes first.
std::vector<UserTensor> read_user_tensors(const Plan& plan, const Judge& judge,
                                          const Ledger& actual, const DiagnoseOptions& options,
                                          std::vector<Skipped>& skipped);

/// True if a step's tensor is scores: raw, scaled, capped, with a bias, or masked.
bool is_scores(const Plan& plan, const std::string& step);

}  // namespace attn
