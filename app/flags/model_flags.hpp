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

/// The id of a token, by its text with or without the blank in front, or by its number.
///
/// Errors  ConfigError naming what `asked` for it.
std::int64_t token_of(const attn::models::Model& model, const std::string& word,
                      const std::string& asked);

/// A trained model that was run on a text.
struct ModelRun {
    const attn::models::Model& model;
    const std::vector<std::int64_t>& ids;
    std::vector<attn::Array<double>> inputs;  ///< what each layer, up to one, starts from
};

}  // namespace app
