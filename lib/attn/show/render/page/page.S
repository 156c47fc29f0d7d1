// The style and the script of --format html, embedded: all files of a kind, joined; and the core of
// live pages, which app/web builds.
#include "attn/ground/embed.h"
        embedded
        at_label attn_page_css
        .incbin "page.css"
        .incbin "strip.css"
        .incbin "tensor.css"
        .incbin "screens.css"
        at_label attn_page_heads_css
        .incbin "heads.css"
        at_label attn_page_dark_css
        .incbin "dark.css"
        at_label attn_page_heads_js
        .incbin "heads.js"
        at_label attn_page_js
        .incbin "root.js"
        at_label attn_page_after_root
        .incbin "walk.js"
        .incbin "derive.js"
        .incbin "table.js"
        .incbin "tabs.js"
        .incbin "search.js"
        .incbin "lines.js"
        .incbin "draw.js"
        .incbin "why.js"
        .incbin "compare.js"
        .incbin "strip.js"
        .incbin "turn.js"
        .incbin "take.js"
        .incbin "keys.js"
        .incbin "frame.js"
        .incbin "steps.js"
        .incbin "page.js"
        at_label attn_page_bounds_css
        .incbin "bounds.css"
        at_label attn_page_bounds_js
        .incbin "bounds.js"
        at_label attn_page_slider_css
        .incbin "slider.css"
        at_label attn_page_slider_js
        .incbin "slider.js"
        at_label attn_page_thumbs_css
        .incbin "thumbs.css"
        at_label attn_page_thumbs_js
        .incbin "thumbs.js"
        at_label attn_page_live_css
        .incbin "live.css"
        at_label attn_page_live_js
        .incbin "letters.js"
        .incbin "core.js"
        at_label attn_page_after_core
        .incbin "tour.js"
        .incbin "live.js"
        at_label attn_page_core
#ifndef ATTN_WITHOUT_CORE
        .incbin "core.wasm.gz"
#endif
        at_label attn_page_program
#ifndef ATTN_WITHOUT_CORE
        .incbin "program.wasm.gz"
#endif
        at_label attn_page_glue
#ifndef ATTN_WITHOUT_CORE
        .incbin "program.js.gz"
#endif
        at_label attn_page_end
