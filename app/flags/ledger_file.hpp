#pragma once
#include <string>

#include "attn/walk/ledger.hpp"

namespace app {

/// Reads the steps that a file holds under their names: .npz, .safetensors, .json, or a folder of
/// .npy files, whose names may begin with a number (`03_query.npy`).
///
/// Shapes  those of the file, with axes axis0, axis1, ... where it names none.
/// Errors  InputError naming the file.
attn::Ledger read_ledger(const std::string& path);

}  // namespace app
