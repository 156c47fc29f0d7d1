#pragma once
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::models {

// What tokenizers that join pieces share.

/// Stands for a blank in sentencepiece's pieces.
constexpr std::string_view word_mark = "\u2581";

/// The piece of a byte that no other piece holds: `<0x0A>`.
std::string byte_piece(unsigned char byte);
/// The byte of such a piece, or -1 for others.
int byte_of(std::string_view piece);

/// What two neighbours become when they are joined.
template <class Symbol>
struct Joined {
    double rank = 0;
    Symbol symbol{};
};

/// Joins neighbours until `joined_of(left, right)`, an optional Joined, gives nothing for any two:
/// always the two of the lowest rank, of equals the first.
///
/// Why  a text of n symbols takes n log n steps, not n^2: what can be joined waits in a queue, and
///      what has changed meanwhile is passed over.
template <class Symbol, class JoinedOf>
std::vector<Symbol> join_best(std::vector<Symbol> symbols, const JoinedOf& joined_of) {
    struct Place {
        std::size_t before, after;
        std::size_t joins = 0;  // how often this place has changed
        bool gone = false;
    };
    struct Waiting {
        double rank;
        std::size_t left, right, joins;  // joins of both together, when this was found
        Symbol symbol;
        bool operator<(const Waiting& other) const {
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    const std::size_t count = symbols.size();
    std::vector<Place> places(count);
    std::priority_queue<Waiting> queue;
    const auto propose = [&](std::size_t left, std::size_t right) {
        auto joined = joined_of(symbols[left], symbols[right]);
        if (!joined) return;
        queue.push({joined->rank, left, right, places[left].joins + places[right].joins,
                    std::move(joined->symbol)});
    };
    for (std::size_t i = 0; i < count; ++i) places[i] = {i - 1, i + 1};
    for (std::size_t i = 0; i + 1 < count; ++i) propose(i, i + 1);
    while (!queue.empty()) {
        const Waiting best = queue.top();
        queue.pop();
        Place& left = places[best.left];
        Place& right = places[best.right];
        if (left.gone || right.gone || left.joins + right.joins != best.joins) continue;
        symbols[best.left] = best.symbol;
        ++left.joins;
        left.after = right.after;
        right.gone = true;
        if (left.after < count) places[left.after].before = best.left;
        if (best.left > 0) propose(left.before, best.left);
        if (left.after < count) propose(best.left, left.after);
    }
    std::vector<Symbol> result;
    for (std::size_t i = 0; i < count; ++i) {
        if (!places[i].gone) result.push_back(std::move(symbols[i]));
    }
    return result;
}

}  // namespace attn::models
