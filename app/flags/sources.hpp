#pragma once
#include <string>

#include "app/flags/walk_flags.hpp"

namespace app {

/// Reads the input and the memory that the flags name into the configuration.
///
/// Errors  ConfigError for two sources or flags that do not fit the source; InputError for files.
void set_sources(const WalkFlags& flags, attn::WalkConfig& config);

/// Whether a flag says where x comes from.
bool says_a_source(const WalkFlags& flags);

/// Errors  ConfigError when two flags would read standard input.
void check_standard_input(const WalkFlags& flags);

/// Reads a mask; `mask_true` says what true (or 1) means in the file, keep or drop. A mask of 0 and
/// -inf (or -1e4 and below), which is added to scores, needs no such word.
///
/// Shapes  any that broadcasts to the scores; result bool, true = hidden.
attn::Tensor read_mask(const std::string& spec, const std::string& mask_true);

}  // namespace app
