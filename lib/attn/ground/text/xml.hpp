#pragma once
#include <string>
#include <string_view>

namespace attn {

/// Escapes foreign text for XML and HTML, in content and attributes: `<`, `>`, `&`, quotes,
/// controls and bidi controls.
std::string xml_text(std::string_view text);

}  // namespace attn
