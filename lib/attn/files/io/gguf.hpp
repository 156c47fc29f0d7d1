#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/output_files.hpp"

namespace attn {

/// How a tensor of a GGUF file lies there.
struct GgufTensor {
    std::string name, type;  ///< `blk.0.attn_q.weight`, `Q4_K`
    Shape shape;             ///< the last axis is that of neighbours in the file
    std::uint64_t place = 0;
    StoredArray array;  ///< reads it

    /// How a number of it is made of its block; empty where numbers are kept one by one.
    std::string derivation(const InputFile& file, std::size_t index) const;
};

/// The header of a GGUF file.
struct Gguf {
    nlohmann::json metadata;  ///< an object: `general.architecture` and the others, by their names
    std::vector<GgufTensor> tensors;
};

bool looks_like_gguf(const InputFile& file);

/// Reads the header of a GGUF file (versions 2 and 3, least byte first). The arrays read from the
/// file, which must outlive them.
///
/// Range   F32, F16, BF16 and blocks of Q8_0, Q4_0, Q5_0, Q5_1, Q4_K, Q5_K and Q6_K become float32,
///         F64 float64, I8 to I64 int64.
/// Errors  InputError, starting with the file's label, that names key, array or offset: a header
///         that is cut or contradicts itself, values outside of the file. NotATensor for any other
///         type, which it names.
/// Source  docs/gguf.md of github.com/ggml-org/ggml.
Gguf read_gguf(const InputFile& file);

/// The arrays alone.
std::vector<StoredArray> gguf_arrays(const InputFile& file);

/// Writes a GGUF file (version 3): text, numbers, flags and lists of one kind under their names,
/// then tensors of float32 and float16.
///
/// Errors  OutputError when two tensors share a name; ConfigError for metadata or tensors of other
///         kinds.
void write_gguf(OutputFile& file, const nlohmann::json& metadata,
                const std::vector<TensorRef>& tensors);

}  // namespace attn
