#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/elements.hpp"

namespace attn {

/// Models whose files name and lay out the parameters of attention in a way that is known here.
enum class ModelFamily {
    gpt2,  ///< one matrix [query | key | value], stored (in, out)
    bert,  ///< three matrices with biases, stored (out, in); RoBERTa and its like too
};

/// The parameters of one layer's self-attention under this program's names: `w_qkv`, `b_output`,
/// ...
struct ModelLayer {
    std::vector<NamedTensor> parameters;
    bool fused = false;   ///< query, key and value share `w_qkv`
    bool in_out = false;  ///< matrices are stored (in, out), not (out, in)
};

/// The family called `gpt2` or `bert`.  Errors  ConfigError for any other word.
ModelFamily model_family(std::string_view word);

/// Finds the attention parameters of layer number `layer`, counted from 0. A prefix before the
/// usual names (`transformer.`, `bert.`) is passed over; all else in the file is not read.
///
/// Errors  InputError, starting with `label`: a layer that is not there (the message says which
///         are), a matrix that is missing or found under two prefixes.
/// Source  the state dictionaries of GPT2Model (Conv1D) and BertModel (Linear) in Hugging Face's
///         transformers.
ModelLayer pick_model_layer(const std::vector<StoredArray>& arrays, ModelFamily family,
                            std::int64_t layer, const std::string& label);

}  // namespace attn
