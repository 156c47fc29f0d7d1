#pragma once
#include <string>

#include "attn/core/plan/plan.hpp"

namespace attn {

/// Formats `28.8 GB`.
std::string memory_text(double bytes);

/// Returns the memory for names and positions of the tokens.
double token_bytes(const Plan& plan);

/// True if the size fits into this machine's memory, and is small enough to be read.
bool fits_memory(double bytes);
/// Errors  ConfigError, always, with the size needed and the size available. `most` describes the
///         largest part, `other_ways` the alternatives, each with its comma.
[[noreturn]] void refuse_bytes(double needed, const std::string& most = "",
                               const std::string& other_ways = "");

/// Refuses inputs of a walk that are too large, by their sizes: before anything is drawn.
///
/// Errors  ConfigError as refuse_bytes().
void require_inputs(const Plan& plan);

}  // namespace attn
