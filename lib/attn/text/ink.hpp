#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace attn {

/// Escape sequences before and after words that a terminal highlights; empty where there are no
/// colours. What a colour means stands in words too.
struct Ink {
    std::string_view heading{};
    std::string_view formula{};
    std::string_view mistake{};
    std::string_view differing{};
    std::string_view plain{};  ///< ends each of them

    /// `text` in one of these: `ink.of(ink.heading, "weights")`.
    std::string of(std::string_view kind, std::string_view text) const {
        if (kind.empty() || text.empty()) return std::string(text);
        return std::string(kind).append(text).append(plain);
    }

    /// A number with its digits from the first one on that `other` does not share.
    std::string unlike(std::string_view other, std::string_view number) const {
        const auto end =
            number.begin() + static_cast<std::ptrdiff_t>(std::min(number.size(), other.size()));
        const auto same = static_cast<std::size_t>(
            std::mismatch(number.begin(), end, other.begin()).first - number.begin());
        return std::string(number.substr(0, same)) + of(differing, number.substr(same));
    }
};

}  // namespace attn
