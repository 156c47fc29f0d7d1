// The style and the script of --format html, laid into the program as they are: all files of a
// kind in a row; and the core of live pages, which app/web makes.
        .macro  lay name
        .globl  \name
\name:
        .endm

        .section .rodata
        lay     attn_page_css
        .incbin "page.css"
        .incbin "strip.css"
        .incbin "tensor.css"
        .incbin "screens.css"
        lay     attn_page_heads_css
        .incbin "heads.css"
        lay     attn_page_dark_css
        .incbin "dark.css"
        lay     attn_page_heads_js
        .incbin "heads.js"
        lay     attn_page_js
        .incbin "root.js"
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
        lay     attn_page_bounds_css
        .incbin "bounds.css"
        lay     attn_page_bounds_js
        .incbin "bounds.js"
        lay     attn_page_slider_css
        .incbin "slider.css"
        lay     attn_page_slider_js
        .incbin "slider.js"
        lay     attn_page_live_css
        .incbin "live.css"
        lay     attn_page_live_js
        .incbin "core.js"
        .incbin "tour.js"
        .incbin "live.js"
        lay     attn_page_core
        .incbin "core.wasm.gz"
        lay     attn_page_end

        .section .note.GNU-stack, "", %progbits
