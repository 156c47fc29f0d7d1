#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "app/flags/flag.hpp"
#include "app/flags/formats.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/ground/text/json.hpp"

namespace app {

/// The flags for the steps to show and the format of their numbers.
const std::vector<Flag>& print_flags();

/// The flags for the format and place of a document.
const std::vector<Flag>& output_flags();

/// -o and --json, for every command; -o for a command with other suffixes.
const std::vector<Flag>& file_flags();
Flag output_flag(std::vector<std::string_view> endings = {});
const std::vector<Flag>& json_flags();

/// --color, for every command whose output is text.
const std::vector<Flag>& color_flags();
/// Returns the file of --output; empty for standard output.
std::string output_file(const Arguments& arguments);
/// True if the output goes to a terminal.
bool is_to_terminal(const Arguments& arguments);
/// Returns the text styles that the output supports.
attn::Ink ink_of(const Arguments& arguments);
/// True if the output may end with a hint: it is text on a terminal.
bool takes_hints(const Arguments& arguments);

/// Writes a text to --output, or to standard output.
void write_text(const Arguments& arguments, const std::string& text);

/// Returns the row of --format for numbers of a model as text, a page or arrays.
Flag form_flag(const std::string& help, const char* forms = "text json html npz");

/// Returns the format that --json, --format or the name of the output file selects; empty if none
/// does, or for text.
std::string specified_form(const Arguments& arguments);

/// Prints the result of a command by one of two printers: as text, or as JSON if --json, --format
/// or the name of the file selects that.
///
/// Errors  ConfigError if --format, or the file of a walk, selects another.
using Printer = std::function<std::string()>;
std::string as_text_or_json(const Arguments& arguments, const Printer& text, const Printer& json);
void write_text_or_json(const Arguments& arguments, const Printer& text, const Printer& json);
void write_text_or_json(const Arguments& arguments, const std::string& text,
                        const attn::JsonText& json);

/// Refuses flags that no document can satisfy, before anything is computed. check_print_flags looks
/// at the print flags alone.
///
/// Errors  ConfigError naming the flag.
void check_print_flags(const Arguments& arguments);
void check_output_flags(const Arguments& arguments);

/// Refuses suffixes that the command cannot write, and two flags with the same file.
///
/// Errors  ConfigError naming the flag, the file and what to write instead.
void check_written_files(const Arguments& arguments);

/// Errors  OutputError if the file exists: for files that are written for the user to edit.
void refuse_edited(const std::string& path);

/// Resolves links and dots in a path, to compare files.
std::filesystem::path real_path(const std::string& path);

/// Returns the format that --format, --json or the name of the output file selects; `default_value`
/// if none does.
///
/// Errors  ConfigError when two of them contradict each other.
const Format& format_of(const Arguments& arguments,
                        attn::TextForm default_value = attn::TextForm::torch);

/// The printed form of the library whose numbers a walk draws.
inline attn::TextForm form_of(const attn::Plan& plan) {
    return plan.config.rng == attn::Rng::torch ? attn::TextForm::torch : attn::TextForm::numpy;
}

/// The form of a program's library, and the reverse.
inline attn::TextForm form_of(attn::CodeLanguage language) {
    return language == attn::CodeLanguage::torch ? attn::TextForm::torch : attn::TextForm::numpy;
}
inline attn::CodeLanguage language_of(attn::TextForm form) {
    return form == attn::TextForm::numpy ? attn::CodeLanguage::numpy : attn::CodeLanguage::torch;
}

/// True if the sections need code: --code, or a format that runs.
bool wants_code(const Arguments& arguments);

/// Returns the language of --code; by default `default_value`, that of the tensors.
attn::CodeLanguage code_language(const Arguments& arguments, attn::CodeLanguage default_value);

/// Reads --precision and related flags.  Errors  ConfigError naming the flag.
attn::PrintOptions print_options(const Arguments& arguments);

/// The settings of --heatmap for its cells.
struct Shading {
    attn::ScaleEnd end = attn::ScaleEnd::automatic;
    bool compact = false;
};
Shading shading(const Arguments& arguments);

/// Reads --grid and the image of --image; nullopt without --grid.
///
/// Errors  ConfigError for a malformed size; InputError for a file that is not an image.
std::optional<attn::TileGrid> tile_grid(const Arguments& arguments);

/// Reads the format of a text, of pictures and of pages from the flags; `default_value` and
/// `default_dtype` as for write_document.
TextChoices text_choices(const Arguments& arguments, attn::TextForm default_value,
                         attn::DType default_dtype);

/// Parses the parts in a text like `weights[0,:,1:3],context`, or in --only.
/// Errors  ConfigError for a slice without its closing bracket.
std::vector<attn::WantedPart> parts_in(const std::string& text);
std::vector<attn::WantedPart> wanted_parts(const Arguments& arguments);

/// Returns the document of parts of a walk. Notes describe the parts; whole tensors have none,
/// because their notes may need steps that were not computed.
attn::Document document_of_parts(const attn::Plan& plan, const attn::StepTable& table,
                                 const std::vector<attn::WantedPart>& wanted,
                                 std::vector<attn::WalkPart> parts);

/// The note on the part of a section in a slice; empty if there is none.
using NoteOfPart =
    std::function<std::string(const attn::Section&, const std::vector<attn::AxisPart>&)>;

/// Selects the sections of --only, --from and --until, cut to their slices. With `keep_all` the
/// others stay, hidden.
///
/// Errors  ConfigError for a name that the document does not have, ShapeError for a slice.
void select_sections(const Arguments& arguments, attn::Document& document,
                     const NoteOfPart& note_of_part, bool keep_all = false);

/// Marks a section whose numbers have changed, and gives the reason.
inline void mark_changed(attn::Section& section, const std::string& why) {
    section.changed = true;
    section.margin = why + (section.margin.empty() ? attn::Prose() : " " + section.margin);
}

/// Writes the document in the selected format to --output or standard output, and to --save-dir;
/// with --save-dir alone prints nothing.
///
/// `default_value` is the text form if no format is selected; `default_dtype` prints without a
/// note.
void write_document(const Arguments& arguments, const attn::Document& document,
                    attn::TextForm default_value, attn::DType default_dtype);

/// Lists suffixes of file names, `.txt, .md or .json`.
std::string listed(const std::vector<std::string_view>& endings);

/// Returns a flag and its text, quoted for a shell, after a space: ` --heads 2`.
std::string as_typed(const Arguments::SpecifiedFlag& specified);
/// Returns the command line for a command and its flags, quoted for a shell, in the order of its
/// help, without defaults and output files: one walk has one line, however it was typed.
std::string command_line(const std::string& command, const Arguments& arguments);

/// Returns the columns of the output's terminal; nullopt if it is not a terminal.
std::optional<std::size_t> terminal_columns(const Arguments& arguments);

/// Writes the names and titles of sections, one per line, or as JSON; `others` describes how to
/// print the hidden ones.
void write_steps(const Arguments& arguments, const std::vector<attn::Section>& sections,
                 const std::string& others);

/// Formats an entry of a list: a name, and words from column `indent` on. On a terminal the words
/// wrap at that column; elsewhere an entry is one line.
std::string list_entry(const Arguments& arguments, std::string name, std::size_t indent,
                       const std::string& words);

/// The flag of live pages.
Flag live_flag();

/// True if these flags request a live page.
bool is_live(const Arguments& arguments);

/// Returns the flags for a live page: by default with loops, whose digits its core reproduces.
///
/// Errors  ConfigError for walks that a page cannot make: of a file, a model, or two walks.
Arguments as_live(const Arguments& arguments);

/// Returns the scripts of a live page by their ids: its core; the flags that it can change and the
/// words of all others, as JSON; for a model, the file.
std::vector<std::pair<std::string, std::string>> live_scripts(const Arguments& arguments);
/// Returns the likeliest next words of the model as JSON: six for a live page, which explains them,
/// otherwise one. Empty without a model that continues a text.
std::string next_words(const Arguments& arguments);

}  // namespace app
