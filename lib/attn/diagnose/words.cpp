#include "attn/diagnose/words.hpp"

#include "attn/mistakes/mistake.hpp"

namespace attn {

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string ids_of(const std::vector<const Mistake*>& mistakes) {
    std::string text;
    for (const Mistake* mistake : mistakes) text += (text.empty() ? "" : ", ") + mistake->id;
    return text;
}

}  // namespace attn
