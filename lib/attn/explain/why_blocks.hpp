#pragma once
#include "attn/explain/why.hpp"

namespace attn {

/// Derives a cell of the steps that stand for scores and weights where attention goes block by
/// block, or of the context there; nothing for a cell of any other step or walk.
std::optional<Derivation> derive_block(const Plan& plan, const Ledger& ledger, const Cell& cell);

}  // namespace attn
