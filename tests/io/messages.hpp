#pragma once
#include <string>

#include "attn/io/read_tensor.hpp"
#include "tests/support/refusal.hpp"

/// The error from reading `bytes` as a file called `label`.
inline std::string refusal_of(std::string_view bytes, const std::string& label) {
    return refusal([&] { attn::read_tensors_from_bytes(bytes, label); });
}

inline std::string fixture(const std::string& name) {
    return std::string(ATTN_SOURCE_DIR) + "/tests/io/fixtures/" + name;
}
