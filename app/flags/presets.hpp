#pragma once
#include <string>
#include <vector>

#include "app/flags/flag.hpp"

namespace app {

/// A family of models: the flags that make a small walk as its attention does.
struct Preset {
    std::string name;
    std::string what;   ///< what its attention has, in a few words
    std::string flags;  ///< as they are typed
};

/// The families, the oldest first.
const std::vector<Preset>& presets();
std::vector<std::string> preset_names();

/// The flags of a family, one word each. What is typed beside --preset takes their place.
///
/// Errors  ConfigError for a name that no family has.
std::vector<std::string> preset_words(const std::string& name);

/// What is typed, with the flags of the family that --preset names under it.
Arguments with_preset(Arguments typed);

/// A few lines for each family: name, what its attention has, and its flags.
std::string list_of_presets();
std::string json_of_presets();

}  // namespace app
