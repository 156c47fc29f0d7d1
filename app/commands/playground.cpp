#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/open_model.hpp"
#include "attn/show/render/page/page_files.hpp"
#include "attn/show/render/render.hpp"

namespace app {
namespace {

int run_playground(const Arguments& arguments) {
    if (attn::page_program.empty()) {
        throw attn::ConfigError("a page holds no further page: run attn-explain itself");
    }
    if (is_to_terminal(arguments)) {
        throw attn::ConfigError(
            "playground writes a page of some megabytes: say where, as in -o play.html");
    }
    remove_temporaries_on_signals();
    const std::string model =
        arguments.has(flags::no_model) ? std::string() : attn::models::packed_stories();
    write_text(arguments, attn::playground_page(model));
    return 0;
}

const std::vector<Flag>& playground_flags() {
    static const std::vector<Flag> all = grouped(
        "Page", {{flags::no_model, "", "leave the trained model out: two thirds of the size"},
                 output_flag({".html"})});
    return all;
}

}  // namespace

Command playground_command() {
    return {"playground",
            "write one page that holds the whole program",
            {playground_flags},
            run_playground,
            {{"attn-explain playground -o play.html",
              "All commands in a browser, without a network: a link holds a command."}}};
}

}  // namespace app
