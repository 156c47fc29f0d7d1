#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/output_files.hpp"
#include "attn/show/render/figures.hpp"
#include "attn/show/render/render.hpp"

namespace app {

/// Settings of the human-readable formats, apart from the document.
struct TextChoices {
    attn::TextForm form = attn::TextForm::torch;
    attn::TextForm program_form = attn::TextForm::torch;  ///< the printed form of the --code lines
    attn::PrintOptions options;
    attn::Words words = attn::Words::all;
    attn::FigureChoices figure;
};

/// A format of --format. Text is rendered piece by piece, binary data is written to a file (which
/// may be standard output); each format supports one of the two.
struct Format {
    std::string_view name;
    std::vector<std::string_view> suffixes;  ///< of file names that select it: `.json`
    void (*render)(const attn::Document&, const TextChoices&, const attn::Sink&) = nullptr;
    void (*write)(const attn::Document&, attn::OutputFile&) = nullptr;
    /// The printed form of one library, for people to read; null for every other format.
    const attn::TextForm* printed = nullptr;
    bool prints_numbers = false;  ///< --precision and related flags change its numbers
    bool has_words = false;       ///< headings and notes, which -q omits
    bool has_code = false;        ///< it includes the lines of --code
    bool keeps_lines = false;     ///< each section keeps its own lines, printed or not
    bool has_everything = false;  ///< includes steps that are not printed
    bool has_rules = false;       ///< it includes the completed rule of each step
    bool runs = false;            ///< it is a program
    bool has_colors = false;      ///< --theme and the scales of --heatmap change its colours
    bool has_figures = false;     ///< --figure selects the picture
    bool answers = false;         ///< derives each cell, and can show two walks

    bool is_program = false;  ///< code lines that print the tensors, with the tensors as comments
    bool is_text() const { return render != nullptr; }
    /// True if it is readable on a terminal.
    bool is_for_terminals() const {
        return is_text() && !answers && !has_figures && (!runs || is_program);
    }
    /// True if it keeps sections that are not printed, for their lines or cells.
    bool keeps_all() const { return runs || answers; }
};

const std::vector<Format>& formats();

std::vector<std::string> format_names();

/// Returns the format with that name.  Errors  ConfigError, listing the names.
const Format& find_format(std::string_view name);

/// Returns the document with the lines of hidden sections moved above the next shown one, as the
/// format requires; nullopt if there are none: a document may be large.
std::optional<attn::Document> with_gathered_code(const Format& format,
                                                 const attn::Document& document);

/// Returns the suffix of a file name, `.npz`, in lower case: a dot and text that begins with a
/// letter; empty without one.
std::string ending_of(std::string_view path);

/// Returns the format for the ending of a file name; nullptr if there is none.
const Format* format_of_file(std::string_view path);

}  // namespace app
