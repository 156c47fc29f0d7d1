#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/core/steps/rotary.hpp"
#include "attn/judge/trace/cores.hpp"
#include "attn/judge/trace/roles.hpp"

namespace attn {

/// A step between the scores and the weights, in our order of axes.
struct ScoreStep {
    std::string step;  ///< `scores`, `scaled_scores`, ..., `weights`, `dropped_weights`
    std::size_t place;
    Arranged numbers;
};

/// Settings that the numbers of a step reveal.
struct ScoreChanges {
    double factor = 1;              ///< the total factor of the scores
    double softcap = 0;             ///< 0 if they have none
    double dropout = 0;             ///< the share of weights that were dropped; 0 for no dropout
    std::optional<Arranged> added;  ///< a bias, cell by cell
    std::optional<Arranged> sink;   ///< the logit beside the scores of each query
    std::optional<std::size_t> scaled_at{};  ///< the place of a query or key that was scaled
    /// Places that hide cells, and whether they hide them from all queries alike.
    std::vector<std::pair<std::size_t, bool>> masks{};
    std::optional<std::size_t> unexplained;  ///< a tensor of scores that no step explains
    /// Places of steps that have another order than in the walk.
    std::vector<std::pair<std::size_t, std::string>> beside{};
};

/// Identifies the operations on scores by the numbers: a factor scales them, cells that become -inf
/// or the same number are hidden, tanh bounds them, exp comes before the weights; otherwise a bias
/// was added. `axes` are those of scores in our order.
///
/// Returns  the steps in order of time, the weights last, as they were before and after dropout.
std::vector<ScoreStep> steps_of_scores(const Trace& trace, const Core& core,
                                       const std::vector<int>& axes, ScoreChanges& changes);

/// The logits of a sink, by the axes of scores in our order, with one in place of the keys; nullopt
/// if the softmax has none.
std::optional<Arranged> sink_of(const Trace& trace, const Core& core, const std::vector<int>& axes);

/// True if all queries have the same cells, by (..., query, key).
bool is_by_key(const Arranged& cells);

/// Returns the hidden cells: masked scores far below all others, or weights of 0.
std::optional<Arranged> hidden_cells(const std::vector<ScoreStep>& steps);

/// An earlier form of a tensor.
struct Before {
    std::size_t place = 0;
    double factor = 1;
    std::optional<Pairing> pairing{};
    std::size_t rotated = 0;  ///< features, of all or of the first half
    std::vector<int> axes{};  ///< in our order, if they are not those of the later form
};

/// Finds the tensor that was multiplied by a number less than 1 to give this one, in any order of
/// axes.
std::optional<Before> scaled_before(const Trace& trace, std::size_t place);
/// Finds the tensor whose pairs of features were rotated to give this one: each pair keeps its
/// length, and the features are the last axis.
std::optional<Before> rotated_before(const Trace& trace, const Operand& operand);

}  // namespace attn
