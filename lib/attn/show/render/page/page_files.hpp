#pragma once
#include <string>
#include <string_view>

namespace attn {

/// Files of this folder, embedded byte for byte (see page.S).
extern const std::string_view page_css;
extern const std::string_view page_heads_css;  ///< only for the page of a model's heads
extern const std::string_view page_dark_css;
extern const std::string_view page_heads_js;
extern const std::string_view page_js;
extern const std::string_view page_compare_js;  ///< only for pages of two walks
extern const std::string_view page_bounds_css;  ///< only for pages with bounds
extern const std::string_view page_bounds_js;
extern const std::string_view page_roles_css;
extern const std::string_view page_roles_js;    ///< only for attentions without the usual weights
extern const std::string_view page_next_js;     ///< only for pages with the next word of a model
extern const std::string_view page_thumbs_css;  ///< only for pages with more than two heads
extern const std::string_view page_thumbs_js;
extern const std::string_view page_listing_css;  ///< only for pages with a program
extern const std::string_view page_listing_js;
extern const std::string_view page_live_css;  ///< only for live pages
extern const std::string_view page_live_js;
extern const std::string_view page_root_js;  ///< only root.js
/// Only for pages of one table, or of text: the frame, and root.js with grid.js.
extern const std::string_view page_frame_css, page_plain_css, page_grid_js, page_plain_js;
extern const std::string_view page_core_js;  ///< only core.js
/// WebAssembly, compressed by gzip, and its JavaScript: empty in the program inside a page.
extern const std::string_view page_core;
extern const std::string_view page_program;
extern const std::string_view page_glue;

/// Minifies a script or a style sheet for a page: without indentation, without comments on lines of
/// their own, and without spaces around operators.
///
/// Range   strings are unchanged, and so are lines with a slash, which may begin a regular
///         expression. Requires strings that end on their line.
std::string squeezed_script(std::string_view text);
std::string squeezed_style(std::string_view text);

}  // namespace attn
