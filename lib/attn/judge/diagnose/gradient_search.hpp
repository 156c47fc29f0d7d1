#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/judge/diagnose/diagnose_gradients.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"
#include "attn/judge/diagnose/way_back.hpp"

namespace attn {

/// One of somebody's gradients and the steps that it may be of, the likeliest first.
struct TheirGradient {
    std::string name;
    Tensor tensor;
    std::vector<std::string> steps;
    double epsilon;
    bool may_turn;  ///< its tensor lay in another order, so it may too
};

/// A gradient that a way back may begin with.
struct BackwardStart {
    std::string words;  ///< the loss that has it, empty where it was given
    std::string step{};
    Tensor tensor{};
    double factor = 1;    ///< of that tensor
    bool usual = true;    ///< tried without the gradient of the values beside it
    std::string other{};  ///< a tensor of theirs that it is made of
};

/// Judges gradients by one way forth.
class GradientSearch {
public:
    GradientSearch(const GradientsAsked& asked, WayBack& way, std::vector<TheirGradient> theirs,
                   Ledger others)
        : asked_(asked),
          way_(way),
          theirs_(std::move(theirs)),
          others_(std::move(others)),
          last_("d_" + last_of(Chain::contexts)) {
        find_chance();
    }

    GradientDiagnosis best();

private:
    using Mistakes = std::vector<const Mistake*>;

    std::string last_of(Chain chain) const;

    /// What was drawn though they gave theirs: numbers made of it are chance.
    void find_chance();

    /// The tensor that a step needs and nobody gave; empty where there is none.
    std::string unknown_behind(const std::string& step) const;
    std::string unknown_behind(const std::string& name, std::set<std::string>& seen) const;

    void leave_out_unknown();

    void skip(const TheirGradient& each, const std::string& missing);

    /// How theirs is that step of ours, `factor` times; nothing where it is not.
    std::optional<Reading> as(const TheirGradient& theirs, const std::string& step,
                              const Ledger& ours, double factor = 1) const;
    static std::vector<Reading> ways(const TheirGradient& theirs, const std::string& step,
                                     const Tensor& ours);
    bool is_near(const TheirGradient& theirs, const std::string& step, const Tensor& tensor,
                 const Tensor& ours, double factor = 1) const;
    std::optional<std::pair<std::string, Reading>> right(const TheirGradient& theirs,
                                                         const Ledger& ours,
                                                         double factor = 1) const;
    std::size_t count_right(const Ledger& ours, double factor = 1) const;

    // Where the way back begins.

    /// Takes what the way back begins with; whether that is known.
    bool begin();
    void begin_before_last();

    void take(const BackwardStart& start);

    /// Begins where the most are right, those of the values before all others: no mistake of the
    /// scores reaches these. Whether any is.
    bool take_best(const std::vector<BackwardStart>& all);

    /// The first gradient of theirs on the way back, in every way to read it.
    std::vector<BackwardStart> given_starts() const;

    /// Losses that people write, and tensors of theirs that may be a gradient or a target.
    std::vector<BackwardStart> starts_of_losses() const;

    /// A loss that is some number times one that is known: all gradients are.
    bool take_a_multiple(const std::vector<BackwardStart>& all);

    // Mistakes.

    Ledger with(const Mistakes& made, StepTable table, const Ledger& taken) const;

    /// The mistakes that can show in this walk, alone or two at a time.
    std::vector<Mistakes> all_made(std::size_t count) const;

    /// Whether one mistake makes all that differs, and leaves the rest; of two where pairs are
    /// asked for.
    bool explained_together();

    /// Judges each by those of theirs before it, and looks for what makes it.
    void one_by_one(const Ledger& whole, bool is_open);

    /// Takes a gradient that nothing explains as the step from which the most of the rest follow.
    void take_likeliest(const TheirGradient& each, std::span<const TheirGradient> later,
                        const StepTable& table);

    /// Finds the mistake that makes a gradient of theirs from those before it, the one that makes
    /// the most of those after it; makes it in what follows.
    std::optional<std::pair<std::string, Reading>> name(const TheirGradient& each,
                                                        std::span<const TheirGradient> later,
                                                        const Ledger& whole, const Ledger& ours,
                                                        StepTable& table);

    /// What the numbers of an unknown gradient say.
    void follow(const TheirGradient& each, const Ledger& ours, const StepTable& table,
                GradientFinding& finding) const;
    /// The largest difference from the likeliest step; infinite without that step.
    static double distance_of(const TheirGradient& each, const Ledger& made);

    const GradientsAsked& asked_;
    WayBack& way_;
    std::vector<TheirGradient> theirs_;
    Ledger others_;
    const std::string last_;  ///< the gradient of what attention returns
    std::set<std::string> unknown_;
    Ledger begun_, taken_;  ///< gradients of theirs, at first those that it begins with
    GradientDiagnosis result_;
};

}  // namespace attn
