#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/models/model.hpp"

namespace app {

/// Which model, and which tokens it is given: for the commands that run one.
const std::vector<Flag>& model_flags();

/// The model that the flags name.  Errors  InputError naming the file.
attn::models::Model model_of(const Arguments& arguments);

/// The ids of --ids, or of --text; of neither, those that every text begins with.
///
/// Errors  ConfigError for both of them, for ids that are none of the model's, and for a text that
///         the model has no tokenizer for.
std::vector<std::int64_t> prompt_of(const Arguments& arguments, const attn::models::Model& model);

/// Text of a model for people: controls but line feeds written out.
std::string printable(const std::string& text);

}  // namespace app
