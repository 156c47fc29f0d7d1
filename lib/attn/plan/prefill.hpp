#pragma once
#include <vector>

#include "attn/plan/plan.hpp"

namespace attn {

/// Some tokens that go through the cache together: `count` from `first` on.
struct PrefillChunk {
    std::size_t first = 0, count = 0;
};

/// The tokens of x in chunks of config.prefill; one of all without it.
std::vector<PrefillChunk> prefill_chunks(const Plan& plan);

/// Refuses chunks where the keys of a later one would be seen, or are not made from x.
///
/// Errors  ConfigError naming the setting.
void refuse_prefill(const Plan& plan);

}  // namespace attn
