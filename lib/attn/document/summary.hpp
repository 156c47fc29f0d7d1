#pragma once
#include <string>
#include <string_view>

#include "attn/document/document.hpp"

namespace attn {

/// One line for each printed tensor: shape, type, least, largest and mean number, how many are nan
/// or infinite; of weights also what their rows sum to and their mean entropy in bits.
///
/// Range   numbers that are not finite count for none of the rest.
std::string summary_text(const Document& document);

/// Which printed tensors have other cells than before, and how many: `x 1 of 12 cells, context
/// all`; `nothing` where none has.
std::string changes_of(const Document& document, const Document& before);

/// A printed tensor with the numbers set apart that it printed otherwise before. Where it is laid
/// out otherwise too, all stays plain.
std::string marked(std::string_view text, std::string_view before, const Ink& ink);

}  // namespace attn
