#pragma once
#include <optional>
#include <string>

namespace attn {

struct Plan;

/// A fact of data/laws: its name and the sentence that states it.
struct Law {
    std::string name, title;
    std::string text() const { return title + " (attn-explain laws " + name + ")"; }
};

/// Finds the law that explains a step of a walk, or a mistake by its id or by what comes before the
/// `=` of it. The line `explains` of a law lists both, in parts that may have conditions:
///
///     explains  row_sum weights when softmax over keys, not sink; scale-after-softmax
///
/// Returns the last law that applies, since later laws are more special; nullopt if there is none.
std::optional<Law> law_behind(const std::string& name, const Plan& plan);
/// The same without a walk: parts with conditions do not count.
std::optional<Law> law_behind(const std::string& name);

}  // namespace attn
