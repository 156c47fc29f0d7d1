#pragma once
#include <algorithm>
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

// How tensors that other code saved are read: under which step's name, and in which layout.

/// A tensor that other code keeps of a step, which no walk has: its rule is a step's.
struct KeptStep {
    std::string name;
    std::string of;        ///< the step, or another of these, that it is another form of
    std::string after;     ///< the last step that it is made of
    std::string called{};  ///< by other code, as a step is
    std::function<Rule(const Plan&)> rule;
    std::string words;        ///< what was done to the step
    bool by_name = false;     ///< a tensor that is called as the step is not taken for it
    std::string without{};    ///< an axis of the step that it is without
    std::string harmless{};   ///< the entry of the catalogue that says so, where there is one
    bool is_mistake = false;  ///< that entry is a mistake
    std::function<bool(const Plan&)> applies{};
};
/// The one of that name; nullptr where there is none.
const KeptStep* kept_step(const std::string& name);
/// The names of those that are another form of a step.
std::vector<std::string> kept_of(const std::string& step);

/// The steps of any walk, and of one, with those that other code keeps.
const StepTable& kept_table();
const StepTable& kept_table(const Plan& plan);

/// The place of a step in a table; after the last one if the table has no step of that name.
std::size_t place_of(const StepTable& table, const std::string& step);

/// The steps of a table, of any walk or of one, that are called by that name, the likeliest first.
std::vector<std::string> known_steps(const std::string& name,
                                     const StepTable& table = kept_table());

/// Whether the name is that of a module's parameter, whatever the module: `q_einsum.w`,
/// `query/kernel:0`.
bool looks_like_parameter(const std::string& name);

/// The parameter that a name with a word of its kind stands for: `self.q_proj.weight`, `W_q`, `Wq`,
/// `bq`, `in_proj_bias` and `c_attn.weight`; empty if it names none. `w_kv` is that of key and
/// value in one.
std::string parameter_called(const std::string& name);

/// The tensors of a file under the names of the steps whose shapes they have, as far as their names
/// allow; the others keep their own.
Ledger named_by_step(const Ledger& file, const Plan& plan);

/// Whether the name is that of what attention returns in the end.
bool names_a_result(const std::string& name);

/// The steps of this walk that a tensor of that name may be, the likeliest first: step names are
/// for themselves, `attn` for the weights, `out` for the last step of the walk. Empty for a name
/// that nobody uses.
std::vector<std::string> steps_called(const std::string& name, const Plan& plan);

/// The tensors of a file, those that it has for each head (`q.0` and `q.1`, `w_head0`,
/// `heads.0.key.weight`) as one with an axis of heads before the last two.
Ledger heads_together(const Ledger& file);

/// The tensors of a file, those that hold query, key and value (or key and value) in one as one
/// each: activations three times as wide as the output, stacked parameters. Those that `said` maps
/// to a step stay whole.
Ledger fused_apart(const Ledger& file, const std::map<std::string, std::string>& said);

/// One way to read a tensor: its numbers in our order of axes, and what was done to get there.
struct Reading {
    Tensor tensor;
    std::string layout;  ///< `(batch, query, head, feature)`; empty where it is ours
};

/// Every way to read `theirs` as a tensor of that shape: as it is, with axes of length 1 added or
/// dropped, in another order of axes, with neighbouring axes joined, as (B * H, T, D) is. Queries
/// stay in front of keys: exchanging them is a mistake, not a layout.
///
/// Shapes  theirs any; the readings have `shape` and `axes`, and the type `dtype`.
std::vector<Reading> readings(const Tensor& theirs, const Axes& axes, const Shape& shape,
                              DType dtype);
/// The same with the axes, shape and type of `like`.
std::vector<Reading> readings(const Tensor& theirs, const Tensor& like);

/// One way to read a mask: which cells it hides, over (batch, head, query, key).
struct MaskReading {
    Tensor hidden;           ///< bool, with every axis of the scores
    bool says_keep = false;  ///< true, 1 or 0 of an added mask stands for a visible key
    std::string layout;
};

/// Every way to read `theirs` as a mask: bool, zeros and ones, or numbers to add; true for hidden
/// or for kept; broadcast to the scores from the right, as (batch, query, key), or as
/// (batch, key).
///
/// Shapes  theirs one to four axes. Empty where it is no mask of this walk.
std::vector<MaskReading> mask_readings(const Tensor& theirs, const Plan& plan);

/// The spacing at 1 of the 16-bit type that a tensor went through: 11 binary digits are enough for
/// each of its numbers (bfloat16: 8), and many need nearly as many. 0 where there is none.
double epsilon_of_half(const Tensor& tensor);

