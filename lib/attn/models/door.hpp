#pragma once
#include <filesystem>
#include <string>

namespace attn::models {

/// Where a model lies: the path that was given; of a `config.json` its folder; of a folder of
/// downloads (models--X--Y) the snapshot of its main branch, or the only one; of a name,
/// `org/name`, that is no path, the same in the caches of Hugging Face: $HF_HUB_CACHE, $HF_HOME/hub
/// and
/// ~/.cache/huggingface/hub.
///
/// Errors  InputError for a name that no cache has, and for a folder of several snapshots.
std::filesystem::path model_place(const std::string& given);

/// What a file is that is no model here, or the files of a folder that has none, and what to do:
/// `x.gguf: is a GGUF file: run ...`. Empty where no row of the table knows it; a file beside a
/// model may have any name that ends in .json.
std::string what_lies_there(const std::filesystem::path& place, bool is_beside = false);

/// The command that fetches a model into the place, where its path tells which.
std::string download_command(const std::filesystem::path& place);

}  // namespace attn::models
