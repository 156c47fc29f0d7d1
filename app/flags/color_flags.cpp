#include <unistd.h>

#include "app/flags/output_flags.hpp"
#include "app/terminal/color.hpp"
#include "app/terminal/standard_output.hpp"

namespace app {
namespace {

std::vector<std::string> auto_always_never() { return {"auto", "always", "never"}; }

bool colors(const Arguments& arguments) {
    return arguments.text("--color") != "always" || arguments.find("--format") == nullptr ||
           format_of(arguments).printed != nullptr || format_of(arguments).is_program;
}

}  // namespace

const std::vector<Flag>& color_flags() {
    static const std::vector<Flag> all = grouped(
        "Output", {Flag{"--color", "WHEN", "colours, bold and underlined words",
                        one_of(auto_always_never), "auto"}
                       .being(of_output)
                       .needing({colors, nullptr, "a printed form: this format has none"})});
    return all;
}

bool is_to_terminal(const Arguments& arguments) {
    const std::string path = arguments.text("--output");
    return (path.empty() || path == "-") && isatty(STDOUT_FILENO) != 0 &&
           !KeptOutput::is_for_file();
}

attn::Ink ink_of(const Arguments& arguments) {
    return ink_of(color_depth(arguments.text("--color"), is_to_terminal(arguments)));
}

bool takes_hints(const Arguments& arguments) {
    return is_to_terminal(arguments) && format_of(arguments).printed != nullptr &&
           !arguments.has("--no-notes") && !arguments.has("--pace") &&
           !arguments.has("--summary") && !KeptOutput::is_kept();
}

}  // namespace app
