#pragma once
#include <map>
#include <string>

#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"

namespace attn {

/// A walk in float64 and its backward pass, which can be repeated from other gradients.
class BackwardPass {
public:
    /// Errors  as with_gradients.
    BackwardPass(Plan of, const Ledger& given, StepTable forward, const Loss& loss);

    /// Computes the walk's gradients by `new_table`, the table or one with mistakes; those in
    /// `user_gradients` are not computed.
    Ledger gradients(const StepTable& new_table, const Ledger& user_gradients) const;
    /// Repeats the backward pass with each number rounded up or down at random: see noise().
    void perturb(const Ledger& user_gradients);
    /// Returns how much rounding is amplified in a gradient: the factor for a type's epsilon.
    double noise(const std::string& step) const;
    bool has(const std::string& step) const { return has_step(table, plan, step); }

    Plan plan;
    StepTable table;

private:
    template <class After>
    Ledger backpropagate(const StepTable& new_table, const Ledger& user_gradients, Ledger ledger,
                         After&& after) const;

    std::size_t first_ = 0;  ///< the first step after the loss
    Ledger forward_tensors_{};
    std::map<std::string, double> noise_{};
};

}  // namespace attn
