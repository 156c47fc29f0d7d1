#pragma once

/// Costs of a hypothesis about the user's tensors. The hypothesis with the smallest sum wins; one
/// that cannot cost less than the best so far is not tried.
namespace attn::cost {

inline constexpr double later_name = 0.05;  ///< a less likely step among those that a name may mean
inline constexpr double setting = 1;        ///< a setting that the user has not chosen
inline constexpr double harmless = 1;       ///< a difference that leaves the results correct
inline constexpr double aside = 2;          ///< a tensor that no step is replayed from
inline constexpr double fitted = 0.5;       ///< a mistake's number, fitted to a tensor
inline constexpr double misread = 3;        ///< a less likely step that the name does not mean
inline constexpr double right = 8;          ///< lower bound for a hypothesis with a mistake
inline constexpr double mistake = 10;       ///< a mistake of the catalogue
inline constexpr double rare_setting = 12;  ///< a setting that few walks have
inline constexpr double foreign = 12;       ///< a step that the name does not mean
inline constexpr double named = 18;         ///< lower bound for two mistakes
inline constexpr double few_digits = 22;    ///< a type with fewer digits
inline constexpr double mutation = 25;      ///< the right rule with one change
inline constexpr double unjudged = 40;      ///< a tensor without a verdict
inline constexpr double clash = 50;         ///< two wrong tensors read as the same step
inline constexpr double misread_form = 60;  ///< another form of a step that the name does not mean
inline constexpr double stray = 90;         ///< a tensor left out that matches a step by shape only
inline constexpr double slip = 95;          ///< an unknown difference in few cells
inline constexpr double unknown = 100;      ///< a difference that nothing explains
inline constexpr double left_out = 120;     ///< a tensor left out although its name is known

}  // namespace attn::cost
