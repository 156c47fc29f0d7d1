#pragma once
#include <string>

#include "app/flags/flag.hpp"

namespace app {

/// The flag of live pages.
Flag live_flag();

/// Whether the page of these flags shall be live.
bool is_live(const Arguments& arguments);

/// The walk of a live page: by loops, whose digits its core gives too, unless another way is said.
///
/// Errors  ConfigError for flags whose walk a page cannot make: of a file, a model, or two walks.
Arguments as_live(const Arguments& arguments);

/// As JSON the flags that the page can turn, and the words of all others.
std::string knobs_json(const Arguments& arguments);

}  // namespace app
