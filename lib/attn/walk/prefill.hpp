#pragma once
#include <vector>

#include "attn/walk/step.hpp"

namespace attn {

/// Some tokens that go through the cache together: `count` from `first` on.
struct PrefillChunk {
    std::size_t first = 0, count = 0;
};

/// The tokens of x in chunks of config.prefill; one of all without it.
std::vector<PrefillChunk> prefill_chunks(const Plan& plan);

/// The walks of the chunks, one after the other: each starts from its own rows of x and from the
/// keys and values that the chunks before it left.
///
/// Range   every row of each ledger is that of the whole walk. With the loops scores and weights are
///         so bit for bit, and the context wherever a chunk ends at an even number of keys: an odd
///         last key is added after the others (loop::Dot).
/// Errors  ConfigError as refuse_prefill.
std::vector<Ledger> walk_chunks(const Plan& plan, const Ledger& whole, const StepTable& table);

/// Refuses chunks where the keys of a later one would be seen, or are not made from x.
///
/// Errors  ConfigError naming the setting.
void refuse_prefill(const Plan& plan);

}  // namespace attn
