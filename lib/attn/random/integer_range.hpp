#pragma once
#include <cstdint>
#include <string>

#include "attn/tensor/error.hpp"

namespace attn {

/// high - 1 - low, the largest offset that a draw from [low, high) may have.
///
/// Errors  ConfigError when the range is empty.
inline std::uint64_t largest_offset(std::int64_t low, std::int64_t high) {
    if (low >= high) {
        throw ConfigError("no integer is drawn from " + std::to_string(low) +
                          " up to, but without, " + std::to_string(high) +
                          ": give a higher end above the lower one");
    }
    return static_cast<std::uint64_t>(high) - 1 - static_cast<std::uint64_t>(low);
}

/// low + offset, without overflow on the way.
inline std::int64_t offset_from(std::int64_t low, std::uint64_t offset) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

}  // namespace attn
