#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/models/model.hpp"
#include "attn/models/runtime.hpp"

namespace app {

/// Which model, and which tokens it is given: for the commands that run one.
const std::vector<Flag>& model_flags();

/// Flags for parts to leave out, and for the memory limit.
const std::vector<Flag>& run_flags();
Flag without_flag();

/// The model that the flags name.  Errors  InputError naming the file.
attn::models::Model model_of(const Arguments& arguments);

/// The parts of --without.  Errors  ConfigError for unknown parts of the model.
std::vector<attn::models::Without> without_of(const Arguments& arguments,
                                              const attn::models::Model& model);

/// Reports the cost of a run over n tokens if it is high, and shows progress on a terminal. By
/// default all layers run, one in memory at a time.
///
/// Errors  ConfigError if it needs more memory than --memory allows, or than is free.
struct Run {
    std::size_t tokens = 1;
    std::optional<std::size_t> layers{};
    attn::models::Hold hold = attn::models::Hold::nothing;
    std::size_t size = sizeof(double);  ///< of a number
    double passes = 1;                  ///< how often the layers are read
    std::size_t branches = 0;           ///< begin at each layer and run to the last
};
void say_cost(const Arguments& arguments, attn::models::Model& model, const Run& run);

/// The ids of --ids, or of --text; of neither, those that every text begins with.
///
/// Errors  ConfigError for both of them, for ids that are none of the model's, and for a text that
///         the model has no tokenizer for.
std::vector<std::int64_t> prompt_of(const Arguments& arguments, const attn::models::Model& model);

/// The id of a token, by its text with or without the blank in front, or by its number.
///
/// Errors  ConfigError naming `asked`, the flag or cell with the token.
std::int64_t token_of(const attn::models::Model& model, const std::string& word,
                      const std::string& asked);

/// A trained model that was run on a text.
struct ModelRun {
    const attn::models::Model& model;
    const std::vector<std::int64_t>& ids;
    std::vector<attn::Array<double>> inputs;  ///< what each layer, up to one, starts from
};

}  // namespace app
