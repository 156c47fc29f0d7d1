#include <csignal>

#include "app/flags/formats.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"
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

void print(const Format& format, const attn::Document& document, const TextChoices& choices) {
    if (format.render != nullptr) {
        StandardOutput output;
        format.render(document, choices, [&output](std::string_view text) { output.write(text); });
        output.flush();
        return;
    }
    // A reader that closes the pipe shall end the program quietly here too.
    std::signal(SIGPIPE, SIG_DFL);
    attn::OutputFile output("/dev/stdout");
    format.write(document, output);
    output.commit();
}

void save(const std::string& path, const Format& format, const attn::Document& document,
          const TextChoices& choices) {
    attn::OutputFile file(path);
    if (format.render != nullptr) {
        format.render(document, choices, [&file](std::string_view text) { file.write(text); });
    } else {
        format.write(document, file);
    }
    file.commit();
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
    save(folder.file("walk.json"), find_format("json"), document, {});
    folder.commit();
}

}  // namespace

void write_document(const OutputFlags& flags, const attn::Document& document, attn::TextForm usual,
                    attn::DType default_dtype) {
    const TextChoices choices = text_choices(flags, usual, default_dtype);
    const Format& format = format_of(flags, usual);
    const bool to_file = !flags.output.empty() && flags.output != "-";
    if (to_file || !flags.save_dir.empty()) remove_temporaries_on_signals();
    if (!flags.save_dir.empty()) save_folder(flags.save_dir, document);
    if (to_file) {
        save(flags.output, format, document, choices);
    } else if (flags.save_dir.empty() || flags.output == "-" || !flags.format.empty()) {
        print(format, document, choices);
    }
}

}  // namespace app