/// Few numbers, or a half and a quarter, do not say their type: they are of that of the others, or
/// of their walk, where it is one of 16 bits.
template <class Theirs>
void share_types(std::vector<Theirs>& tensors, double of_walk = 0) {
    for (const double epsilon : {0x1p-7, 0x1p-10}) {
        const auto is_it = [&](const Theirs& each) { return each.epsilon == epsilon; };
        if (of_walk != epsilon && std::ranges::none_of(tensors, is_it)) continue;
        const Rounding rounding = rounding_of_half(epsilon);
        for (Theirs& each : tensors) {
            if (each.epsilon == 0 && holds(rounding, each.tensor)) each.epsilon = epsilon;
        }
    }
}

/// Which mistakes an input can reveal.
struct Power {
    struct Blind {
        const Mistake* mistake;
        std::string reason;
    };
    /// Change the last tensor of the walk, in groups that change it alike.
    std::vector<std::vector<const Mistake*>> groups;
    /// Change some step, but not the last: they show only when that step is given.
    std::vector<const Mistake*> inside;
    /// Cannot be seen at all, and why.
    std::vector<Blind> blind;
};

/// Makes every mistake of the catalogue on this input and sees what it changes.
Power power(const Plan& plan, const Ledger& given);

/// Mistakes that would show in what they saved if x and the weights were not as small as they are:
/// a verdict of right says nothing of them. None of a long walk, where looking would take long.
std::vector<const Mistake*> below_rounding(const Diagnosis& diagnosis);

/// The answer for people, and as JSON.
std::string power_text(const Power& power);
std::string power_json(const Power& power);

/// A walk on which nearly every mistake shows: batch, tokens, heads and features all differ in
/// number, biases everywhere, one padded sequence, a causal mask, no token twice.
WalkConfig probe_config();

/// The walk that was asked for, on inputs on which its mistakes show: three samples of 7 tokens,
/// more than a small window holds, where nothing else is said; gains that differ within a pair.
WalkConfig probe_config(WalkConfig asked);

/// One of somebody's tensors and the steps that it may be.
struct TheirTensor {
    std::string name;
    Tensor tensor;
    std::vector<std::string> steps;  ///< as which it is read, the likeliest first
    double epsilon = 0;              ///< spacing of 16-bit numbers at 1, where they have only those
    std::vector<std::string> options{};  ///< all that its name, shape and numbers allow
    bool misfits = false;                ///< no step that its name stands for has its shape
    /// Its name stands for no step of this walk, so that it may be one or none: why none was found.
    std::string stray{};
    std::size_t foreign = SIZE_MAX;  ///< from there on the options are not what its name says
    bool is_right = false;           ///< as one of its options it is that of the reference
    bool aside = false;              ///< nothing is replayed from it
    std::size_t rank = 0;            ///< of the step as which it is read, among the options
};

/// A tensor against an expectation: whether it is within the tolerance, and how far it is.
struct Judged {
    Verdict verdict = Verdict::wrong;
    double difference = 0;
    std::optional<WithinBall> within{};  ///< where rounding was asked
    std::optional<Slope> slope{};        ///< of a difference that is systematic
    bool right() const { return verdict == Verdict::right; }
};

/// True if both have the same shape and numbers; the first that differs ends the comparison.
bool same_cells(const Tensor& theirs, const Tensor& expected);

/// Shapes  any; others than the expected are a verdict of their own.
Judged judged(const Tensor& theirs, const Tensor& expected, const Tolerance& tolerance);

/// Judges tensors by what rounding explains at their step.
class Judge {
public:
    Judge(const Plan& plan, const Ledger& given, const DiagnoseOptions& options);

    const Plan& plan() const { return plan_; }
    const Ledger& reference() const { return reference_; }
    const Ledger& given() const { return given_; }
    /// Other ways to write the result are right from now on.
    void accept(const Mistake& harmless);
    /// From now on what follows from their tensors is judged as made of this one.
    void take(const std::string& step, const Tensor& theirs);

    /// Lets numbers have few digits, as long as what is missing looks like rounding.
    void loosen(double epsilon) { epsilon_ = epsilon; }
    /// Lets cells that the mask hides count for nothing, of steps that may say anything there.
    void look_away(bool from_hidden) { looks_away_ = from_hidden; }
    bool looks_away() const { return looks_away_; }
    Rounding rounding(const TheirTensor& theirs, const Tensor& expected) const;
    /// Of the 16-bit type that a tensor went through; 0 where it has more digits.
    double epsilon_of(const TheirTensor& theirs) const {
        return std::max(theirs.epsilon, epsilon_);
    }
    bool may_look_away(const TheirTensor& theirs) const;

