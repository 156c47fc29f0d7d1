#pragma once
#include <string>
#include <utility>
#include <vector>

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

/// The scripts of a live page beside its walk, by their ids: its core; as JSON the flags that it can
/// turn and the words of all others; of a model the file, and what it writes next.
std::vector<std::pair<std::string, std::string>> live_scripts(const Arguments& arguments);

}  // namespace app
