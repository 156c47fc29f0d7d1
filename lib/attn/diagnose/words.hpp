#pragma once
#include <string>
#include <vector>

#include "attn/text/json.hpp"
#include "attn/text/numbers.hpp"

namespace attn {

/// `text` filled up with blanks to `width` columns.
std::string padded(std::string text, std::size_t width);

struct Mistake;

/// The ids of mistakes, `a, b, c`.
std::string ids_of(const std::vector<const Mistake*>& mistakes);

}  // namespace attn
