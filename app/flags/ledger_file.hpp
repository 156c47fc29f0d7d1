#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/compare/compare.hpp"
#include "attn/io/elements.hpp"
#include "attn/plan/ledger.hpp"

namespace app {

/// Reads the arrays that a file holds under their names, one of them alone (`FILE:NAME`, which also
/// names the array of a file that has no names), or those of a folder of .npy files, whose names
/// may begin with a number (`03_query.npy`). What was left out is a note.
///
/// Shapes  those of the file, with axes axis0, axis1, ... where it names none.
/// Errors  InputError naming the file; also for a folder that has a step twice.
std::vector<attn::NamedTensor> read_arrays(const std::string& spec);

/// The same as a record of steps.
attn::Ledger read_ledger(const std::string& spec);

/// How much two ledgers may differ: --atol and --rtol.
const std::vector<Flag>& tolerance_flags();

/// What they say; nothing when the tolerance is that of rounding.  Errors  ConfigError.
std::optional<attn::Tolerance> tolerance_of(const Arguments& arguments);

}  // namespace app
