#pragma once
#include <string>

#include "attn/render/document.hpp"

namespace attn {

/// What is printed of a section: its tensor in that form, or its text.
std::string content_text(const Section& section, TextForm form, const PrintOptions& options);

}  // namespace attn
