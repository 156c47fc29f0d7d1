#pragma once
#include <string>

#include "attn/text/json.hpp"
#include "attn/text/numbers.hpp"

namespace attn {

/// `text` filled up with blanks to `width` columns.
std::string padded(std::string text, std::size_t width);

}  // namespace attn
