#pragma once
#include <map>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/plan/config.hpp"

namespace app {

/// The walk to compare the user's tensors with, and which of them are compared.
struct Asked {
    attn::WalkConfig config;
    attn::Ledger theirs{};
    /// Their query, key and value are where the walk starts: nothing says how they were projected.
    bool takes_projections = false;
    /// Settings known from shapes alone, from neither flags nor files, in words.
    std::vector<std::string> assumed{};
    /// The given file is a probe, which says its mask and its layouts.
    bool is_probe = false;
    /// Flags or given tensors say what is hidden.
    bool says_mask = false;
};

/// The walk by --given, then the flags, then their own file: what the first of them says counts.
/// `said` holds the steps that --map names.
///
/// Errors  ConfigError and InputError, as config_of.
Asked asked_walk(const Arguments& arguments, const attn::Ledger& file,
                 const std::map<std::string, std::string>& said);

}  // namespace app
