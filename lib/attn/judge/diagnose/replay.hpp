#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {

/// The steps of a walk, computed one at a time from tensors that may be the user's, with or without
/// mistakes. Computes only the steps that are needed, and those that a mistake cannot reach only
/// once.
class Replay {
public:
    /// `given` has the inputs of the walk; `plan` must outlive the replay.
    Replay(const Plan& plan, Ledger given);

    /// Uses this tensor for `step` from now on, in place of the table's result.
    /// Shapes  shape and dtype of the table's own tensor.
    void take(const std::string& step, Tensor tensor);

    /// True if a tensor was set for a step, or it is an input of the walk.
    bool is_given(const std::string& step) const { return given_.has(step); }

    const Ledger& given() const { return given_; }

    /// Applies the mistake from now on.
    void make(const Mistake& mistake);

    /// Returns the tensor of a step; nullptr if this walk has none or the shapes before it do not
    /// fit.
    const Tensor* step(const std::string& name);

    /// Returns the tensor of a step with these mistakes made as well; nullopt if they cannot reach
    /// the step, or the shapes do not fit.
    std::optional<Tensor> step_with(const std::vector<const Mistake*>& cause,
                                    const std::string& name);

private:
    void run(const StepTable& table, std::size_t from, std::size_t to, Ledger& ledger) const;
    void forget_from(std::size_t place);
    bool reads_any_of(const Step& step, const std::set<std::string>& names) const;

    const Plan* plan_;
    Ledger given_;
    StepTable table_;            ///< each computation wrapped, to detect replaced ones
    std::vector<bool> applies_;  ///< per step: the walk has it
    std::vector<bool> kept_;     ///< per step: only other code keeps it
    Chains chains_ = chains_of(table_);
    std::set<std::string>
        replaced_steps_;              ///< steps that a mistake replaced: they may read any tensor
    Ledger known_;                    ///< the tensors computed so far
    std::size_t computed_up_to_ = 0;  ///< the steps before this place are computed
};

/// The first samples of a walk, as a walk of its own.
struct FirstSamples {
    Plan plan;
    Ledger given;
};

/// Returns nullopt if the settings do not fit fewer samples.
std::optional<FirstSamples> first_samples(const Plan& plan, const Ledger& given,
                                          std::size_t samples);

}  // namespace attn
