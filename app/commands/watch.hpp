#pragma once
#include <functional>
#include <memory>

#include "app/flags/flag.hpp"
#include "attn/document/document.hpp"

namespace app {

/// A walk by the flags as they are now, told from the one before; gives the walk that it printed.
using WalkOnce = std::function<std::shared_ptr<const attn::Document>(
    const Arguments& arguments, std::shared_ptr<const attn::Document> before)>;

/// Walks, and again whenever a file that the flags name changes, until an interrupt ends the
/// program. What is wrong with a file is said, and waited for.
///
/// Errors  ConfigError where the flags name no file; those of the first walk.
[[noreturn]] void watch(const Arguments& arguments, const WalkOnce& walk_once);

}  // namespace app
