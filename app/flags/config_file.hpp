#pragma once
#include <string>
#include <vector>

#include "app/flags/flag.hpp"

namespace app {

/// --config and --save-config, for every command that computes a walk.
const std::vector<Flag>& config_flags();

/// Adds settings below the typed flags, which override them and their alternatives, such as another
/// source of x. `implied` ones are neither printed nor saved.
void set_default_settings(Arguments& typed, Arguments base, bool implied = false);

/// The typed flags, over the settings of the file that --config names, if there is one.
///
/// Errors  InputError naming the file, and the line of a setting that no flag has, that its flag
///         refuses, or that a record lacks.
Arguments with_config(Arguments typed);

/// The given flags, typed or from a file: `{"heads": "2"}`, or with a setting in each
/// line.
std::string settings_json(const Arguments& arguments, std::string_view line = "\n  ");

/// The flags in such a text that were not typed; those that belong to the command line alone are
/// left out of a record that the program wrote itself, and refused elsewhere.
///
/// Errors  InputError as with_config; `label` is the file's name.
Arguments settings_in(std::string_view json, const std::string& label, const Arguments& typed,
                      bool is_record = false);

/// Writes settings_json to the file that --save-config names, if there is one.
void save_config(const Arguments& arguments);

/// The families of models for --preset, the oldest first.
std::vector<std::string> preset_names();

/// Returns the typed flags, with those of the --preset family below them.
Arguments with_preset(Arguments typed);

/// Writes a few lines for each family: name, properties of its attention, and its flags.
void write_presets(const Arguments& arguments);

/// Returns the settings of a probe's walk for the comment of its archive; empty for the standard
/// probe, which needs none, and for settings that are too long.
std::string probe_settings(const Arguments& arguments);

/// Returns the typed flags over the settings of the --given probe, if it is one.
///
/// Errors  InputError naming the file.
Arguments with_probe_settings(Arguments typed);

}  // namespace app
