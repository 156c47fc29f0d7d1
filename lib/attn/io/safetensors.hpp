#pragma once
#include <string>
#include <vector>

#include "attn/io/atomic_file.hpp"
#include "attn/io/elements.hpp"
#include "attn/io/input_file.hpp"

namespace attn {

/// Whether a file begins as .safetensors does: the header's length in 8 bytes and a `{`.
bool looks_like_safetensors(const InputFile& file);

/// The arrays of a .safetensors file, in the order in which the values lie.
///
/// Range   F16, BF16 and F32 become float32, F64 float64, I8 to I64 and U8 to U64 int64, BOOL bool.
/// Errors  InputError, starting with the file's label, that names the array or the offset: a header
///         that is too long or no JSON, values that overlap, leave a hole, lie outside the file or
///         do not fit their shape, a name that occurs twice. NotATensor for any other type.
/// Source  the format's description, github.com/huggingface/safetensors.
std::vector<StoredArray> safetensors_arrays(const InputFile& file);

/// Appends `tensors` to `file` as .safetensors. The values lie widest type first, so that each is
/// aligned to its size; the header is padded to 8 bytes.
/// Errors  OutputError when two tensors share a name.
void write_safetensors(OutputFile& file, const std::vector<TensorRef>& tensors);

}  // namespace attn
