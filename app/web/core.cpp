// Entry points for a page: the page passes the words of a command line and receives the program's
// output; messages go to standard error.
#include "app/web/core.hpp"

#include <exception>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/ground/text/strings.hpp"

namespace {

std::string words;

}  // namespace

/// Allocates `size` bytes for the words, each with a terminating 0.
ATTN_EXPORT(attn_room) char* attn_room(std::size_t size) {
    words.assign(size, '\0');
    return words.data();
}

/// Runs the command in that buffer. Returns the exit code.
ATTN_EXPORT(attn_run) int attn_run() {
    attn::setting_prefix = "--";
    app::written.clear();
    std::vector<std::string> all;
    for (std::size_t at = 0; at < words.size(); at += all.back().size() + 1) {
        all.emplace_back(words.c_str() + at);
    }
    try {
        static const app::Command walk = app::walk_command();
        app::Arguments arguments(walk.tables);
        arguments.parse(all);
        const int code = walk.run(app::completed(std::move(arguments)));
        app::release_notes();
        return code;
    } catch (const std::exception& error) {
        app::report_error(error.what());
        return 2;
    }
}

ATTN_EXPORT(attn_written) const char* attn_written() { return app::written.data(); }
ATTN_EXPORT(attn_written_size) std::size_t attn_written_size() { return app::written.size(); }
