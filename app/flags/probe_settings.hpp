#pragma once
#include <string>

#include "app/flags/flag.hpp"

namespace app {

/// The settings of the walk that a probe is made for, as the comment of its archive holds them;
/// empty for the plain probe, which needs none, and for settings that are too long.
std::string probe_settings(const Arguments& arguments);

/// What was typed, over the settings that the probe of --given holds, if it is one.
///
/// Errors  InputError naming the file.
Arguments with_probe_settings(Arguments typed);

}  // namespace app
