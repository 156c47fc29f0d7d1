#include "attn/render/cells.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

void Cells::write(TextPieces& text, std::size_t begin, std::size_t end,
                  const Separators& separators, RowPlace& place) const {
    // Any number may be as long as the longest, and words may be written beyond the end.
    const std::size_t most = std::max(width_, std::tuple_size_v<NumberBuffer>) + 16 +
                             std::max(separators.gap.size(), separators.line_break.size());
    const std::size_t most_at_once = std::max<std::size_t>(1, TextPieces::piece_size / 4 / most);
    while (begin != end) {
        const std::size_t count = std::min(most_at_once, end - begin);
        char* out = text.room(count * most);
        const Run run = write_run(out, begin, begin + count, separators, place);
        text.keep(run.end);
        place.first = false;
        if (run.line_begin != nullptr) {
            place.line_begin = text.size() - static_cast<std::size_t>(run.end - run.line_begin);
        }
        begin += count;
    }
}

std::unique_ptr<Cells> integer_cells(const std::int64_t* data, std::size_t width) {
    return make_cells(data, width, [width](char* out, std::int64_t value) {
        NumberBuffer buffer;
        return write_padded(out, buffer.data(), write_integer(buffer.data(), value), width);
    });
}

std::unique_ptr<Cells> word_cells(const bool* data, std::size_t width) {
    return make_cells(data, width, [width](char* out, bool value) {
        const std::string_view word = value ? "True" : "False";
        return write_padded(out, word.data(), word.data() + word.size(), width);
    });
}

char* write_not_finite(char* out, double value, std::size_t width) {
    constexpr std::uint64_t nan = 'n' | 'a' << 8 | 'n' << 16;
    constexpr std::uint64_t inf = 'i' | 'n' << 8 | 'f' << 16;
    const std::size_t length = value < 0 ? 4 : 3;
    if (length < width) out = write_blanks(out, width - length);
    store(out, std::isnan(value) ? nan : value < 0 ? inf << 8 | '-' : inf);
    return out + length;
}

}  // namespace attn
