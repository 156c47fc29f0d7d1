#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/models/model.hpp"
#include "attn/models/runtime.hpp"

namespace app {

/// Flags for the model and its tokens, for the commands that run a model.
const std::vector<Flag>& model_flags();

/// Flags for parts to leave out, and for the memory limit.
const std::vector<Flag>& run_flags();
Flag without_flag();

/// Reads the model that the flags name.  Errors  InputError naming the file.
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
    attn::models::KeepWeights hold = attn::models::KeepWeights::nothing;
    std::size_t size = sizeof(double);  ///< of a number
    double passes = 1;                  ///< times that the layers are read
    std::size_t branches = 0;           ///< partial runs, each from one layer to the last
};
void report_cost(const Arguments& arguments, attn::models::Model& model, const Run& run);

/// Returns the ids of --ids or of --text; without both, those that every text begins with.
///
/// Errors  ConfigError for both, for ids that the model does not have, and for a text if
///        the model has no tokenizer.
std::vector<std::int64_t> prompt_of(const Arguments& arguments, const attn::models::Model& model);

/// Returns the id of a token, by its text with or without the leading space, or by its number.
///
/// Errors  ConfigError naming `requested`, the flag or cell with the token.
std::int64_t token_of(const attn::models::Model& model, const std::string& word,
                      const std::string& requested);

/// A trained model that was run on a text.
struct ModelRun {
    const attn::models::Model& model;
    const std::vector<std::int64_t>& ids;
    std::vector<attn::Array<double>> inputs;  ///< per layer: its inputs
};

}  // namespace app
