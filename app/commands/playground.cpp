#include <string_view>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"
#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/render.hpp"

extern "C" {
extern const char attn_play[], attn_play_css[], attn_play_worker[];
}

namespace app {
namespace {

/// Builds the page: the program as WebAssembly with a command line, and a compressed model or none.
std::string page_with(const std::string& packed_model) {
    const auto embedded = [](const std::string& id, const std::string& letters) {
        return "<script type=\"text/plain\" id=\"" + id + "\">" + letters + "</script>\n";
    };
    std::string page =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; frame-src blob:\">\n<link rel=\"icon\" href=\"data:,\">\n"
        "<title>attn-explain</title>\n<style>\n";
    page += attn::squeezed_style(attn::page_css) +
            attn::squeezed_style(std::string_view(attn_play_css));
    page += "</style>\n<style media=\"screen and (prefers-color-scheme: dark)\">\n";
    page += attn::squeezed_style(attn::page_dark_css);
    page +=
        "</style>\n</head>\n<body>\n<noscript><p>This page needs JavaScript, which it contains."
        "</p></noscript>\n";
    page += embedded("program", attn::as_letters(attn::page_program)) +
            embedded("glue", attn::as_letters(attn::page_glue));
    page += embedded("worker", attn::squeezed_script(std::string_view(attn_play_worker)));
    if (!packed_model.empty()) page += embedded("model", attn::as_letters(packed_model));
    page += "<script>\n(() => {\n" + attn::squeezed_script(attn::page_root_js) +
            attn::squeezed_script(attn::page_core_js);
    page += attn::squeezed_script(std::string_view(attn_play)) +
            "new Play();\n})();\n</script>\n</body>\n</html>\n";
    return page;
}

int run_playground(const Arguments& arguments) {
    if (attn::page_program.empty()) {
        throw attn::ConfigError("a page cannot write another page: run attn-explain itself");
    }
    if (is_to_terminal(arguments)) {
        throw attn::ConfigError("playground writes a page of several megabytes: pass -o play.html");
    }
    const std::string model =
        arguments.has(flags::no_model) ? std::string() : attn::models::packed_stories();
    write_text(arguments, page_with(model));
    return 0;
}

std::vector<Flag> playground_flags() {
    return grouped("Page",
                   {{flags::no_model, "", "leave the trained model out: two thirds of the size"},
                    output_flag({".html"})});
}

}  // namespace

Command playground_command() {
    return {"playground",
            "write one page with the whole program",
            {table<playground_flags>},
            run_playground,
            {{"attn-explain playground -o play.html",
              "All commands in a browser, without a network; links contain commands."}}};
}

}  // namespace app
