#pragma once
#include <string>
#include <vector>

#include "attn/judge/diagnose/other_settings.hpp"

namespace attn {

/// Settings other than those of the walk: another mask, another order of query, key and value in
/// one weight, another layout of a square one, another number of heads, a rotation, slopes or a
/// norm of x.
struct OtherSettings {
    WalkConfig config{};
    std::vector<std::string> lines{};  ///< of settings, one for each change
    std::string meant{};               ///< in words, what no setting expresses
    double guess_cost = 0;             ///< in addition to that of the lines

    OtherSettings with(const std::string& line) const;
    /// The settings as command-line options.
    std::string text() const;
    double cost() const;
    /// True if numbers that follow from these settings cannot follow by chance: a mask can hide
    /// whatever a mistake hides.
    bool are_certain() const;
    /// True if these settings are accepted only when nothing is wrong under them, because a search
    /// would take long.
    bool have_to_be_right() const {
        return cost() >= cost::rare_setting ||
               (lines.size() > 1 && !lines.front().starts_with("heads"));
    }
};

/// All combinations of settings that the user has not chosen, the cheapest first.
std::vector<OtherSettings> other_settings(const RequestedWalk& requested,
                                          const DiagnoseOptions& options);

}  // namespace attn
