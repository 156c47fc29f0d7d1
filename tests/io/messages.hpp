#pragma once
#include <string>

#include "attn/io/read_tensor.hpp"
#include "attn/tensor/error.hpp"

/// What the InputError says that `action` throws.
std::string refusal(const auto& action) {
    try {
        action();
    } catch (const attn::InputError& error) {
        return error.what();
    }
    return "no InputError";
}

/// What reading `bytes` as a file called `label` is refused with.
inline std::string refusal_of(std::string_view bytes, const std::string& label) {
    return refusal([&] { attn::read_tensors_from_bytes(bytes, label); });
}

inline std::string fixture(const std::string& name) {
    return std::string(ATTN_SOURCE_DIR) + "/tests/io/fixtures/" + name;
}
