#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/explain/document/document.hpp"

namespace app {

/// The flags of a walk that no other command has.
const std::vector<Flag>& walk_own_flags();

/// Sentences in front of a first walk: its input and sizes, what random numbers can tell, the
/// letters of formulas, and how to see less and more. Empty if a flag changes more than the input,
/// or anything on the way to a file or a pipe.
std::vector<attn::Prose> opening_of(const Arguments& arguments, const attn::Plan& plan);

/// The command line that is worth trying after a walk: what its mistake does, what lint would find,
/// or where one of its own numbers comes from.
std::string next_command(const Arguments& arguments, const attn::Plan& plan,
                         const attn::Ledger& ledger);

/// Reports that standard input is not read, if something was piped into a walk without a source.
void note_unread_input(const Arguments& arguments);

/// A walk by the flags as they are now, told from the one before; gives the walk that it printed.
using WalkOnce = std::function<std::shared_ptr<const attn::Document>(
    const Arguments& arguments, std::shared_ptr<const attn::Document> before)>;

/// Walks, and again whenever a file that the flags name changes, until an interrupt ends the
/// program. What is wrong with a file is said, and waited for.
///
/// Errors  ConfigError where the flags name no file; those of the first walk.
[[noreturn]] void watch(const Arguments& arguments, const WalkOnce& walk_once);

}  // namespace app