    /// Judges a tensor as one step. `from_theirs` says that the expectation was computed from the
    /// user's tensors. A tensor that is far off has a distance, and neither `within` nor `slope`;
    /// the distance of one that is wrong is exact only if it is less than `enough`.
    Judged operator()(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                      const Tensor& expected, bool from_theirs, double enough = 0) const {
        return answer(step, theirs, tensor, expected, from_theirs, {.enough = enough});
    }
    /// The same, with `within` and `slope` for every tensor.
    Judged in_full(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                   const Tensor& expected, bool from_theirs) const {
        return answer(step, theirs, tensor, expected, from_theirs, {.in_full = true});
    }
    /// Whether all that differs is in rows of padded queries, which nobody reads.
    bool right_where_read(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                          const Tensor& expected, bool from_theirs) const;
    /// True if a tensor is that step of the reference for the purpose of finding out which step it
    /// is: within a few units of the largest number, or right.
    bool looks_right(const TheirTensor& theirs, const std::string& step) const;
    /// A way to read a tensor in which it is right as that step of the reference.
    std::optional<Reading> right_reading(const TheirTensor& theirs, const std::string& step) const;
    /// A way to read a tensor in which it is the expected one; of a key that all heads share also
    /// the part of `key` that holds it turned, where there is one.
    std::optional<Reading> reading_as(const TheirTensor& theirs, const std::string& step,
                                      const Tensor& expected, const Tensor* key,
                                      bool from_theirs) const;
    Tolerance tolerance(const std::string& step, const TheirTensor& theirs, const Tensor& expected,
                        bool from_theirs) const;

private:
    /// How much is asked of a tensor that is far off.
    struct Depth {
        bool in_full = false;      ///< its place beside its ball
        double enough = HUGE_VAL;  ///< a distance from which on it need not be exact
    };
    /// What rounding allows of a step: its ball, and the same beside numbers of any size.
    struct Allowed {
        Ball ball;
        double relative = 0;
        bool is_finite = true;  ///< every radius
    };
    /// The same of each step, of the tensors that code has used.
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
    int printed_digits(const Tensor& tensor) const;
    int own_digits(const Tensor& tensor) const;
    double cut(double number, int digits) const;
    Ledger printed_radii(const Ledger& used) const;
    Tolerance printed_tolerance(const TheirTensor& theirs, const Allowed* usual, double size,
                                double relative) const;
    const Allowed* allowed(const std::string& step, const Rounding& rounding,
                           bool from_theirs) const;
    double relative(const Allowed* allowed, const Rounding& rounding) const;
    static bool is_middle(const Tensor& expected, const Allowed* allowed, const Rounding& rounding);
    Ball ball_around(const Tensor& expected, const Allowed* allowed,
                     const Rounding& rounding) const;
    Judged as_printed(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                      const Tensor& expected, bool from_theirs) const;
    bool is_beyond_all(const std::string& step, const Tensor& tensor, const Tensor& expected,
                       const Rounding& rounding, bool from_theirs) const;
    Judged by_rounding(const std::string& step, const Tensor& tensor, const Tensor& expected,
                       const Rounding& rounding, bool from_theirs, const Depth& depth) const;
    Judged answer(const std::string& step, const TheirTensor& theirs, const Tensor& tensor,
                  const Tensor& expected, bool from_theirs, const Depth& depth) const;

    const Plan& plan_;
    Ledger given_;
    const DiagnoseOptions& options_;
    StepTable table_ = kept_table(plan_);
    Ledger reference_;
    Ledger taken_{};  ///< theirs, as far as they have been read
    bool looks_away_ = false;
    double epsilon_ = 0;  ///< of the type that all numbers went through, where it is said
    /// Of each type that was asked for, from their tensors or from none.
    mutable std::map<std::tuple<bool, double, double, bool>, std::shared_ptr<Balls>> balls_{};
};

/// Says of each tensor which steps it may be, and which none is. Where names leave a choice, the
/// step whose right numbers a tensor holds is first.
std::vector<TheirTensor> their_tensors(const Plan& plan, const Judge& judge, const Ledger& theirs,
                                       const DiagnoseOptions& options,
                                       std::vector<Skipped>& skipped);

/// Whether a step's tensor holds scores: as they come, scaled, capped, with a bias, or masked.
bool is_scores(const Plan& plan, const std::string& step);

}  // namespace attn
