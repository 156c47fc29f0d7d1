#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace attn {

/// Receives output piece by piece, so that large tensors need not be held as text.
using Sink = std::function<void(std::string_view)>;

/// Gathers text in a buffer of one size and sends it to an output in large pieces, so that
/// printing takes the same memory for any tensor. Only `flush()` sends what was gathered last.
class TextPieces {
public:
    /// No piece is longer, but for the room that was asked for at once.
    static constexpr std::size_t piece_size = std::size_t{1} << 18;

    explicit TextPieces(const Sink& sink);
    TextPieces(const TextPieces&) = delete;
    TextPieces& operator=(const TextPieces&) = delete;

    /// Where `bytes` bytes may be written next; `keep()` then says how far they were. The character
    /// before is the last one written, unless there was none yet.
    char* room(std::size_t bytes) {
        if (bytes > static_cast<std::size_t>(limit_ - end_)) make_room(bytes);
        return end_;
    }
    void keep(char* end) { end_ = end; }

    TextPieces& operator<<(std::string_view text);
    TextPieces& operator<<(char letter) {
        *room(1) = letter;
        ++end_;
        return *this;
    }
    void repeat(std::size_t count, char letter);

    /// Removes the blanks at the end.
    void drop_blanks();

    /// How many bytes were written so far.
    std::size_t size() const { return sent_ + static_cast<std::size_t>(end_ - begin_); }

    void flush();

private:
    void make_room(std::size_t bytes);
    void send(const char* end);

    const Sink& sink_;
    std::unique_ptr<char[]> buffer_;
    char* begin_;
    char* end_;
    char* limit_;
    std::size_t sent_ = 0;
};

/// The text that `write(pieces)` writes, as one string.
template <class Write>
std::string gathered_text(Write&& write) {
    std::string text;
    const Sink sink = [&text](std::string_view piece) { text += piece; };
    TextPieces pieces(sink);
    write(pieces);
    pieces.flush();
    return text;
}

}  // namespace attn
