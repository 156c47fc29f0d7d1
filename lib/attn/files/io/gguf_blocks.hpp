#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace attn {

using Octet = unsigned char;

/// The shared values of a group: each number is d * scale * code - least * floor.
struct Group {
    float d = 0, least = 0;
    int scale = 1, floor = 0;

    float number(int code) const {
        const double first = static_cast<double>(d) * scale * code;
        return static_cast<float>(first - static_cast<double>(least) * floor);
    }
};

/// A format of numbers in blocks, which consist of groups with a common scale.
struct BlockType {
    std::string_view name;
    std::size_t numbers = 1, bytes = 0, group_size = 1;
    Group (*group)(const Octet* block, std::size_t group) = nullptr;
    int (*code)(const Octet* block, std::size_t i) = nullptr;
    void (*open)(const Octet* block, float* numbers) = nullptr;  ///< unpacks all of them

    /// Returns the computation for number i of a block, `d * code = 0.5 * -3 = -1.5`.
    std::string derivation(const Octet* block, std::size_t i) const;
};

/// Returns the block format of a type; null for a type without blocks, or an unsupported one.
///
/// Source  ggml-quants.c of github.com/ggml-org/ggml.
const BlockType* blocks_of(std::string_view name);

}  // namespace attn
