#pragma once

/// The costs of a hypothesis about the user's tensors. The smallest sum wins, and what cannot cost
/// less than the best that is known is not tried.
namespace attn::cost {

inline constexpr double later_name = 0.05;  ///< a less likely step of those that a name stands for
inline constexpr double setting = 1;        ///< a setting that the user has not chosen
inline constexpr double harmless = 1;       ///< a difference that leaves the results right
inline constexpr double aside = 2;          ///< a tensor from which nothing is replayed
inline constexpr double fitted = 0.5;       ///< a number of a mistake that is fitted to a tensor
inline constexpr double right = 8;          ///< a bound: less than any mistake costs
inline constexpr double mistake = 10;       ///< one of the catalogue
inline constexpr double rare_setting = 12;  ///< one that few walks have
inline constexpr double foreign = 12;       ///< a step that the name does not stand for
inline constexpr double named = 18;         ///< a bound: less than two mistakes cost
inline constexpr double few_digits = 22;    ///< numbers of a type with fewer digits
inline constexpr double mutation = 25;      ///< the right rule with one thing wrong
inline constexpr double unjudged = 40;      ///< a tensor without a verdict
inline constexpr double clash = 50;         ///< a step that two wrong tensors claim
inline constexpr double stray = 90;         ///< a tensor left out that its shape alone allows
inline constexpr double unknown = 100;      ///< a difference without a name
inline constexpr double left_out = 120;     ///< a tensor left out though its name is known

}  // namespace attn::cost
