#pragma once
#include <string>
#include <vector>

#include "attn/core/plan/config.hpp"
#include "attn/files/io/elements.hpp"

namespace app {

/// True if a name, or the step that it is mapped to, means a tensor with a row per token.
bool is_of_tokens(const std::string& name, const std::string& step);

/// Sets a causal mask if no query looks at a later key in the masked scores or the weights (which
/// are 0 there), unless the walk begins at one of them. If there are more keys than queries, the
/// queries are the last tokens. Returns what was assumed; empty if nothing was.
std::string take_shown_mask(const attn::Ledger& named, const std::string& beginning,
                            attn::WalkConfig& config);

/// Transposes `K_T`, and makes the list of numbers of a single query a row.
void take_as_written(attn::NamedTensor& named);

/// True if the number of words is the number of rows of a tensor of tokens.
bool name_rows_of(const attn::Ledger& file, const std::vector<std::string>& tokens);

/// Reads the tensors of a file, a folder or standard input (`-`).
std::vector<attn::NamedTensor> pasted_tensors(const std::string& spec);

/// Transposes the matrices of a text in which each token is a column.
std::vector<attn::NamedTensor> with_tokens_as_rows(std::vector<attn::NamedTensor> tensors);

/// Returns the tensors by name, heads that have tensors of their own in one. Names are reduced to
/// the part that is known; tensors without one are identified by their numbers. Row names that are
/// tokens go to `tokens`; `spec` names the file in messages.
///
/// Errors  InputError for an array without a name that its numbers do not identify.
attn::Ledger recognised(std::vector<attn::NamedTensor> tensors, const std::string& spec,
                        std::vector<std::string>& tokens);

}  // namespace app
