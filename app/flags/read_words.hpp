#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"

namespace app {

/// A command line as it was typed, cut into flags and their values, which nothing has checked.
struct TypedWords {
    std::vector<Arguments::Said> said;   ///< in the order in which it was typed
    const Flag* lacks_value = nullptr;   ///< the flag behind them that had no value
    std::optional<std::string> unknown;  ///< the first word that has no row
};

/// Whether a word is meant as a flag; a number with its sign is none.
bool looks_like_flag(const std::string& word);

/// Reads words by CLI11: `--name VALUE`, `--name=VALUE`, `-o FILE`, `-oFILE`, `-qo FILE`,
/// positional arguments, `--` before them. The only place that sees CLI11, which takes ten seconds
/// to compile.
TypedWords read_words(const std::vector<FlagTable>& tables, const std::vector<std::string>& words);

}  // namespace app
