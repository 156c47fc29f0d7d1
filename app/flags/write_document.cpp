#include <unistd.h>

#include <csignal>
#include <functional>

#include "app/flags/formats.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/heatmap.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/io/npy.hpp"
#include "attn/io/output_folder.hpp"

namespace app {
namespace {

const Format& format_of(const OutputFlags& flags, attn::TextForm usual) {
    if (!flags.format.empty()) return find_format(flags.format);
    return find_format(usual == attn::TextForm::numpy ? "numpy" : "torch");
}

TextChoices text_choices(const OutputFlags& flags, attn::TextForm usual,
                         attn::DType default_dtype) {
    TextChoices choices;
    choices.form = usual;
    choices.options = print_options(flags);
    choices.options.default_dtype = default_dtype;
    choices.words = flags.no_notes ? attn::Words::none : attn::Words::all;
    const auto usual_language =
        usual == attn::TextForm::numpy ? attn::CodeLanguage::numpy : attn::CodeLanguage::torch;
    choices.program_form = code_language(flags, usual_language) == attn::CodeLanguage::numpy
                               ? attn::TextForm::numpy
                               : attn::TextForm::torch;
    return choices;
}

/// What is written: text to a sink, or data to a file.
struct Writing {
    std::function<void(const attn::Sink&)> render;
    std::function<void(attn::OutputFile&)> write;
};

/// Prints a document with a pause between its steps.
void print_at_a_pace(const attn::Document& document,
                     const std::function<void(const attn::Document&, const attn::Sink&)>& render,
                     bool apart) {
    Pace pace;
    attn::Document whole = document;
    attn::gather_code(whole);
    attn::Document part = whole;
    bool first = true;
    for (const attn::Section& section : whole.sections) {
        if (!section.shown) continue;
        if (!first) pace.wait();
        StandardOutput output;
        if (!first && apart) output.write("\n");
        first = false;
        part.sections = {section};
        render(part, [&output](std::string_view text) { output.write(text); });
        output.flush();
    }
}

void print(const Writing& writing) {
    if (writing.render) {
        StandardOutput output;
        writing.render([&output](std::string_view text) { output.write(text); });
        output.flush();
        return;
    }
    // A reader that closes the pipe shall end the program quietly here too.
    std::signal(SIGPIPE, SIG_DFL);
    attn::OutputFile output("/dev/stdout");
    writing.write(output);
    output.commit();
}

void save(const std::string& path, const Writing& writing) {
    attn::OutputFile file(path);
    if (writing.render) {
        writing.render([&file](std::string_view text) { file.write(text); });
    } else {
        writing.write(file);
    }
    file.commit();
}

/// The columns of the terminal, where the output goes to one and no flag says otherwise.
std::size_t line_columns(const OutputFlags& flags, bool to_terminal) {
    const auto size = terminal_size(STDOUT_FILENO);
    if (!flags.linewidth && to_terminal && size) return size->columns;
    return static_cast<std::size_t>(flags.linewidth.value_or(80));
}

/// Writes the shown sections as labelled grids, shaded where the output takes colours.
void render_heatmap(const OutputFlags& flags, const attn::Document& document,
                    const TextChoices& choices, const attn::Sink& sink) {
    const bool to_terminal =
        (flags.output.empty() || flags.output == "-") && isatty(STDOUT_FILENO) != 0;
    const HeatmapChoices heatmap{choices.options, color_depth(flags.color, to_terminal),
                                 line_columns(flags, to_terminal)};
    attn::Document gathered = document;
    attn::gather_code(gathered);
    const attn::ContentForm form = [&](const attn::Section& section) {
        return heatmap_text(section, gathered, heatmap);
    };
    attn::render_text(gathered, form, choices.options, choices.words, sink);
}

/// `03_query.npy`: in the order of the walk however a folder is listed.
std::string step_file_name(std::size_t number, const std::string& name) {
    const std::string digits = std::to_string(number);
    return (digits.size() < 2 ? "0" : "") + digits + "_" + name + ".npy";
}

void save_folder(const std::string& path, const attn::Document& document) {
    attn::OutputFolder folder(path);
    std::size_t number = 0;
    for (const attn::Section& section : document.sections) {
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        if (tensor == nullptr || !section.shown) continue;
        attn::OutputFile file(folder.file(step_file_name(++number, section.name)));
        attn::write_npy(file, *tensor);
        file.commit();
    }
    attn::OutputFile file(folder.file("walk.json"));
    attn::render_json(document, [&file](std::string_view text) { file.write(text); });
    file.commit();
    folder.commit();
}

}  // namespace

void write_document(const OutputFlags& flags, const attn::Document& document, attn::TextForm usual,
                    attn::DType default_dtype) {
    const TextChoices choices = text_choices(flags, usual, default_dtype);
    const Format& format = format_of(flags, usual);
    const auto render = [&](const attn::Document& shown, const attn::Sink& sink) {
        if (flags.heatmap) {
            render_heatmap(flags, shown, choices, sink);
        } else {
            format.render(shown, choices, sink);
        }
    };
    Writing writing;
    if (flags.heatmap || format.is_text()) {
        writing.render = [&](const attn::Sink& sink) { render(document, sink); };
    } else {
        writing.write = [&](attn::OutputFile& file) { format.write(document, file); };
    }
    const bool to_file = !flags.output.empty() && flags.output != "-";
    if (to_file || !flags.save_dir.empty()) remove_temporaries_on_signals();
    if (!flags.save_dir.empty()) save_folder(flags.save_dir, document);
    if (to_file) {
        save(flags.output, writing);
    } else if (flags.save_dir.empty() || flags.output == "-" || !flags.format.empty()) {
        const bool apart =
            choices.words == attn::Words::all || flags.heatmap || format.name == "plain";
        flags.pace ? print_at_a_pace(document, render, apart) : print(writing);
    }
}

}  // namespace app
