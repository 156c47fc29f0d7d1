#pragma once
#include <string>

#include "attn/render/document.hpp"
#include "attn/render/text_pieces.hpp"

namespace attn {

/// What is printed of a section: its tensor in that form, or its text.
std::string content_text(const Section& section, TextForm form, const PrintOptions& options);

/// The same, written in pieces: the memory it takes does not grow with the tensor.
void write_content(TextPieces& text, const Section& section, TextForm form,
                   const PrintOptions& options);

}  // namespace attn
