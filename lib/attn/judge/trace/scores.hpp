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
    std::string step;  ///< `scores`, `scaled_scores`, ..., `weights`
    std::size_t place;
    Arranged numbers;
};

/// Settings that the numbers of a step give away.
struct ScoreChanges {
    double factor = 1;              ///< by which the scores were multiplied in all
    double softcap = 0;             ///< the bound of the scores; 0 if they have none
    std::optional<Arranged> added;  ///< a bias, cell by cell
    /// Places of steps that come in another order than in the walk.
    std::vector<std::pair<std::size_t, std::string>> beside{};
};

/// What a program does to its scores, by the numbers: a factor scales them, cells that become -inf
/// or one and the same number are hidden, tanh bounds them, exp of them comes before the weights;
/// else something was added. `axes` are those of scores in our order.
///
/// Returns  the steps in the order of time, the weights last.
std::vector<ScoreStep> steps_of_scores(const std::vector<Traced>& trace, const Core& core,
                                       const std::vector<int>& axes, ScoreChanges& changes);

/// The cells that are hidden: masked scores far below all others, or weights of 0.
std::optional<Arranged> hidden_cells(const std::vector<ScoreStep>& steps);

/// An earlier form of a tensor.
struct Before {
    std::size_t place = 0;
    double factor = 1;
    std::optional<Pairing> pairing{};
    std::size_t rotated = 0;  ///< features, of all or of the first half
    std::vector<int> axes{};  ///< in our order, if they are not those of the later form
};

/// The tensor that was multiplied by one number less than 1 to give this one, in any order of axes.
std::optional<Before> scaled_before(const std::vector<Traced>& trace, std::size_t place);
/// The tensor whose pairs of features were rotated to give this one: each pair keeps its length,
/// and the features are the last axis.
std::optional<Before> rotated_before(const std::vector<Traced>& trace, const Operand& operand);

}  // namespace attn
