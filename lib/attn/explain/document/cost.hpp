#pragma once
#include <array>
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"
#include "attn/explain/document/size_polynomial.hpp"

namespace attn {

/// The cost of a step as polynomials in the sizes of the walk.
struct StepCost {
    /// Products of two numbers of tensors; divisions, exp, sqrt, powers and other functions of such
    /// numbers; numbers that the backward pass reads again; numbers that later tokens read again,
    /// after T tokens.
    enum Kind : std::size_t { products, functions, kept, cached };
    static constexpr std::array<const char*, 4> words{"products", "functions", "kept", "cached"};

    std::string step;
    std::array<SizePolynomial, 4> numbers{};

    const SizePolynomial& operator[](Kind kind) const { return numbers[kind]; }
};

/// The cost of all steps of a walk.
struct WalkCost {
    std::vector<StepCost> steps{};
    StepCost all{};
    std::string tokens{};  ///< the letter of the number of tokens
    Sizes sizes{};         ///< of this walk
};

/// Counts the operations of each step by its rule. An operation counts once for each combination of
/// the indices that it depends on, so an inner sum that several cells share counts once; an
/// expression that occurs several times, as in `softmax k: e`, counts once, too. A mask
/// does not halve the count: an `if` counts the side that costs more, for all cells, and a sum its
/// longest range. A `prod` of n numbers counts n products. Products with constants, comparisons and
/// indices do not count.
///
/// Letters: B sequences, H heads, G of keys if they are fewer, T tokens (Tq queries and Tk keys if
/// they differ), D features, Dv of values if they differ, C of x, and the settings of attention
/// files. They are found by planning walks of other sizes, in which T is a multiple of settings
/// that divide indices and not below any setting.
///
/// Errors  ConfigError if a range of a sum depends on numbers.
WalkCost cost_of(const Plan& plan, const StepTable& table);

/// Returns the products of a step at the sizes of this walk.
double products_of(const PlannedStep& of);

}  // namespace attn
