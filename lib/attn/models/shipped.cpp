#include "attn/models/open_model.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

extern "C" {
extern const char attn_stories_begin[], attn_stories_end[];
extern const char attn_stories_tokenizer_begin[], attn_stories_tokenizer_end[];
extern const char attn_sorter_begin[], attn_sorter_end[];
}

namespace attn::models {

const std::string_view stories_bin(attn_stories_begin, attn_stories_end - attn_stories_begin);
const std::string_view stories_tokenizer(attn_stories_tokenizer_begin,
                                         attn_stories_tokenizer_end - attn_stories_tokenizer_begin);
const std::string_view sorter_json(attn_sorter_begin, attn_sorter_end - attn_sorter_begin);

std::string packed_stories() {
    constexpr std::size_t word = 4;
    std::string bytes(stories_bin);
    constexpr std::size_t tables = 512 * 8 * word;  // of sines and cosines, which nobody reads
    std::fill(bytes.end() - tables, bytes.end(), '\0');
    bytes += stories_tokenizer;
    bytes.resize((bytes.size() + word - 1) / word * word);
    const std::size_t words = bytes.size() / word;
    std::string planes(bytes.size(), '\0');
    for (std::size_t i = 0; i < words; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &bytes[i * word], word);
        bits = std::rotl(bits, 1);
        for (std::size_t k = 0; k < word; ++k) {
            planes[k * words + i] = static_cast<char>(bits >> 8U * k & 0xFFU);
        }
    }
    uLongf size = ::compressBound(planes.size());
    std::string packed(size, '\0');
    ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(planes.data()), planes.size(), Z_BEST_COMPRESSION);
    packed.resize(size);
    return packed;
}

}  // namespace attn::models
