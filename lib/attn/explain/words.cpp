#include "attn/explain/words.hpp"

#include <cmath>

#include <fmt/format.h>

namespace attn {

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

}  // namespace attn
