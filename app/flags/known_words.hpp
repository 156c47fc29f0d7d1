#pragma once
#include <string>
#include <vector>

namespace app {

// What may stand behind a flag, for help, completions and guesses.

/// The steps of the walk, in its order.
std::vector<std::string> step_names();

/// The ids of the catalogue of mistakes.
std::vector<std::string> mistake_ids();

/// The trained models that the program holds.
std::vector<std::string> shipped_models();

/// What PyTorch says of a part of a tensor, by the last step of indexing:
/// `grad_fn=<SliceBackward0>`.
std::string index_function(const std::string& indices);

}  // namespace app
