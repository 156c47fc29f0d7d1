#pragma once
#include <filesystem>
#include <string>

namespace attn::models {

/// Returns the place of a model: a path as it is; for a `config.json` its folder; for a download
/// folder (models--X--Y) the snapshot of its main branch, or the only one; for a name, `org/name`,
/// that is not a path, its folder in the caches of Hugging Face: $HF_HUB_CACHE, $HF_HOME/hub and
/// ~/.cache/huggingface/hub.
///
/// Errors  InputError for a name that no cache has, and for a folder with several snapshots.
std::filesystem::path model_place(const std::string& given);

/// Describes a file that is not a supported model, or a folder without one, and what to do:
/// `x.gguf: is a GGUF file: run ...`. Empty if the table has no matching row. With `is_sibling`,
/// the file is one next to a model, which may have any name that ends in .json.
std::string kind_of_file(const std::filesystem::path& place, bool is_sibling = false);

/// Returns the command that downloads a model to the place, if its path contains the name.
std::string download_command(const std::filesystem::path& place);

}  // namespace attn::models
