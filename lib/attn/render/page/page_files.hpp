#pragma once
#include <string_view>

namespace attn {

/// Files of this folder that the program holds, byte for byte (see page.S).
extern const std::string_view page_css;
extern const std::string_view page_heads_css;  ///< of a page of a model's heads alone
extern const std::string_view page_dark_css;
extern const std::string_view page_heads_js;
extern const std::string_view page_js;
extern const std::string_view page_live_css;  ///< of a page with knobs alone
extern const std::string_view page_live_js;
extern const std::string_view page_core;  ///< WebAssembly, packed by gzip

}  // namespace attn
