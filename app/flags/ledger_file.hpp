#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/judge/compare/compare.hpp"

namespace app {

/// Reads the steps of a file by name, a single one (`FILE:NAME`, which also names the array of a
/// file without names), or those of a folder of .npy files, whose names may begin with a number
/// (`03_query.npy`). Reports arrays that were left out. A single unnamed array gets the name of its
/// file if `takes_unnamed` is true.
///
/// Shapes  those of the file, with axes axis0, axis1, ... if it names none.
/// Errors  InputError naming the file; also for a folder that has a step twice.
attn::Ledger read_ledger(const std::string& spec, bool takes_unnamed = false);

/// The tolerance of a comparison: --atol and --rtol.
const std::vector<Flag>& tolerance_flags();

/// Returns the tolerance; nullopt for that of rounding.  Errors  ConfigError.
std::optional<attn::Tolerance> tolerance_of(const Arguments& arguments);

}  // namespace app
