#pragma once
#include <string>

#include "attn/document/document.hpp"

namespace attn {

/// One line for each printed tensor: shape, type, least, largest and mean number, how many are nan
/// or infinite; of weights also what their rows sum to and their mean entropy in bits.
///
/// Range   numbers that are not finite count for none of the rest.
std::string summary_text(const Document& document);

}  // namespace attn
