#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "attn/core/walk/step.hpp"
#include "attn/explain/bounds/radius.hpp"

namespace attn {

/// The exact cells of a step, and how far right code can be from each.
struct Ball {
    Tensor middle;  ///< float64
    Tensor radius;  ///< float64, the same axes; infinite where the type has no such number
};

/// Works out what rounding allows of each step, by its own rule (attn/explain/bounds/radius.hpp).
class Bounds {
public:
    /// `used` are the tensors that code has used: they count as they are. What it lacks is a ball
    /// that is worked out of what it has, and so are the parts of softmax, which libraries keep to
    /// themselves. Code of 16 bits may have rounded what it used once more, and the weights in
    /// particular. All must outlive this. `radii` of some of them say how far each number may be
    /// from the one that code has used: printed numbers are cut off.
    Bounds(const Plan& plan, const StepTable& table, const Ledger& used, const Rounding& rounding,
           Ledger radii = {})
        : plan_(plan), table_(table), used_(used), rounding_(rounding), radii_(std::move(radii)) {}

    /// The ball of a step, of the tensors that its rule reads; nothing for a step without a rule,
    /// of no floating type, or without what it reads.
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

/// How a tensor lies to its ball.
struct WithinBall {
    double difference = 0;   ///< the largest
    double allowed = 0;      ///< at that cell
    std::size_t beyond = 0;  ///< cells that are further off than their radius
    std::size_t first = 0;   ///< of these, in row-major order
    double first_difference = 0, first_allowed = 0;
    std::string way{};  ///< to run the step, where not the usual one: `sums in 16 bits`

    /// `rounding explains it: largest 3e-08 of at most 9e-08`, or that it does not and where.
    std::string text(const Shape& shape) const;
};

/// Compares cell by cell. Equal infinities and two nan differ by 0.
///
/// Shapes  both the same.
WithinBall within(const Tensor& tensor, const Ball& ball);

/// What the numbers of a tensor are of those they should be, and the standard error of that.
/// Rounding scatters, a mistake does not: 1.02 +- 0.0001 is none.
struct Slope {
    double factor = 1, error = 0;
    bool is_all = false;  ///< with that factor every cell is within its ball
    /// The part of a number that is lost when it is stored; 0 if the factor is 1 without it.
    double lost = 0;

    /// Whether rounding explains it: so many standard errors, or a unit, by which a constant that
    /// was rounded may be off in every cell; less where the numbers themselves lose nothing:
    /// weights that should be 1.
    bool is_one(const Rounding& rounding, double deviations = 5) const;
    /// `every number is 1.020 times what it should be, +- 0.0001`
    std::string text() const;
};

/// Least squares over the cells, each weighed by its radius; nothing where there are too few.
///
/// Shapes  both the same.
std::optional<Slope> slope_of(const Tensor& tensor, const Ball& ball, const Rounding& rounding);

}  // namespace attn
