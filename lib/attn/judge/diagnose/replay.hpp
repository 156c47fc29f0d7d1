#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/judge/diagnose/their_tensors.hpp"

namespace attn {

/// The steps of a walk, computed one at a time from tensors that may be somebody else's, as they
/// should be or with mistakes made. Only what a step needs is computed, and what a mistake does not
/// reach is computed once.
class Replay {
public:
    /// `given` is what the walk starts from; `plan` must outlive the replay.
    Replay(const Plan& plan, Ledger given);

    /// From now on `step` is this tensor, whatever the table would compute.
    /// Shapes  those that the table's own tensor has, and its type.
    void take(const std::string& step, Tensor tensor);

    /// Whether a step was taken, or is one that the walk starts from.
    bool is_given(const std::string& step) const { return given_.has(step); }

    const Ledger& given() const { return given_; }

    /// From now on the mistake is made.
    void make(const Mistake& mistake);

    /// The tensor of a step, nothing where this walk has none or the shapes before it do not fit.
    const Tensor* step(const std::string& name);

    /// The same with these mistakes made as well; nothing where they cannot reach the step, or
    /// leave it no shape to compute with.
    std::optional<Tensor> step_with(const std::vector<const Mistake*>& made,
                                    const std::string& name);

private:
    void run(const StepTable& table, std::size_t from, std::size_t to, Ledger& ledger) const;
    void forget_from(std::size_t place);
    bool reads_any_of(const Step& step, const std::set<std::string>& names) const;

    const Plan* plan_;
    Ledger given_;
    StepTable table_;            ///< each computation marked, so that one that is replaced shows
    std::vector<bool> applies_;  ///< of each step, to this walk
    std::vector<bool> kept_;     ///< of each step, by other code alone
    Chains chains_ = chains_of(table_);
    std::set<std::string> altered_;  ///< steps that a mistake replaced: they may read anything
    Ledger known_;                   ///< what has been computed
    std::size_t upto_ = 0;           ///< the steps before this place are known
};

/// The first samples and tokens of a walk, as a walk of their own.
struct Prefix {
    Plan plan;
    Ledger given;

    /// A tensor of the whole walk as far as `like`, one of this walk, goes.
    static Tensor of(const Tensor& whole, const Shape& like);
};

/// Nothing where a walk cannot be cut so: with memory, a past or documents only its samples can.
std::optional<Prefix> prefix_of(const Plan& plan, const Ledger& given, std::size_t samples,
                                std::size_t tokens);

}  // namespace attn
