#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "attn/text/digits.hpp"
#include "attn/text/number_text.hpp"
#include "attn/text/text_pieces.hpp"

namespace attn {

/// A text that is written often, without a call where it is short.
class ShortText {
public:
    explicit ShortText(std::string_view text) : text_(text) {
        std::memcpy(words_, text.data(), std::min(text.size(), sizeof words_));
    }

    /// A text of at most eight letters.
    char* write(char* out) const {
        store(out, words_[0]);
        return out + text_.size();
    }
    char* write_any_length(char* out) const {
        store(out, words_[0]);
        store(out + 8, words_[1]);
        if (text_.size() > 16) std::memcpy(out, text_.data(), text_.size());
        return out + text_.size();
    }

private:
    std::string_view text_;
    std::uint64_t words_[2] = {0, 0};
};

/// What stands between the cells of a row.
struct Separators {
    std::string_view gap;  ///< within a line; at most eight letters
    std::string line_break{};
    std::size_t cells_per_line = std::numeric_limits<std::size_t>::max();
    bool trims = false;  ///< a line break takes away the blanks before it
};

/// Where in a row the next cell stands.
struct RowPlace {
    std::size_t left;        ///< cells that still fit on the line
    std::size_t line_begin;  ///< where in the whole text the first cell of the line begins
    bool first = true;       ///< nothing is before it in the row
};

/// The cells of one tensor, which all have a common width or more: writes any run of them.
class Cells {
public:
    explicit Cells(std::size_t width) : width_(width) {}
    virtual ~Cells() = default;
    Cells(const Cells&) = delete;
    Cells& operator=(const Cells&) = delete;

    std::size_t width() const { return width_; }

    /// Writes the elements from `begin` to `end`, in pieces.
    void write(TextPieces& text, std::size_t begin, std::size_t end, const Separators& separators,
               RowPlace& place) const;

protected:
    /// What a run has written: up to where, and the beginning of a new line if there is one.
    struct Run {
        char* end;
        const char* line_begin;
    };

private:
    /// Writes at least one cell. Updates `place.left`.
    virtual Run write_run(char* out, std::size_t begin, std::size_t end,
                          const Separators& separators, RowPlace& place) const = 0;

    std::size_t width_;
};

/// Cells that `write_cell(out, value)` writes, returning their end. It may write up to fifteen
/// letters too many: the next cell overwrites them.
template <class T, class WriteCell>
class CellsOf final : public Cells {
public:
    CellsOf(const T* data, std::size_t width, WriteCell write_cell)
        : Cells(width), data_(data), write_cell_(write_cell) {}

private:
    Run write_run(char* out, std::size_t begin, std::size_t end, const Separators& separators,
                  RowPlace& place) const override {
        // Local copies stay in registers: a letter written could be part of anything else.
        const T* const data = data_;
        const WriteCell write_cell = write_cell_;
        const ShortText line_break(separators.line_break);
        const std::size_t cells_per_line = separators.cells_per_line;
        const bool trims = separators.trims;
        const ShortText gap(separators.gap);
        std::size_t left = place.left;
        const char* line_begin = nullptr;

        std::size_t i = begin;
        if (place.first) {
            out = write_cell(out, data[i++]);
            --left;
        }
        for (; i != end; ++i, --left) {
            if (left != 0) {
                out = gap.write(out);
            } else {
                while (trims && out[-1] == ' ') --out;
                out = line_break.write_any_length(out);
                left = cells_per_line;
                line_begin = out;
            }
            out = write_cell(out, data[i]);
        }
        place.left = left;
        return {out, line_begin};
    }

    const T* data_;
    WriteCell write_cell_;
};

template <class T, class WriteCell>
std::unique_ptr<Cells> make_cells(const T* data, std::size_t width, WriteCell write_cell) {
    return std::make_unique<CellsOf<T, WriteCell>>(data, width, write_cell);
}

/// Integers, aligned to the right.
std::unique_ptr<Cells> integer_cells(const std::int64_t* data, std::size_t width);

/// Bools as words, aligned to the right.
std::unique_ptr<Cells> word_cells(const bool* data, std::size_t width);

/// Writes the letters between `begin` and `end`, aligned to the right of `width` columns.
inline char* write_padded(char* out, const char* begin, const char* end, std::size_t width) {
    const auto length = static_cast<std::size_t>(end - begin);
    if (length < width) out = write_blanks(out, width - length);
    std::memcpy(out, begin, length);
    return out + length;
}

/// Writes `nan`, `inf` or `-inf`, aligned to the right in the same way.
char* write_not_finite(char* out, double value, std::size_t width);

}  // namespace attn
