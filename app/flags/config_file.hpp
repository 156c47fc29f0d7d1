#pragma once
#include "app/flags/flag.hpp"

namespace app {

/// --config and --save-config, for every command that walks.
const std::vector<Flag>& config_flags();

/// Puts settings under what was typed, which puts aside their alternatives: another source of x,
/// and what was said of theirs. `implied` ones are neither printed nor saved.
void put_settings_under(Arguments& typed, Arguments base, bool implied = false);

/// What was typed, over the settings of the file that --config names, if there is one.
///
/// Errors  InputError naming the file, and the line of a setting that no flag has, that its flag
///         refuses, or that a record does not hold.
Arguments with_config(Arguments typed);

/// What was said, typed or from a file: `{"heads": "2"}`.
std::string settings_json(const Arguments& arguments);

/// What such a text says by flags that were not typed.
///
/// Errors  InputError as with_config; `label` is the file's name.
Arguments settings_in(std::string_view json, const std::string& label, const Arguments& typed);

/// Writes settings_json to the file that --save-config names, if there is one.
void save_config(const Arguments& arguments);

}  // namespace app
