#include "attn/text/closest.hpp"

#include <algorithm>
#include <numeric>

namespace attn {
namespace {

/// Levenshtein's distance: insertions, deletions and replacements from one word to the other.
std::size_t edits(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
    std::string best;
    std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edits(word, candidate);
        if (distance < fewest) {
            fewest = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace attn
