#pragma once
#include <string>
#include <vector>

#include "attn/io/elements.hpp"
#include "attn/models/model.hpp"
#include "attn/text/text_pieces.hpp"

namespace attn::models {

/// A model of the Llama kind as Hugging Face's transformers keep it: config.json and tensors. Where
/// features rotate with their neighbours, the rows of w_query and w_key are put into the order of
/// halves: row 2i + b of a head goes to row b * head_dim / 2 + i.
///
/// Errors  ConfigError for a model of another kind, which these names cannot say.
std::string config_json(const Model& model);
std::vector<NamedTensor> tensors_for_hugging_face(const Model& model);

/// Writes such a model tensor by tensor as llama2.c keeps it (version 0), with the rows in the
/// order of neighbours.
///
/// Errors  ConfigError as above, and for what that file cannot say: biases, windows, another theta.
void write_llama2c(const Model& model, const Sink& sink);

}  // namespace attn::models
