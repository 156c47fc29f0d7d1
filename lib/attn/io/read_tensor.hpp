#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/elements.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// Reads every array of the file at `path` (`-`: standard input): .npy, .npz, .safetensors, .csv
/// or .json. A .npy file, a plain table and a bare list hold one array without a name. The content
/// decides what the file is; only where it leaves a doubt does the name's ending.
///
/// Shapes  those of the file, with axes `axis0`, `axis1`, ... except where the file
///         names them: this program's own .json and .csv.
/// Range   float32 (also for 16-bit types), float64, int64 or bool; .csv gives float64.
/// Errors  InputError naming the file, the offset or line, and what to do.
std::vector<NamedTensor> read_tensors(const std::string& path);

/// Reads one array. `spec` is `FILE` or `FILE:NAME`; the name is needed where a file holds several.
/// Errors  InputError as read_tensors; for a name that is not there, it lists those that are.
Tensor read_tensor(const std::string& spec);

/// The same from memory; `label` takes the place of the path, also for its ending.
std::vector<NamedTensor> read_tensors_from_bytes(std::string_view bytes, const std::string& label);

}  // namespace attn
