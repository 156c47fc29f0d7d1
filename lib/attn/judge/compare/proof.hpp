#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/judge/compare/exact_number.hpp"

namespace attn {

/// Evaluates the steps of a walk exactly, by their rules, at a random point: inputs and parameters
/// are random elements, and all other numbers follow from them (exact_number.hpp).
class ExactWalk {
public:
    /// The tensors of `given` are random elements. `computed` is the same walk in floating point:
    /// integers and booleans that no rule computes, such as ids and masks, are read from it. All
    /// must outlive this.
    ExactWalk(const Plan& plan, const StepTable& table, const Ledger& given,
              const Ledger& computed);
    ~ExactWalk();

    /// Returns the cells of a step, in row-major order.
    ///
    /// Errors  Undecided if a rule compares numbers to choose an index, or if the walk is too
    ///         large; ConfigError like the rules.
    const std::vector<ExactNumber>& cells_of(const std::string& step);
    Shape shape_of(const std::string& step) const { return walked_[step].shape(); }
    /// Uses equal cells of another walk, so that later steps read exactly the same numbers.
    void take(const std::string& step, const std::vector<ExactNumber>& cells);
    /// Returns a step's cells with random numbers in place of maxima and minima: if two draws
    /// agree, the step does not depend on them, as softmax does not depend on its shift.
    std::vector<ExactNumber> cells_without_extremes(const std::string& step,
                                                    std::uint64_t draw) const;

    /// A function that is undefined for some numbers, and the hash of its argument.
    using PartialCalls = std::set<std::pair<std::string, std::uint64_t>>;
    /// The conditions under which a proof about a step holds.
    struct Conditions {
        std::set<std::string> inputs{};  ///< integers and booleans, such as ids
        PartialCalls calls{};
    };
    /// Adds the conditions of a step and of all steps that it reads.
    void add_conditions(const std::string& step, std::set<std::string>& seen,
                        Conditions& all) const;

private:
    class ExactRule;
    struct ExactTensor;

    ExactTensor& tensor(const std::string& step);
    const ExactNumber& cell(ExactTensor& tensor, std::size_t place);
    /// Returns a number of a rule: pi and settings such as `1 / 3` are more than their digits.
    ExactNumber constant(double number);
    /// True if integers or booleans depend on numbers, such as the indices of the largest keys.
    /// Adds the inputs that they depend on.
    bool follows_from_numbers(const std::string& step, std::set<std::string>& inputs);

    const Plan& plan_;
    const StepTable& table_;
    const Ledger& given_;
    const Ledger& walked_;
    std::map<std::string, std::unique_ptr<ExactTensor>> tensors_;
    std::map<double, ExactNumber> constants_;
    std::size_t work_ = 0;
    std::uint64_t draw_ = 0;  ///< of numbers in place of extremes; 0: none
};

/// True if two formulas are the same function of all inputs and parameters of these shapes.
struct Proof {
    enum class Verdict { proved, refuted, undecided } verdict = Verdict::undecided;
    /// Why it is undecided: `sqrt is not simplified here`; or what limits a proof: `with the same
    /// ids`, `where log is defined`.
    std::string why{};
    /// The first cell that differs, if it is refuted, and the shape of its tensor.
    std::size_t cell = 0;
    Shape shape{};

    /// Returns ` with the same ids` after a proof; empty if it has no limits.
    std::string limits() const { return why.empty() ? "" : " " + why; }
};

/// Compares a step of two walks that start from the same tensors. If the cells are proved equal,
/// later steps of the other walk read those of the first.
///
/// Range  `refuted` only if all functions involved have an algebra, or have no effect; otherwise
///        `undecided`.
Proof prove_same(ExactWalk& one, ExactWalk& other, const std::string& step);

}  // namespace attn
