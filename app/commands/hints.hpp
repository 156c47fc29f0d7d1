#pragma once
#include <string>

#include "app/flags/flag.hpp"
#include "attn/walk/walk.hpp"

namespace app {

/// The command line that is worth trying after a walk: what its mistake does, what lint would find,
/// or where one of its own numbers comes from.
std::string next_command(const Arguments& arguments, const attn::Plan& plan,
                         const attn::StepTable& table, const attn::Ledger& ledger);

}  // namespace app
