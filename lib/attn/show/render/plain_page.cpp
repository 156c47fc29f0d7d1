#include "attn/show/render/color_scale.hpp"
#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {

std::string plain_page(const PlainPage& page) {
    std::string text =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>" +
        xml_text(page.title) + "</title>\n<style>\n";
    const auto colors = [](Page paper) {
        return squeezed_style(role_style(paper)) +
               squeezed_style(scale_style(paper, "background", "", "color"));
    };
    text += squeezed_style(page_frame_css) + squeezed_style(page_plain_css) + colors(Page::light);
    text += "</style>\n<style id=\"dark\" media=\"screen and (prefers-color-scheme: dark)\">\n";
    text += squeezed_style(page_dark_css) + colors(Page::dark) + "</style>\n</head>\n<body>\n";
    text += "<header><h1>" + xml_text(page.title) + "</h1><p class=\"command\">made by <code>" +
            xml_text(page.command) + "</code></p></header>\n<section class=\"tools\" " +
            "aria-label=\"tools\"></section>\n<main>\n" + page.body +
            "</main>\n<script>\n(() => {\n";
    text += squeezed_script(page_grid_js) + squeezed_script(page_plain_js);
    return text + "})();\n</script>\n</body>\n</html>\n";
}

}  // namespace attn
