#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "attn/core/walk/step.hpp"
#include "attn/explain/bounds/radius.hpp"

namespace attn {

/// The exact cells of a step, and the largest error of correct code for each.
struct Ball {
    Tensor middle;  ///< float64
    Tensor radius;  ///< float64, the same axes; infinite if the number is beyond the type's range
};

/// Computes the rounding error that each step may have, by its rule
/// (attn/explain/bounds/radius.hpp).
class Bounds {
public:
    /// `used` are the tensors that the code used; they count as exact. Balls of missing tensors,
    /// and of the parts of softmax, which libraries do not return, are computed from these. Code in
    /// 16 bits may have rounded a tensor, in particular the weights, once more before using it. All
    /// must outlive this. `radii` of some tensors give the largest distance of each number from the
    /// one that the code used: printed numbers have lost digits.
    Bounds(const Plan& plan, const StepTable& table, const Ledger& used, const Rounding& rounding,
           Ledger radii = {})
        : plan_(plan), table_(table), used_(used), rounding_(rounding), radii_(std::move(radii)) {}

    /// Returns the ball of a step, given the tensors that its rule reads; nullopt for a step
    /// without a rule, not of floating-point type, or with missing inputs.
    std::optional<Ball> of(const std::string& step);

private:
    const Tensor* exact(const std::string& name);
    const Ball* known(const std::string& name);
    std::optional<Ball> by_rule(const std::string& step);

    const Plan& plan_;
    const StepTable& table_;
    const Ledger& used_;
    const Rounding rounding_;
    const Ledger radii_;
    std::map<std::string, std::optional<Tensor>> exact_;
    std::map<std::string, std::optional<Ball>> known_, by_rule_;
};

/// The place of a tensor in its ball.
struct WithinBall {
    double difference = 0;   ///< the largest one
    double allowed = 0;      ///< at that cell
    std::size_t beyond = 0;  ///< number of cells off by more than their radius
    std::size_t first = 0;   ///< the first of them, in row-major order
    double first_difference = 0, first_allowed = 0;
    std::string way{};  ///< another way to compute the step: `sums in 16 bits`

    /// Returns `rounding explains it: largest 3e-08 of at most 9e-08`, or that it does not, and
    /// where.
    std::string text(const Shape& shape) const;
};

/// Compares cell by cell. Equal infinities and two nan have distance 0.
///
/// Shapes  both the same.
WithinBall within(const Tensor& tensor, const Ball& ball);

/// The ratio of a tensor's numbers to the expected ones, with its standard error. Rounding errors
/// scatter around 1, but mistakes do not: 1.02 +- 0.0001 is not rounding.
struct Slope {
    double factor = 1, error = 0;
    bool is_all = false;  ///< with that factor all cells are within their balls
    /// The relative error of storing a number; 0 if the factor is 1 without it.
    double lost = 0;

    /// True if rounding explains the factor: within `deviations` standard errors or, because a
    /// rounded constant may affect all cells, one unit; less if the numbers themselves are exact,
    /// such as weights that should be 1.
    bool is_one(const Rounding& rounding, double deviations = 5) const;
    /// `every number is 1.020 times what it should be, +- 0.0001`
    std::string text() const;
};

/// Fits the factor by least squares, weighted by the radii; nullopt for too few cells.
///
/// Shapes  both the same.
std::optional<Slope> slope_of(const Tensor& tensor, const Ball& ball, const Rounding& rounding);

}  // namespace attn
