#pragma once
#include "attn/judge/diagnose/search.hpp"

namespace attn {

/// The tensors of a reading that have been judged so far, and a replay of the walk from them.
class Examination {
protected:
    Examination(const Case& about, const std::vector<UserTensor>& actual);

    /// The tensors after the current one.
    std::span<const UserTensor> later() const {
        return std::span<const UserTensor>(*actual_).subspan(next_);
    }
    /// True if one of them is not right.
    bool later_is_wrong() const;
    bool has_row(const std::string& step) const;
    /// True if no earlier tensor differs and this one has all its digits.
    bool all_is_right_so_far(const UserTensor& actual) const;

    /// Judges a tensor as it was read. `local` is the comparison with its replay if known; else it
    /// is set to that. `is_right` is set if the tensor follows from right ones.
    StepVerdict verdict_on(const UserTensor& actual, const std::string& step,
                           const Reading& reading, std::optional<Judged>& local,
                           bool is_right = false);
    StepVerdict verdict_on(const UserTensor& actual, const std::string& step,
                           const Reading& reading) {
        std::optional<Judged> local;
        return verdict_on(actual, step, reading, local);
    }
    /// Records the verdict, and replays later steps from the tensor.
    void settle(const UserTensor& actual, const std::string& step, const Reading& reading,
                std::optional<Judged> local = {}, bool is_right = false);
    /// Records the finding, and makes its mistake in all later steps.
    void enter(const UserTensor& actual, const std::string& step, Match match);
    void enter_mask(const UserTensor& actual);

    const Case& case_;
    Diagnosis diagnosis_;
    Judge judge_;
    Replay replay_;
    std::shared_ptr<const std::vector<UserTensor>> actual_;
    std::size_t next_ = 0;  ///< index of the first tensor that has not been judged
    int conflicts_ =
        0;  ///< tensors read as a step that another tensor is read as, one of them wrong
    bool uses_user_tensor_ = false;
    bool results_are_wrong_ = false;
    bool follows_user_ = true;  ///< right tensors follow from the user's earlier ones, wrong or not
    /// Code in another order, or in 16 bits, rarely has a larger excess: see Judge::excess.
    static constexpr double unusual_excess = 8;

    double excess_ = 0;     ///< of the tensor that is examined: see Judge::excess
    bool blocked_ = false;  ///< a tensor could not be replayed from: later ones are not compared

private:
    void take(const std::string& step, const Tensor& tensor);
};

}  // namespace attn
