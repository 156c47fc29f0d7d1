#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/output_files.hpp"

namespace attn {

/// A tensor in a GGUF file.
struct GgufTensor {
    std::string name, type;  ///< `blk.0.attn_q.weight`, `Q4_K`
    Shape shape;             ///< the last axis is contiguous in the file
    std::uint64_t place = 0;
    StoredArray array;  ///< reads it

    /// Describes how a number is encoded in its block; empty if numbers are not in blocks.
    std::string derivation(const InputFile& file, std::size_t index) const;
};

/// The header of a GGUF file.
struct Gguf {
    nlohmann::json metadata;  ///< an object with all keys: `general.architecture` and others
    std::vector<GgufTensor> tensors;
};

bool looks_like_gguf(const InputFile& file);

/// Reads the header of a GGUF file (versions 2 and 3, little-endian). The arrays read from the
/// file, which must outlive them.
///
/// Range   F32, F16, BF16 and blocks of Q8_0, Q4_0, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K become float32,
///         F64 float64, I8 to I64 int64.
/// Errors  InputError, starting with the file's label and naming key, array or offset: a header
///         that is truncated or contradicts itself, values outside of the file. NotATensor for any
///         other type, which it names.
/// Source  docs/gguf.md of github.com/ggml-org/ggml.
Gguf read_gguf(const InputFile& file);

/// Returns only the arrays.
std::vector<StoredArray> gguf_arrays(const InputFile& file);

/// Writes a GGUF file (version 3): text, numbers, flags and lists of one type by their names, then
/// tensors of float32 and float16.
///
/// Errors  OutputError if two tensors have the same name; ConfigError for metadata or tensors of
///         other types.
void write_gguf(OutputFile& file, const nlohmann::json& metadata,
                const std::vector<TensorRef>& tensors);

}  // namespace attn
