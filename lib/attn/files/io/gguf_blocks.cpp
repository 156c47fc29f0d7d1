#include "attn/files/io/gguf_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {
namespace {

float half_at(const Octet* bytes) {
    return half_to_float(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8U));
}
int low_half(Octet byte) { return byte & 15; }
int high_half(Octet byte) { return byte >> 4U; }
/// For 32 numbers in 16 bytes, the low halves are the first 16.
int half_of_16(const Octet* bytes, std::size_t i) {
    return i < 16 ? low_half(bytes[i]) : high_half(bytes[i - 16]);
}
int bit_at(const Octet* bytes, std::size_t i) { return bytes[i / 8] >> i % 8 & 1; }

Group with_d(const Octet* block, std::size_t) { return {.d = half_at(block)}; }
Group with_d_and_least(const Octet* block, std::size_t) {
    return {.d = half_at(block), .least = half_at(block + 2), .floor = -1};
}
/// [d | least | 12 bytes of 8 scales and 8 floors with 6 bits each]: the upper bits of the last
/// four scales and floors are the two top bits of the bytes of the first four.
Group of_8_scales(const Octet* block, std::size_t group) {
    const Octet* const six = block + 4;
    Group result{.d = half_at(block), .least = half_at(block + 2)};
    if (group < 4) {
        result.scale = six[group] & 63;
        result.floor = six[group + 4] & 63;
    } else {
        result.scale = low_half(six[group + 4]) | six[group - 4] >> 6U << 4U;
        result.floor = high_half(six[group + 4]) | six[group] >> 6U << 4U;
    }
    return result;
}
Group of_q6_k(const Octet* block, std::size_t group) {
    return {.d = half_at(block + 208), .scale = static_cast<std::int8_t>(block[192 + group])};
}

/// [d | 32 signed bytes]
int in_q8_0(const Octet* block, std::size_t i) { return static_cast<std::int8_t>(block[2 + i]); }
/// [d | 16 bytes], with 8 as zero.
int in_q4_0(const Octet* block, std::size_t i) { return half_of_16(block + 2, i) - 8; }
/// [d | 32 fifth bits | 16 bytes], with 16 as zero.
int in_q5_0(const Octet* block, std::size_t i) {
    return (half_of_16(block + 6, i) | bit_at(block + 2, i) << 4) - 16;
}
/// [d | least | 32 fifth bits | 16 bytes]
int in_q5_1(const Octet* block, std::size_t i) {
    return half_of_16(block + 8, i) | bit_at(block + 4, i) << 4;
}
/// [scales | 128 bytes]: two groups of 32 codes share 32 bytes; the first has the low halves.
int in_q4_k(const Octet* block, std::size_t i) {
    const Octet both = block[16 + i / 64 * 32 + i % 32];
    return i % 64 < 32 ? low_half(both) : high_half(both);
}
/// [scales | 32 bytes of fifth bits, one per group | 128 bytes as in Q4_K]
int in_q5_k(const Octet* block, std::size_t i) {
    return in_q4_k(block + 32, i) | (block[16 + i % 32] >> i / 32 & 1) << 4;
}
/// [128 bytes of low halves | 64 bytes of two upper bits | 16 signed scales | d], with 32 as zero.
/// In each 128 codes the first 64 have the low halves of 64 bytes, and the upper bits of the four
/// runs of 32 share 32 bytes.
int in_q6_k(const Octet* block, std::size_t i) {
    const std::size_t half = i / 128;
    const std::size_t run = i % 128 / 32;
    const Octet both = block[half * 64 + i % 64];
    const int low = run < 2 ? low_half(both) : high_half(both);
    const int upper = block[128 + half * 32 + i % 32] >> (2 * run) & 3;
    return (low | upper << 4U) - 32;
}

template <std::size_t count, std::size_t size, auto group, auto code>
constexpr BlockType block_type(std::string_view name, std::size_t bytes) {
    return {name, count, bytes, size, group, code, [](const Octet* block, float* numbers) {
                for (std::size_t first = 0; first < count; first += size) {
                    const Group shared = group(block, first / size);
                    for (std::size_t i = 0; i < size; ++i) {
                        numbers[first + i] = shared.number(code(block, first + i));
                    }
                }
            }};
}
constexpr BlockType block_types[]{block_type<32, 32, with_d, in_q8_0>("Q8_0", 34),
                                  block_type<32, 32, with_d, in_q4_0>("Q4_0", 18),
                                  block_type<32, 32, with_d, in_q5_0>("Q5_0", 22),
                                  block_type<32, 32, with_d_and_least, in_q5_1>("Q5_1", 24),
                                  block_type<256, 32, of_8_scales, in_q4_k>("Q4_K", 144),
                                  block_type<256, 32, of_8_scales, in_q5_k>("Q5_K", 176),
                                  block_type<256, 16, of_q6_k, in_q6_k>("Q6_K", 210)};

}  // namespace

const BlockType* blocks_of(std::string_view name) {
    const auto* const found = std::ranges::find(block_types, name, &BlockType::name);
    return found == std::end(block_types) ? nullptr : found;
}

std::string BlockType::derivation(const Octet* block, std::size_t i) const {
    const Group shared = group(block, i / group_size);
    std::string names = "d";
    std::string sum = fmt::format("{:.7g}", shared.d);
    if (group_size < numbers) {
        names += " * scale";
        sum += fmt::format(" * {}", shared.scale);
    }
    names += " * code";
    sum += fmt::format(" * {}", code(block, i));
    if (group == of_8_scales) {
        names += " - least * floor";
        sum += fmt::format(" - {:.7g} * {}", shared.least, shared.floor);
    } else if (group == with_d_and_least) {
        names += " + least";
        sum += fmt::format(" + {:.7g}", shared.least);
    }
    return fmt::format("{} = {} = {:.7g}", names, sum, shared.number(code(block, i)));
}

}  // namespace attn
