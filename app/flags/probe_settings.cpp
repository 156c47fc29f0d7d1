#include "app/flags/probe_settings.hpp"

#include "app/flags/config_file.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/io/zip.hpp"

namespace app {
namespace {

/// What begins the comment. Other programs may write comments of their own.
constexpr std::string_view mark = "attn-explain settings\n";

}  // namespace

std::string probe_settings(const Arguments& arguments) {
    const Arguments walk = arguments.narrowed_to({walk_flags});
    if (walk.said().empty()) return "";
    const std::string comment = std::string(mark) + settings_json(walk);
    return comment.size() <= attn::longest_zip_comment ? comment : "";
}

Arguments with_probe_settings(Arguments typed) {
    const std::string path = typed.text("--given");
    if (!path.ends_with(".npz")) return typed;
    const std::string comment = attn::zip_comment(attn::InputFile(path));
    if (!comment.starts_with(mark)) return typed;
    const Arguments held = settings_in(comment.substr(mark.size()), path, typed);
    std::string words;
    for (const Flag& flag : walk_flags()) {
        if (typed.has(flag.name)) continue;
        for (const std::string& text : held.all(flag.name)) {
            words += " " + flag.name + (text.empty() ? "" : " " + shell_quoted(text));
        }
    }
    if (!words.empty()) report_note(path + " was made with" + words);
    put_settings_under(typed, held);
    return typed;
}

}  // namespace app
