#include "attn/models/pieces.hpp"

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

}  // namespace attn::models
