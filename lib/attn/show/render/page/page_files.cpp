#include "attn/show/render/page/page_files.hpp"

extern "C" {
extern const char attn_page_css[], attn_page_heads_css[], attn_page_dark_css[];
extern const char attn_page_heads_js[], attn_page_js[], attn_page_bounds_css[];
extern const char attn_page_compare_js[], attn_page_bounds_js[], attn_page_roles_css[],
    attn_page_roles_js[], attn_page_next_js[];
extern const char attn_page_thumbs_css[], attn_page_thumbs_js[];
extern const char attn_page_listing_css[], attn_page_listing_js[];
extern const char attn_page_live_css[], attn_page_live_js[], attn_page_after_root[];
extern const char attn_page_after_core[], attn_page_core[], attn_page_program[];
extern const char attn_page_glue[], attn_page_end[], attn_page_after_frame[];
extern const char attn_page_after_grid[], attn_page_plain_css[], attn_page_plain_js[];
}

namespace attn {
namespace {

std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

const std::string_view page_css = between(attn_page_css, attn_page_heads_css);
const std::string_view page_heads_css = between(attn_page_heads_css, attn_page_dark_css);
const std::string_view page_dark_css = between(attn_page_dark_css, attn_page_heads_js);
const std::string_view page_heads_js = between(attn_page_heads_js, attn_page_js);
const std::string_view page_js = between(attn_page_js, attn_page_plain_css);
const std::string_view page_compare_js = between(attn_page_compare_js, attn_page_bounds_css);
const std::string_view page_bounds_css = between(attn_page_bounds_css, attn_page_bounds_js);
const std::string_view page_bounds_js = between(attn_page_bounds_js, attn_page_roles_css);
const std::string_view page_roles_css = between(attn_page_roles_css, attn_page_roles_js);
const std::string_view page_roles_js = between(attn_page_roles_js, attn_page_next_js);
const std::string_view page_next_js = between(attn_page_next_js, attn_page_thumbs_css);
const std::string_view page_thumbs_css = between(attn_page_thumbs_css, attn_page_thumbs_js);
const std::string_view page_thumbs_js = between(attn_page_thumbs_js, attn_page_listing_css);
const std::string_view page_listing_css = between(attn_page_listing_css, attn_page_listing_js);
const std::string_view page_listing_js = between(attn_page_listing_js, attn_page_live_css);
const std::string_view page_live_css = between(attn_page_live_css, attn_page_live_js);
const std::string_view page_live_js = between(attn_page_live_js, attn_page_core);
const std::string_view page_root_js = between(attn_page_js, attn_page_after_root);
const std::string_view page_frame_css = between(attn_page_css, attn_page_after_frame);
const std::string_view page_plain_css = between(attn_page_plain_css, attn_page_plain_js);
const std::string_view page_grid_js = between(attn_page_js, attn_page_after_grid);
const std::string_view page_plain_js = between(attn_page_plain_js, attn_page_compare_js);
const std::string_view page_core_js = between(attn_page_live_js, attn_page_after_core);
const std::string_view page_core = between(attn_page_core, attn_page_program);
const std::string_view page_program = between(attn_page_program, attn_page_glue);
const std::string_view page_glue = between(attn_page_glue, attn_page_end);

}  // namespace attn
