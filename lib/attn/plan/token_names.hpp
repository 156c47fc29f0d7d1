#pragma once
#include "attn/plan/config.hpp"

namespace attn {

/// What the tokens of a source are called, for each sequence: their words, or ids, with the given
/// names in place of them. Rows without either are numbered where some of them are named; without
/// names there is nothing to call them by.
///
/// Errors  ConfigError where there are more or fewer names than tokens; what fills a sequence up
///         needs none.
std::vector<std::vector<std::string>> token_names(
    const Source& source, const std::vector<std::vector<std::string>>& names, std::size_t batch,
    std::size_t length);

}  // namespace attn
