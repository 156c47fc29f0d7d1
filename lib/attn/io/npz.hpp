#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/atomic_file.hpp"
#include "attn/io/elements.hpp"
#include "attn/io/input_file.hpp"

namespace attn {

/// The arrays of a .npz file: a zip archive of .npy files, stored or deflated, in the order of the
/// archive. Entries of another kind are arrays that cannot be read.
///
/// Errors  InputError, starting with the file's label, that names the array: as npy_arrays; also a
///         damaged or encrypted archive, a name that occurs twice, and an entry that claims more
///         than its compressed bytes can unpack to.
std::vector<StoredArray> npz_arrays(const InputFile& file);

/// Appends `tensors` to `file` as .npz as numpy.savez would: stored, not compressed.
/// Errors  OutputError when two tensors share a name.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors);

/// The same with a comment of at most longest_zip_comment bytes, at which NumPy does not look.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors, std::string_view comment);

}  // namespace attn
