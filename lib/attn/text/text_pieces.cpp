#include "attn/text/text_pieces.hpp"

#include <algorithm>
#include <cstring>

namespace attn {

TextPieces::TextPieces(const Sink& sink)
    : sink_(sink),
      buffer_(std::make_unique_for_overwrite<char[]>(piece_size)),
      begin_(buffer_.get()),
      end_(begin_),
      limit_(begin_ + piece_size) {}

TextPieces& TextPieces::operator<<(std::string_view text) {
    while (!text.empty()) {
        const std::size_t part = std::min(text.size(), piece_size / 2);
        std::memcpy(room(part), text.data(), part);
        end_ += part;
        text.remove_prefix(part);
    }
    return *this;
}

void TextPieces::repeat(std::size_t count, char letter) {
    while (count > 0) {
        const std::size_t part = std::min(count, piece_size / 2);
        std::memset(room(part), letter, part);
        end_ += part;
        count -= part;
    }
}

void TextPieces::drop_blanks() {
    while (end_ != begin_ && end_[-1] == ' ') --end_;
}

void TextPieces::flush() { send(end_); }

void TextPieces::make_room(std::size_t bytes) {
    // Keep the last letter and the blanks after it: a line break may yet remove these.
    const char* kept = end_;
    while (kept != begin_ && kept[-1] == ' ') --kept;
    if (kept != begin_) --kept;
    send(kept);

    // A cell may be wider than usual pieces.
    const auto used = static_cast<std::size_t>(end_ - begin_);
    if (used + bytes <= static_cast<std::size_t>(limit_ - begin_)) return;
    auto larger = std::make_unique_for_overwrite<char[]>(used + bytes);
    std::memcpy(larger.get(), begin_, used);
    buffer_ = std::move(larger);
    begin_ = buffer_.get();
    end_ = begin_ + used;
    limit_ = end_ + bytes;
}

void TextPieces::send(const char* end) {
    const auto length = static_cast<std::size_t>(end - begin_);
    if (length > 0) sink_(std::string_view(begin_, length));
    sent_ += length;
    const auto rest = static_cast<std::size_t>(end_ - end);
    std::memmove(begin_, end, rest);
    end_ = begin_ + rest;
}

}  // namespace attn
