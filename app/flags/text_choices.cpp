#include "app/flags/live_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/read_words.hpp"

namespace app {

TextChoices text_choices(const Arguments& arguments, attn::TextForm usual,
                         attn::DType default_dtype) {
    TextChoices choices;
    choices.form = usual;
    choices.options = print_options(arguments);
    choices.options.default_dtype = default_dtype;
    choices.options.ink = ink_of(arguments);
    choices.words = arguments.has("--no-notes") ? attn::Words::none : attn::Words::all;
    const auto usual_language =
        usual == attn::TextForm::numpy ? attn::CodeLanguage::numpy : attn::CodeLanguage::torch;
    choices.program_form = code_language(arguments, usual_language) == attn::CodeLanguage::numpy
                               ? attn::TextForm::numpy
                               : attn::TextForm::torch;
    const Shading shades = shading(arguments);
    if (shades.end != attn::ScaleEnd::automatic) choices.figure.end = shades.end;
    choices.figure.kind = parse_word<attn::FigureKind>("--figure", arguments.text("--figure"));
    choices.figure.theme = parse_word<attn::Theme>("--theme", arguments.text("--theme"));
    if (is_live(arguments)) choices.figure.live = live_scripts(arguments);
    choices.figure.embedded = arguments.has("--embed");
    // Numbers side by side are compared: one form without exponents, unless another is asked for.
    choices.figure.options = choices.options;
    if (choices.options.sci_mode == attn::SciMode::automatic) {
        choices.figure.options.sci_mode = attn::SciMode::off;
    }
    choices.figure.with_words = choices.words == attn::Words::all;
    return choices;
}

Shading shading(const Arguments& arguments) {
    Shading result;
    if (!arguments.has("--heatmap")) return result;
    bool has_end = false;
    for (const std::string& word : split(arguments.text("--heatmap"), ',')) {
        if (word.empty()) continue;
        if (word == "compact") {
            result.compact = true;
            continue;
        }
        if (has_end) {
            throw attn::ConfigError("--heatmap=" + arguments.text("--heatmap") +
                                    " names two scales: keep one");
        }
        has_end = true;
        result.end = parse_word<attn::ScaleEnd>("--heatmap", word);
    }
    return result;
}

std::string command_line(const std::string& command, const Arguments& arguments) {
    std::string line = "attn-explain" + (command.empty() ? "" : " " + command);
    const auto has = [&](const char* name) {
        return arguments.find(name) != nullptr && arguments.has(name);
    };
    const bool says_defaults = has("--model-file") || has("--notebook");
    for (const FlagTable table : arguments.tables()) {
        for (const Flag& flag : table()) {
            // What --config and --preset say stands here itself; where output goes makes nothing.
            if (flag.never_in_files || flag.is(of_output) || flag.name == "--preset") continue;
            for (const auto& [said, text, implied] : arguments.said()) {
                if (said != &flag || implied) continue;
                // What is a default elsewhere may change what a model or a notebook says.
                const bool is_usual = flag.takes_next_word() && text == flag.usual;
                if (is_usual && !says_defaults) continue;
                if (!flag.is_positional()) line += " " + flag.name;
                if (text.empty()) continue;
                const bool joins = flag.may_stand_alone || looks_like_flag(text);
                line += (joins ? "=" : " ") + shell_quoted(text);
            }
        }
    }
    if (arguments.find("--format") == nullptr) return line;
    const Format& format = format_of(arguments);
    const bool is_folder = has("--save-dir");
    if (format.printed == nullptr || arguments.has("--format") || is_folder) {
        line += " --format " + std::string(is_folder ? "json" : format.name);
    }
    return line;
}

}  // namespace app
