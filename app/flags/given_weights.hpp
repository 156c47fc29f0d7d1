#pragma once
#include "app/flags/walk_flags.hpp"

namespace app {

/// Reads the parameters that --weights names into the configuration, which must have its sources
/// and its model already, and sets what they tell of the model and no flag has said. Says on
/// standard error which parameters are drawn instead, and which names were not used.
///
/// Errors  ConfigError for flags that contradict the file; InputError for the file.
void set_given_weights(const WalkFlags& flags, attn::WalkConfig& config);

}  // namespace app
