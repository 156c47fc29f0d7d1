#pragma once
#include <string>

#include "attn/codegen/step_lines.hpp"

namespace attn {

// What a bias by distance is made of: ALiBi's slopes, T5's table and the buckets that read it.

bool is_alibi(const Plan& plan);
bool is_t5(const Plan& plan);

/// `torch.arange(3, 7)[:, None]`: where the queries stand, one below the other.
std::string query_positions_code(const StepLines& of);
/// `torch.arange(7)`: where the keys stand.
std::string key_positions_code(const StepLines& of);

/// The lines that make the buckets.
std::string buckets_code(const StepLines& of);

Step buckets_card();

}  // namespace attn
