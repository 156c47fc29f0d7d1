#include "attn/ground/text/text_pieces.hpp"

namespace attn {

TextPieces& TextPieces::operator<<(std::string_view text) {
    while (text_.size() + text.size() > piece_size) {
        const std::size_t part = piece_size - std::min(piece_size, text_.size());
        text_ += text.substr(0, part);
        text.remove_prefix(part);
        // Keep trailing spaces: a line break may still remove them.
        const std::size_t length = text_.find_last_not_of(' ') + 1;
        if (length == 0) break;
        send(length);
    }
    text_ += text;
    return *this;
}

void TextPieces::repeat(std::size_t count, char letter) { *this << std::string(count, letter); }

void TextPieces::send(std::size_t length) {
    if (length > 0) sink_(std::string_view(text_).substr(0, length));
    flushed_ += length;
    text_.erase(0, length);
}

}  // namespace attn
