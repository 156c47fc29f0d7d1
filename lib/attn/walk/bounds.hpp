#pragma once
#include <map>
#include <optional>
#include <string>

#include "attn/rules/radius.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// The exact cells of a step, and how far right code can be from each.
struct Ball {
    Tensor middle;  ///< float64
    Tensor radius;  ///< float64, the same axes; infinite where the type has no such number
};

/// Works out what rounding allows of each step, by its own rule (attn/rules/radius.hpp).
class Bounds {
public:
    /// `used` are the tensors that code has used: they count as they are. What it lacks is a ball
    /// that is worked out of what it has, and so are the parts of softmax, which libraries keep to
    /// themselves. All must outlive this.
    Bounds(const Plan& plan, const StepTable& table, const Ledger& used)
        : plan_(plan), table_(table), used_(used) {}

    /// The ball of a step whose numbers are stored in that type, of the tensors that its rule
    /// reads; nothing for a step without a rule, of no floating type, or without what it reads.
    std::optional<Ball> of(const std::string& step, DType dtype);

private:
    const Tensor* exact(const std::string& name);
    const Ball* known(const std::string& name, DType dtype);

    const Plan& plan_;
    const StepTable& table_;
    const Ledger& used_;
    std::map<std::string, std::optional<Ball>> known_;
};

/// How a tensor stands to its ball.
struct WithinBall {
    double difference = 0;   ///< the largest
    double allowed = 0;      ///< at that cell
    std::size_t beyond = 0;  ///< cells that are further off than their radius
    std::size_t first = 0;   ///< of these, in row-major order
    double first_difference = 0, first_allowed = 0;
};

/// Compares cell by cell. Equal infinities and two nan differ by 0.
///
/// Shapes  both the same.
WithinBall within(const Tensor& tensor, const Ball& ball);

}  // namespace attn
