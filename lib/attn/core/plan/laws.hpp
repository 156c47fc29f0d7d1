#pragma once
#include <optional>
#include <string>

namespace attn {

struct Plan;

/// A fact in data/laws: its name and its sentence.
struct Law {
    std::string name, title;
    std::string text() const { return title + " (attn-explain laws " + name + ")"; }
};

/// Returns the law that explains a step of a walk, or a mistake by its id or the part before `=`.
/// The line `explains` of a law lists both, in parts that may have conditions:
///
///     explains  row_sum weights when softmax over keys, not sink; scale-after-softmax
///
/// Returns the last law that applies, since later laws are more specific; nullopt if there is none.
std::optional<Law> law_for(const std::string& name, const Plan& plan);
/// Finds the law without a walk: ignores parts with conditions.
std::optional<Law> law_for(const std::string& name);

}  // namespace attn
