#include "attn/show/render/page/page_files.hpp"

extern "C" {
extern const char attn_page_css[], attn_page_heads_css[], attn_page_dark_css[];
extern const char attn_page_heads_js[], attn_page_js[], attn_page_bounds_css[];
extern const char attn_page_bounds_js[], attn_page_slider_css[], attn_page_slider_js[];
extern const char attn_page_live_css[], attn_page_live_js[], attn_page_core[], attn_page_end[];
}

namespace attn {

const std::string_view page_css(attn_page_css, attn_page_heads_css - attn_page_css);
const std::string_view page_heads_css(attn_page_heads_css,
                                      attn_page_dark_css - attn_page_heads_css);
const std::string_view page_dark_css(attn_page_dark_css, attn_page_heads_js - attn_page_dark_css);
const std::string_view page_heads_js(attn_page_heads_js, attn_page_js - attn_page_heads_js);
const std::string_view page_js(attn_page_js, attn_page_bounds_css - attn_page_js);
const std::string_view page_bounds_css(attn_page_bounds_css,
                                       attn_page_bounds_js - attn_page_bounds_css);
const std::string_view page_bounds_js(attn_page_bounds_js,
                                      attn_page_slider_css - attn_page_bounds_js);
const std::string_view page_slider_css(attn_page_slider_css,
                                       attn_page_slider_js - attn_page_slider_css);
const std::string_view page_slider_js(attn_page_slider_js,
                                      attn_page_live_css - attn_page_slider_js);
const std::string_view page_live_css(attn_page_live_css, attn_page_live_js - attn_page_live_css);
const std::string_view page_live_js(attn_page_live_js, attn_page_core - attn_page_live_js);
const std::string_view page_core(attn_page_core, attn_page_end - attn_page_core);

}  // namespace attn
