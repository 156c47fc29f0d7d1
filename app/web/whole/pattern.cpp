// Regular expressions by node's own engine.
#include "attn/ground/text/pattern.hpp"

#include <cstdint>

#include "attn/ground/tensor/error.hpp"

extern "C" {
/// Stores a pattern; returns its index, or -1 and the error in `reason`.
int node_pattern(const char* text, std::size_t size, char* reason, std::size_t room);
/// Writes the byte ranges of all matches of a stored pattern to `places`; returns their number.
int node_matches(int pattern, const char* text, std::size_t size, std::uint32_t* places);
}

namespace attn {

Pattern::Pattern(std::string_view text, const std::string& label)
    : shown_((label.empty() ? "" : label + ": ") + "the pattern '" + std::string(text) + "'") {
    char reason[200];
    const int number = node_pattern(text.data(), text.size(), reason, sizeof reason);
    if (number < 0)
        throw InputError(shown_ + " is not understood, " + reason + ": write another one");
    compiled_ = std::make_shared<int>(number);
}

std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view text) const {
    const int number = *static_cast<const int*>(compiled_.get());
    std::vector<std::uint32_t> ends(2 * text.size());  // a match has at least one byte
    const int count = node_matches(number, text.data(), text.size(), ends.data());
    if (count < 0) throw InputError(shown_ + ": the text is not UTF-8");
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        places.emplace_back(ends[2 * i], ends[2 * i + 1]);
    }
    return places;
}

}  // namespace attn
