#pragma once
#include <string>

#include "attn/files/io/read_tensor.hpp"
#include "tests/support/refusal.hpp"

namespace attn {

/// All arrays, read into memory.
inline std::vector<NamedTensor> read_tensors_from_bytes(std::string_view bytes,
                                                        const std::string& label,
                                                        const Sink& note = ignore_note) {
    return TensorFile(bytes, label).read_all(note);
}

}  // namespace attn

/// The error from reading `bytes` as a file called `label`.
inline std::string refusal_of(std::string_view bytes, const std::string& label) {
    return refusal([&] { attn::read_tensors_from_bytes(bytes, label); });
}

inline std::string fixture(const std::string& name) {
    return std::string(ATTN_SOURCE_DIR) + "/tests/files/io/fixtures/" + name;
}
