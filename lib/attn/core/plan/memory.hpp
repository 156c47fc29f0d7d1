#pragma once
#include <string>

#include "attn/core/plan/plan.hpp"

namespace attn {

/// `28.8 GB`.
std::string memory_text(double bytes);

/// What names and positions of the tokens take.
double token_bytes(const Plan& plan);

/// Whether so much fits into this machine's memory, and somebody could read it.
bool fits_memory(double bytes);
/// Errors  ConfigError, always, with the size needed and the size there is. `most` says what takes
///         most of it, `other_ways` what to ask for instead, each with its comma.
[[noreturn]] void refuse_bytes(double needed, const std::string& most = "",
                               const std::string& other_ways = "");

/// Refuses what a walk would start from, by its sizes alone: before anything is drawn.
///
/// Errors  ConfigError as refuse_bytes().
void require_inputs(const Plan& plan);

}  // namespace attn
