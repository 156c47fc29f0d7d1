#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/ground/tensor/tolerance.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// The distance of two tensors of the same shape. Two nan are equal, and so are equal infinities.
struct Distance {
    double absolute = 0;     ///< largest |a - b|; infinite if only one of them is finite
    double relative = 0;     ///< largest |a - b| / |b| over the cells with b other than 0
    std::uint64_t ulp = 0;   ///< most representable numbers between a and b, in the coarser type
    std::size_t beyond = 0;  ///< cells farther apart than the tolerance
    std::optional<std::size_t> first;  ///< the first of these, as a flat index
    std::set<std::size_t> rows;        ///< indices of these along the last axis but one
    std::size_t worst = 0;             ///< the cell with the largest absolute difference

    bool within() const { return beyond == 0; }
};

/// Computes the distance; `bound`, if given, replaces the tolerance with one bound per cell.
///
/// Errors  ShapeError if the shapes differ.
Distance distance(const Tensor& a, const Tensor& b, const Tolerance& tolerance,
                  const Tensor* bound = nullptr);

/// Returns the largest finite absolute value, ignoring stand-ins for minus infinity.
double usual_size(const Tensor& tensor);

/// Returns the less precise of the two tensors' types.
DType coarser_type(const Tensor& a, const Tensor& b);

/// One step of two walks side by side.
struct StepComparison {
    std::string name;
    Shape left;
    Shape right;
    Distance distance;              ///< empty if the shapes differ
    Tolerance tolerance;            ///< or the largest rounding bound
    bool is_bounded = false;        ///< each cell has a bound of its own
    std::vector<std::size_t> cell;  ///< indices of the first cell that differs
    double left_value = 0;
    double right_value = 0;

    /// Returns the number of decimals of a bounded step that rounding cannot change.
    int decimals() const;
    bool same_shape() const { return left == right; }
    bool equal() const { return same_shape() && distance.within(); }
};

/// The comparison of two walks, step by step.
struct Comparison {
    std::vector<StepComparison> steps;
    std::vector<std::string> only_left;
    std::vector<std::string> only_right;
    /// The step that only one walk has, if that explains the first difference.
    std::string missing;
    std::string missing_title;  ///< the title of that step

    /// The first step that differs, or nullptr.
    const StepComparison* first() const;
    bool equal() const { return first() == nullptr && !steps.empty(); }
};

/// Compares every step that both ledgers have, in the order of the left one. Without a tolerance it
/// allows differences that rounding explains, by the rules of the steps and the shared tensors.
Comparison compare(const Plan& plan, const StepTable& table, const Ledger& left,
                   const Ledger& right, std::optional<Tolerance> tolerance = {});

/// Formats the comparison as a table for people, and as JSON.
std::string comparison_text(const Comparison& comparison, const Ink& ink = {});
std::string comparison_json(const Comparison& comparison);

}  // namespace attn
