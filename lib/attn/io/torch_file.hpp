#pragma once
#include <vector>

#include "attn/io/elements.hpp"
#include "attn/io/input_file.hpp"

namespace attn {

/// Whether a zip archive is what torch.save writes: it holds a `data.pkl`.
bool looks_like_torch(const InputFile& file);

/// The tensors of a file of torch.save: a lone tensor, or those in a plain dictionary, by their
/// keys. A state dictionary is one; parameters are tensors.
///
/// Range   float16, bfloat16 and float32 become float32, float64 stays, integers become int64, bool
///         stays. Views, transposed and expanded tensors are read as what they show.
/// Errors  InputError, starting with the file's label: a pickle that would make anything but
///         tensors, numbers, text, lists and dictionaries (it is never run, only read), a tensor
///         that reaches beyond its storage, a damaged archive. NotATensor for other values.
/// Source  Python's pickletools, torch.serialization.
std::vector<StoredArray> torch_arrays(const InputFile& file);

}  // namespace attn
