#pragma once
#include <string>

#include "attn/core/plan/plan.hpp"

namespace attn {

/// `28.8 GB`.
std::string memory_text(double bytes);

/// What names and positions of the tokens take.
double token_bytes(const Plan& plan);

/// Refuses what would not fit into this machine's memory, or nobody would read. `most` says what
/// takes most of it, `other_ways` what to ask for instead, each with its comma.
///
/// Errors  ConfigError with the size needed and the size there is.
void require_bytes(double needed, const std::string& most = "", const std::string& other_ways = "");

/// The same for what a walk starts from, by its sizes alone: before anything is drawn.
void require_inputs(const Plan& plan);

}  // namespace attn
