#pragma once
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "attn/files/io/output_files.hpp"

/// The small checkpoints of the tests, and changes to copies of them.
namespace checkpoints {

inline const std::filesystem::path small_models = ATTN_SOURCE_DIR "/tests/models/fixtures";

/// Sets keys of a configuration; null removes one.
inline void change_config(const std::filesystem::path& folder, const nlohmann::json& keys) {
    std::ifstream stream(folder / "config.json");
    nlohmann::json config = nlohmann::json::parse(stream);
    config.merge_patch(keys);
    attn::write_file((folder / "config.json").string(), config.dump());
}

/// True if a message has this part, which is checked.
inline bool has(const std::string& message, const std::string& part) {
    CHECK_MESSAGE(message.find(part) != message.npos, message);
    return message.find(part) != message.npos;
}

}  // namespace checkpoints
