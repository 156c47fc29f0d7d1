#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/atomic_file.hpp"
#include "attn/io/elements.hpp"

namespace attn {

/// Reads the bytes of a .npz file: a zip archive of .npy files, stored or deflated, in the order of
/// the archive.
///
/// Range   archives below 2 GiB, the arrays unpacked too.
/// Errors  InputError, starting with `label`, that names the array: as parse_npy; also a damaged or
///         encrypted archive, an entry that is no .npy, a name that occurs twice, and an entry that
///         claims more than its compressed bytes can unpack to.
std::vector<NamedTensor> parse_npz(std::string_view bytes, const std::string& label);

/// Appends `tensors` to `file` as .npz as numpy.savez would: stored, not compressed.
/// Errors  OutputError when two tensors share a name.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors);

}  // namespace attn
