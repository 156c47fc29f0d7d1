#pragma once
#include <string>
#include <string_view>

namespace attn {

/// Files of this folder that the program holds, byte for byte (see page.S).
extern const std::string_view page_css;
extern const std::string_view page_heads_css;  ///< of a page of a model's heads alone
extern const std::string_view page_dark_css;
extern const std::string_view page_heads_js;
extern const std::string_view page_js;
extern const std::string_view page_bounds_css;  ///< of a page with bounds alone
extern const std::string_view page_bounds_js;
extern const std::string_view page_slider_css;  ///< of a page with a recurrence alone
extern const std::string_view page_slider_js;
extern const std::string_view page_thumbs_css;  ///< of a page with more than two heads alone
extern const std::string_view page_thumbs_js;
extern const std::string_view page_listing_css;  ///< of a page with a program alone
extern const std::string_view page_listing_js;
extern const std::string_view page_live_css;  ///< of a page with knobs alone
extern const std::string_view page_live_js;
extern const std::string_view page_root_js;  ///< root.js alone
extern const std::string_view page_core_js;  ///< core.js alone
/// WebAssembly, packed by gzip, and JavaScript that it needs: empty in the program that a page
/// holds.
extern const std::string_view page_core;
extern const std::string_view page_program;
extern const std::string_view page_glue;

/// A script or a style sheet as a page carries it: without indents, without the comments that have
/// lines of their own, and without the blanks around signs. Those are for whoever reads the
/// sources.
///
/// Range   texts stay as they are, and so do lines with a slash, which may begin a regular
/// expression. A text does not go on over several lines.
std::string squeezed_script(std::string_view text);
std::string squeezed_style(std::string_view text);

}  // namespace attn
