#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/judge/diagnose/backward_pass.hpp"
#include "attn/judge/diagnose/diagnose_gradients.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {

/// One of the user's gradients, and the steps that it may belong to, the likeliest first.
struct UserGradient {
    std::string name;
    Tensor tensor;
    std::vector<std::string> steps;
    double epsilon;
    bool may_be_transposed;  ///< its tensor had another layout, so the gradient may have it, too
};

/// A gradient to start backpropagation from.
struct BackwardStart {
    std::string words;  ///< the loss that has this gradient; empty if the user gave it
    std::string step{};
    Tensor tensor{};
    double factor = 1;    ///< that multiplies the tensor
    bool usual = true;    ///< tried even if the gradient of the values does not match
    std::string other{};  ///< the user's tensor from which it is computed
};

/// Judges the gradients of one forward pass.
class GradientSearch {
public:
    GradientSearch(const RequestedGradients& requested, BackwardPass& way,
                   std::vector<UserGradient> actual, Ledger others)
        : requested_(requested),
          way_(way),
          actual_(std::move(actual)),
          others_(std::move(others)),
          last_("d_" + last_of(Chain::contexts)) {
        find_chance();
    }

    GradientDiagnosis best();

private:
    using Mistakes = std::vector<const Mistake*>;

    std::string last_of(Chain chain) const;

    /// Finds parameters that were drawn although the user gave some: numbers computed from them are
    /// random.
    void find_chance();

    /// Returns a tensor that the step needs and that was not given; empty if there is none.
    std::string missing_input(const std::string& step, std::set<std::string>&& seen = {}) const;

    void leave_out_unknown();

    void skip(const UserGradient& each, const std::string& missing);

    /// Reads the user's gradient as `factor` times a step of ours; nullopt if it differs.
    std::optional<Reading> as(const UserGradient& actual, const std::string& step,
                              const Ledger& correct, double factor = 1) const;
    static std::vector<Reading> ways(const UserGradient& actual, const std::string& step,
                                     const Tensor& correct);
    bool is_near(const UserGradient& actual, const std::string& step, const Tensor& tensor,
                 const Tensor& correct, double factor = 1) const;
    std::optional<std::pair<std::string, Reading>> right(const UserGradient& actual,
                                                         const Ledger& correct,
                                                         double factor = 1) const;
    std::size_t count_right(const Ledger& correct, double factor = 1) const;

    // The start of the backward pass.

    /// Chooses the gradient to start from; returns whether it is known.
    bool begin();
    void begin_before_last();

    void take(const BackwardStart& start);

    /// Starts where the most gradients are right, those of the values first because no mistake in
    /// the scores reaches them. Returns false if none is right.
    bool take_best(const std::vector<BackwardStart>& all);

    /// Returns the user's first gradient of the backward pass, in each of its readings.
    std::vector<BackwardStart> given_starts() const;

    /// Returns common losses, and the user's tensors that may be a gradient or a target.
    std::vector<BackwardStart> starts_of_losses() const;

    /// Tries a multiple of a known loss, which scales all gradients.
    bool take_a_multiple(const std::vector<BackwardStart>& all);

    // Mistakes.

    Ledger with(const Mistakes& result, StepTable table, const Ledger& user_gradients) const;

    /// Returns the mistakes that can show in this walk, one or two at a time.
    std::vector<Mistakes> mistake_sets(std::size_t count) const;

    /// True if one mistake, or two if pairs are requested, explains every difference and leaves the
    /// other gradients right.
    bool explained_together();

    /// Judges each gradient by the user's gradients before it, and looks for a mistake.
    void one_by_one(const Ledger& whole, bool is_open);

    /// Reads an unexplained gradient as the step from which the most later ones follow.
    void take_likeliest(const UserGradient& each, std::span<const UserGradient> later,
                        const StepTable& table);

    /// Finds the mistake that makes a gradient from the user's gradients before it, preferring one
    /// that explains the most later ones, and makes it in all later steps.
    std::optional<std::pair<std::string, Reading>> name(const UserGradient& each,
                                                        std::span<const UserGradient> later,
                                                        const Ledger& whole, const Ledger& correct,
                                                        StepTable& table);

    /// Looks for a rule in the numbers of an unknown gradient.
    void follow(const UserGradient& each, const Ledger& correct, const StepTable& table,
                GradientFinding& finding) const;
    /// Returns the largest difference from the likeliest step; infinity if that step is missing.
    static double distance_of(const UserGradient& each, const Ledger& result);

    const RequestedGradients& requested_;
    BackwardPass& way_;
    std::vector<UserGradient> actual_;
    Ledger others_;
    const std::string last_;  ///< the gradient of attention's result
    std::set<std::string> unknown_;
    Ledger first_gradients_,
        user_gradients_;  ///< the user's gradients: the first ones, and all so far
    GradientDiagnosis result_;
};

}  // namespace attn
