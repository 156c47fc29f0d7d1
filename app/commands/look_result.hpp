#pragma once
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace app {

/// Tensors of one walk, each compared with the result computed from the others.
struct LookResult {
    attn::Diagnosis diagnosis{};
    std::vector<std::string> assumed{};  ///< about the walk
    std::string reason{};                ///< why nothing was compared; empty if something was
};

/// Finds the walk that the tensors of a file belong to, and compares each with it. `tokens` are the
/// words at their rows; `label` is the file's name for messages.
///
/// Errors  ConfigError, InputError and ShapeError, as config_of.
LookResult look_at_tensors(const Arguments& arguments, const std::string& label, attn::Ledger file,
                           const std::vector<std::string>& tokens);

}  // namespace app
