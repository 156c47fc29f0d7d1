#include "attn/models/pieces.hpp"

#include <utf8proc.h>

#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

constexpr std::string_view digits_of_bytes = "0123456789ABCDEF";

}  // namespace

std::string byte_piece(unsigned char byte) {
    return std::string("<0x") + digits_of_bytes[byte >> 4U] + digits_of_bytes[byte & 15U] + ">";
}

int byte_of(std::string_view piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
    const std::size_t high = digits_of_bytes.find(piece[3]);
    const std::size_t low = digits_of_bytes.find(piece[4]);
    if (high == piece.npos || low == piece.npos) return -1;
    return static_cast<int>(high * 16 + low);
}

std::vector<std::pair<std::int32_t, std::string_view>> points_of(std::string_view text) {
    std::vector<std::pair<std::int32_t, std::string_view>> points;
    for (std::size_t i = 0; i < text.size();) {
        utf8proc_int32_t point = 0;
        const utf8proc_ssize_t bytes =
            utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + i),
                             static_cast<utf8proc_ssize_t>(text.size() - i), &point);
        if (bytes < 1) {
            throw InputError("the text is not UTF-8 at byte " + std::to_string(i) +
                             ": save it as UTF-8");
        }
        points.emplace_back(point, text.substr(i, static_cast<std::size_t>(bytes)));
        i += static_cast<std::size_t>(bytes);
    }
    return points;
}

}  // namespace attn::models
