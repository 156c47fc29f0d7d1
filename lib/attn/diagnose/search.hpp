#pragma once
#include <cmath>
#include <span>

#include "attn/diagnose/screen.hpp"
#include "attn/diagnose/their_tensors.hpp"

namespace attn {

/// What was found at a step, and how the tensor was read to find it.
struct Match {
    Finding finding;
    Reading reading;
};

/// The answer of a search: a match, or why there is none.
struct Found {
    std::optional<Match> match;
    Finding unexplained{};
    std::vector<const Mistake*> left_nan{};  ///< gave nan, which a finite fill would not
};

/// What can show in a walk.
struct Candidates {
    std::vector<const Mistake*> mistakes;
    std::vector<const Mistake*> harmless;
    std::function<bool(const Mistake&)> refuted{};  ///< something is right that would not be

    explicit Candidates(const Plan& plan);
};

/// Looks for the mistake that makes one of somebody's tensors.
class Search {
public:
    /// What is passed must outlive the search.
    Search(const Plan& plan, Candidates candidates, const Judge& judge, Replay& replay,
           std::span<Screen> screens, const DiagnoseOptions& options, const TheirTensor& theirs,
           std::string step, bool uses_theirs);

    /// The mistake that matches; of several, the one that also explains the most of `later`, the
    /// tensors that come afterwards.
    Found best(std::span<const TheirTensor> later);

    /// What takes long, where `quick` is what `best` found: nothing. A mistake on top of a harmless
    /// difference, two mistakes, what the numbers say by themselves.
    Found thorough(const Found& quick, std::span<const TheirTensor> later) const;

private:
    struct Candidate {
        const Mistake* mistake;
        Reading reading;
        double difference;
        std::size_t explains = 0;  ///< so many later tensors
        bool refuted = false;      ///< by what is right before
    };
    struct Tried {
        std::vector<Candidate> matches;
        std::vector<const Mistake*> left_nan;  ///< gave nan, which a finite fill would not
        const Mistake* runner_up = nullptr;
        double runner_up_difference = HUGE_VAL;
        std::optional<Tolerance> tolerance{};  ///< where a part is judged
        std::vector<Reading> readings{};       ///< of the tensor, in each way to read it
    };

    bool is_ruled_out(const TheirTensor& theirs, const std::vector<const Mistake*>& made,
                      Tried& tried) const;
    void try_one(const TheirTensor& theirs, const std::vector<const Mistake*>& made,
                 Tried& tried) const;
    void report(double done) const;
    bool is_possible(const Mistake& harmless) const;
    Tried try_each(const TheirTensor& theirs) const;
    Match chosen(Tried tried, std::span<const TheirTensor> later) const;
    Match match_of(const Mistake& mistake, Reading reading, double difference) const;
    std::optional<Match> dropout() const;
    std::optional<Match> otherwise_filled(std::span<const TheirTensor> later) const;
    std::optional<Match> far_below(const Reading& reading, std::span<const TheirTensor> later,
                                   bool thorough) const;
    std::optional<Match> one_fill(const Reading& reading) const;
    std::optional<Match> beside_harmless(const std::vector<const Mistake*>& left_nan,
                                         std::span<const TheirTensor> later) const;
    std::optional<Match> pairs() const;
    std::optional<Match> numbered() const;
    double read_off(const NumberedEntry& family, double start, Replay& replay,
                    const Tensor& theirs) const;
    /// What hidden cells hold: one number, or their scores plus one number; nullptr otherwise.
    const Mistake* name_of_fill(const Tensor& theirs, const std::vector<bool>& hidden,
                                bool harmless) const;
    bool gives_same_weights(const Tensor& tensor) const;
    /// Whether all that differs stands in rows of padded queries, which nobody reads.
    bool is_right_where_read(const Tensor& tensor) const;
    std::optional<Match> in_padded_rows() const;
    std::optional<Match> match_among(const Tried& singles,
                                     std::span<const TheirTensor> later) const;
    std::vector<Reading> ways(const TheirTensor& theirs, const Tensor& like) const;

    const Plan& plan_;
    const Candidates candidates_;
    const Judge& judge_;
    Replay& replay_;
    std::span<Screen> screens_;  ///< none where a walk is short
    const DiagnoseOptions& options_;
    const TheirTensor& theirs_;
    std::string step_;
    bool uses_theirs_;
    Tensor expected_;
};

/// What a mask of somebody's is.
struct MaskAnswer {
    bool right = false;
    std::string layout;
    std::optional<Finding> finding;
    std::optional<Tensor> hidden;  ///< the cells it hides, where nothing explains them
};

/// What a mask is that is read in any of its ways; see mask_readings.
MaskAnswer answer_of_mask(const Plan& plan, const Judge& judge, const Replay& replay,
                          const TheirTensor& theirs, std::span<const TheirTensor> later);

/// How many of `later` a replay explains, one after the other, before the first that it does not.
std::size_t explained_by(Replay replay, const Judge& judge, std::span<const TheirTensor> later);

}  // namespace attn
