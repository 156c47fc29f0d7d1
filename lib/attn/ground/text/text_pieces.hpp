#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace attn {

/// Receives output piece by piece, so that the text of large tensors need not be in memory.
using Sink = std::function<void(std::string_view)>;

/// Buffers text and sends it to an output in large pieces, so that printing needs the same memory
/// for any tensor. Only `flush()` sends the last piece.
class TextPieces {
public:
    /// No piece is longer, except for runs of spaces.
    static constexpr std::size_t piece_size = std::size_t{1} << 18;

    explicit TextPieces(const Sink& sink) : sink_(sink) { text_.reserve(piece_size); }
    TextPieces(const TextPieces&) = delete;
    TextPieces& operator=(const TextPieces&) = delete;

    TextPieces& operator<<(std::string_view text);
    TextPieces& operator<<(char letter) { return *this << std::string_view(&letter, 1); }
    void repeat(std::size_t count, char letter);

    /// Removes trailing spaces.
    void drop_blanks() { text_.resize(text_.find_last_not_of(' ') + 1); }

    /// Returns the number of bytes written so far.
    std::size_t size() const { return flushed_ + text_.size(); }

    void flush() { send(text_.size()); }

private:
    void send(std::size_t length);

    const Sink& sink_;
    std::string text_{};
    std::size_t flushed_ = 0;
};

/// Returns the text that `write(pieces)` writes, as one string.
template <class Write>
std::string gathered_text(Write&& write) {
    std::string text;
    const Sink sink = [&text](std::string_view piece) { text += piece; };
    TextPieces pieces(sink);
    write(pieces);
    pieces.flush();
    return text;
}

/// Escape sequences before and after words that a terminal highlights; empty without colours.
/// Everything that a colour means is also expressed in words.
struct Ink {
    std::string_view heading{};
    std::string_view formula{};
    std::string_view mistake{};
    std::string_view differing{};
    std::string_view uncertain{};
    std::string_view plain{};  ///< ends all of them
    /// The heading of a query, a key, a value and weights, each in its colour.
    std::string_view query{}, key{}, value{}, weight{};

    /// Returns `text` in one of these styles: `ink.of(ink.heading, "weights")`.
    std::string of(std::string_view kind, std::string_view text) const {
        if (kind.empty() || text.empty()) return std::string(text);
        return std::string(kind).append(text).append(plain);
    }

    /// Highlights the digits of a number from the first one that differs from `other`.
    std::string unlike(std::string_view other, std::string_view number) const {
        const auto end =
            number.begin() + static_cast<std::ptrdiff_t>(std::min(number.size(), other.size()));
        const auto same = static_cast<std::size_t>(
            std::mismatch(number.begin(), end, other.begin()).first - number.begin());
        return std::string(number.substr(0, same)) + of(differing, number.substr(same));
    }
};

}  // namespace attn
