#include <unistd.h>

#include "app/flags/output_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"

namespace app {

attn::PrintOptions print_options(const Arguments& arguments) {
    attn::PrintOptions options;
    options.precision = arguments[flags::precision];
    if (arguments[flags::threshold] == "inf") {
        options.threshold = attn::no_threshold;
    } else if (arguments.has(flags::threshold)) {
        options.threshold = static_cast<std::size_t>(
            parse_integer(flags::threshold.text, arguments[flags::threshold], 0));
    }
    options.edgeitems = arguments[flags::edgeitems];
    options.linewidth = arguments[flags::linewidth];
    const std::string mode = arguments[flags::sci_mode];
    if (mode != "auto") options.sci_mode = mode == "on" ? attn::SciMode::on : attn::SciMode::off;
    return options;
}

void check_print_flags(const Arguments& arguments) {
    print_options(arguments);
    if (arguments.has(flags::only) && (arguments.has(flags::from) || arguments.has(flags::until))) {
        throw attn::ConfigError("--only already selects the steps: leave --from and --until out");
    }
}

TextChoices text_choices(const Arguments& arguments, attn::TextForm default_value,
                         attn::DType default_dtype) {
    TextChoices choices;
    choices.form = default_value;
    choices.options = print_options(arguments);
    choices.options.default_dtype = default_dtype;
    choices.options.ink = ink_of(arguments);
    const bool has_digits = arguments.find(flags::digits) != nullptr;
    const std::string digits = has_digits ? arguments[flags::digits] : "all";
    choices.options.certain_digits = digits == "certain";
    choices.words = arguments.has(flags::no_notes) ? attn::Words::none : attn::Words::all;
    choices.program_form = form_of(code_language(arguments, language_of(default_value)));
    const Shading shades = shading(arguments);
    if (shades.end != attn::ScaleEnd::automatic) choices.figure.end = shades.end;
    choices.figure.kind = arguments[flags::figure];
    choices.figure.theme = arguments[flags::theme];
    choices.figure.columns = arguments[flags::columns].value_or(0);
    choices.figure.width = arguments[flags::width].value_or(0);
    choices.figure.grid = tile_grid(arguments);
    if (is_live(arguments)) choices.figure.live = live_scripts(arguments);
    if (format_of(arguments).answers) choices.figure.next = next_words(arguments);
    choices.figure.embedded = arguments.has(flags::embed);
    // Numbers side by side are compared: one form without exponents, unless another is set.
    choices.figure.options = choices.options;
    if (choices.options.sci_mode == attn::SciMode::automatic) {
        choices.figure.options.sci_mode = attn::SciMode::off;
    }
    choices.figure.with_numbers = digits != "none";
    if (digits.size() == 1) choices.figure.options.precision = digits[0] - '0';
    choices.figure.with_words = choices.words == attn::Words::all;
    return choices;
}

Shading shading(const Arguments& arguments) {
    Shading result;
    if (!arguments.has(flags::heatmap)) return result;
    bool has_end = false;
    for (const std::string& word : split(arguments[flags::heatmap], ',')) {
        if (word.empty()) continue;
        if (word == "compact") {
            result.compact = true;
            continue;
        }
        if (has_end) {
            throw attn::ConfigError("--heatmap=" + arguments[flags::heatmap] +
                                    " names two scales: keep one");
        }
        has_end = true;
        result.end = parse_word<attn::ScaleEnd>("--heatmap", word);
    }
    return result;
}

std::string as_typed(const Arguments::SpecifiedFlag& specified) {
    const std::string name = specified.flag->is_positional() ? "" : " " + specified.flag->name;
    if (specified.text.empty()) return name;
    const bool joins = specified.flag->value_is_optional || looks_like_flag(specified.text);
    return name + (joins ? "=" : " ") + shell_quoted(specified.text);
}

std::string command_line(const std::string& command, const Arguments& arguments) {
    std::string line = "attn-explain" + (command.empty() ? "" : " " + command);
    for (const Arguments::SpecifiedFlag& specified : arguments.in_order()) {
        // The flags of --config and --preset are included themselves; flags for the output change
        // no number, but --digits certain marks them.
        const Flag& flag = *specified.flag;
        const bool is_separate =
            flag.is(of_output) && !(flag.is(flags::digits) && specified.text == "certain");
        if (flag.never_in_files || is_separate || flag.is(flags::preset)) continue;
        line += as_typed(specified);
    }
    if (arguments.find(flags::format) == nullptr) return line;
    const Format& format = format_of(arguments);
    const bool is_folder = arguments.has(flags::save_dir);
    if (format.printed == nullptr || arguments.has(flags::format) || is_folder) {
        line += " --format " + std::string(is_folder ? "json" : format.name);
    }
    return line;
}

namespace {

bool colors(const Arguments& arguments) {
    return arguments[flags::color] != "always" || arguments.find(flags::format) == nullptr ||
           format_of(arguments).printed != nullptr || format_of(arguments).is_program;
}

}  // namespace

const std::vector<Flag>& color_flags() {
    static const std::vector<Flag> all =
        grouped("Output", {Flag{flags::color, "WHEN", "colours, bold and underlined words",
                                one_of("auto always never"), "auto"}
                               .being(of_output)
                               .needing({colors, "a printed form: this format has none"})});
    return all;
}

std::string output_file(const Arguments& arguments) {
    const std::string path = arguments[flags::output];
    return path == "-" ? "" : path;
}

bool is_to_terminal(const Arguments& arguments) {
    return output_file(arguments).empty() && isatty(STDOUT_FILENO) != 0 &&
           !KeptOutput::is_for_file();
}

attn::Ink ink_of(const Arguments& arguments) {
    return ink_of(color_depth(arguments[flags::color], is_to_terminal(arguments)));
}

bool takes_hints(const Arguments& arguments) {
    return is_to_terminal(arguments) && format_of(arguments).printed != nullptr &&
           !arguments.has(flags::no_notes) && !arguments.has(flags::pace) &&
           !arguments.has(flags::summary) && !KeptOutput::is_kept();
}

}  // namespace app
