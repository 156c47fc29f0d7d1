#include <utility>

#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/render.hpp"

namespace attn {

std::string playground_page(const std::string& packed_model) {
    const auto held = [](const std::string& id, const std::string& letters) {
        return "<script type=\"text/plain\" id=\"" + id + "\">" + letters + "</script>\n";
    };
    std::string page =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; frame-src blob:\">\n<link rel=\"icon\" href=\"data:,\">\n"
        "<title>attn-explain</title>\n<style>\n";
    page += squeezed_style(page_css) + squeezed_style(page_play_css);
    page += "</style>\n<style media=\"screen and (prefers-color-scheme: dark)\">\n";
    page += squeezed_style(page_dark_css);
    page +=
        "</style>\n</head>\n<body>\n<noscript><p>This page needs JavaScript, which it holds."
        "</p></noscript>\n";
    page += held("program", as_letters(page_program)) + held("glue", as_letters(page_glue));
    page += held("worker", squeezed_script(page_play_worker));
    if (!packed_model.empty()) page += held("model", as_letters(packed_model));
    page += "<script>\n(() => {\n" + squeezed_script(page_root_js) + squeezed_script(page_core_js);
    page += squeezed_script(page_play_js) + "new Play();\n})();\n</script>\n</body>\n</html>\n";
    return page;
}

}  // namespace attn
