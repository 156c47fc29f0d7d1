#pragma once
#include "attn/cards/cards.hpp"

namespace attn {

/// A step that divides every row by its root mean square and multiplies it by a gain.
struct RmsStep {
    std::string name, title;
    Input before;  ///< what it normalises
    std::string gain;
    double eps;
    std::string why_here;  ///< a sentence for the note
    std::function<bool(const Plan&)> applies;
    std::function<Outline(const Plan&)> outline;
    Chain chain = Chain::none;     ///< that it extends
    std::string tokens = "query";  ///< whose positions a token axis counts
};

/// The parameter and the step.
Step rms_gain_card(const RmsStep& rms);
Step rms_card(const RmsStep& rms);

}  // namespace attn
