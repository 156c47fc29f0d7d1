#pragma once
#include "attn/judge/diagnose/search.hpp"

namespace attn {

/// The tensors of a reading that have been judged so far, and a replay of the walk from these.
class Examination {
protected:
    Examination(const Case& about, const std::vector<TheirTensor>& theirs);

    /// The tensors that come after the one that is looked at.
    std::span<const TheirTensor> later() const {
        return std::span<const TheirTensor>(*theirs_).subspan(next_);
    }
    /// Whether one of these holds none of the right numbers.
    bool later_is_wrong() const;
    bool has_row(const std::string& step) const;
    /// True if no tensor before this one differs, and this one has all its digits.
    bool all_is_right_so_far(const TheirTensor& theirs) const;

    /// The verdict on a tensor as it was read. `local` is its answer beside the tensors before it,
    /// if that is known; else it becomes that answer. What `is_right` follows from right tensors.
    StepVerdict verdict_on(const TheirTensor& theirs, const std::string& step,
                           const Reading& reading, std::optional<Judged>& local,
                           bool is_right = false);
    StepVerdict verdict_on(const TheirTensor& theirs, const std::string& step,
                           const Reading& reading) {
        std::optional<Judged> local;
        return verdict_on(theirs, step, reading, local);
    }
    /// Enters the verdict, and lets what follows be replayed from the tensor.
    void settle(const TheirTensor& theirs, const std::string& step, const Reading& reading,
                std::optional<Judged> local = {}, bool is_right = false);
    /// Enters what was found, and makes the mistake in all that follows.
    void enter(const TheirTensor& theirs, const std::string& step, Match match);
    void enter_mask(const TheirTensor& theirs);

    const Case& case_;
    Diagnosis diagnosis_;
    Judge judge_;
    Replay replay_;
    std::shared_ptr<const std::vector<TheirTensor>> theirs_;
    std::size_t next_ = 0;  ///< the first tensor that has not been looked at
    int clashes_ = 0;       ///< wrong tensors that are read as a step that another one is
    bool uses_theirs_ = false;
    bool results_are_wrong_ = false;
    bool undone_ = true;    ///< what is right follows from theirs before it, wrong or not
    bool blocked_ = false;  ///< something of theirs could not be replayed, so what follows cannot

private:
    void take(const std::string& step, const Tensor& tensor);
    void make(const Mistake& mistake);
};

}  // namespace attn
