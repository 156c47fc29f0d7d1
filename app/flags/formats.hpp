#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/output_files.hpp"
#include "attn/show/render/figures.hpp"
#include "attn/show/render/render.hpp"

namespace app {

/// Settings of the forms for people, beside the document.
struct TextChoices {
    attn::TextForm form = attn::TextForm::torch;
    attn::TextForm program_form =
        attn::TextForm::torch;  ///< the printed form of the lines of --code
    attn::PrintOptions options;
    attn::Words words = attn::Words::all;
    attn::FigureChoices figure;
};

/// One of the forms that --format names, with everything about it. Text is rendered piece
/// by piece, binary data is written to a file (which may be standard output); each format does one
/// of the two.
struct Format {
    std::string_view name;
    std::vector<std::string_view> suffixes;  ///< of the file names that ask for it: `.json`
    void (*render)(const attn::Document&, const TextChoices&, const attn::Sink&) = nullptr;
    void (*write)(const attn::Document&, attn::OutputFile&) = nullptr;
    /// The printed form of one library, for people to read; null for every other format.
    const attn::TextForm* printed = nullptr;
    bool prints_numbers = false;  ///< --precision and its like change its numbers
    bool has_words = false;       ///< headings and notes, which -q leaves out
    bool has_code = false;        ///< the lines of --code have a place in it
    bool lines_apart = false;     ///< each section keeps its own, printed or not
    bool has_everything = false;  ///< steps that are not printed too
    bool has_rules = false;       ///< the completed rule of each step has a place in it
    bool runs = false;            ///< it is a program
    bool has_colors = false;      ///< --theme and the scales of --heatmap change its colours
    bool has_figures = false;     ///< --figure selects the picture
    bool answers = false;         ///< it derives each cell, and can show two walks

    bool is_program = false;  ///< lines that print the tensors, which are comments
    bool is_text() const { return render != nullptr; }
    /// True if people can read it on a terminal.
    bool is_for_terminals() const {
        return is_text() && !answers && !has_figures && (!runs || is_program);
    }
    /// True if it keeps the sections that are not printed: their lines, or their cells.
    bool keeps_all() const { return runs || answers; }
};

const std::vector<Format>& formats();

/// The names of all formats.
std::vector<std::string> format_names();

/// The format of that name.  Errors  ConfigError, listing the names there are.
const Format& find_format(std::string_view name);

/// The document with the lines of sections that are not printed above the next one that is, as a
/// format shows them; nothing if it is that already: a document may be large.
std::optional<attn::Document> with_gathered_code(const Format& format,
                                                 const attn::Document& document);

/// The ending of a file's name, `.npz`, in lower case: a dot and text that begins with a
/// letter; empty without one.
std::string ending_of(std::string_view path);

/// Returns the format for the ending of a file name; nullptr if there is none.
const Format* format_of_file(std::string_view path);

}  // namespace app
