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

/// The flags for the steps to show and the form of their numbers.
const std::vector<Flag>& print_flags();

/// The flags for the format and place of a document.
const std::vector<Flag>& output_flags();

/// -o and --json, for every command; -o of a command whose files end otherwise.
const std::vector<Flag>& file_flags();
Flag output_flag(std::vector<std::string_view> endings = {});
const std::vector<Flag>& json_flags();

/// --color, for every command whose words mean something.
const std::vector<Flag>& color_flags();
/// The file of --output; empty if standard output is meant.
std::string output_file(const Arguments& arguments);
/// True if standard output is where the output goes, and a terminal.
bool is_to_terminal(const Arguments& arguments);
/// How words are set apart where the output goes.
attn::Ink ink_of(const Arguments& arguments);
/// True if a word on what to try next is welcome: on a terminal, among other words.
bool takes_hints(const Arguments& arguments);

/// Writes a text to --output, or to standard output.
void write_text(const Arguments& arguments, const std::string& text);

/// The row of --format where numbers of a model are told as a text, a page or arrays.
Flag form_flag(const std::string& help);

/// The name of the form that --json, --format or the name of the output file asks for; empty if
/// none does, or text is meant.
std::string said_form(const Arguments& arguments);

/// Prints the result of a command by one of two printers: as text, or as JSON if --json, --format
/// or the name of the file selects that.
///
/// Errors  ConfigError if --format, or the file of a walk, says a third.
using Printer = std::function<std::string()>;
std::string as_text_or_json(const Arguments& arguments, const Printer& text, const Printer& json);
void write_text_or_json(const Arguments& arguments, const Printer& text, const Printer& json);
/// The same for a list, with one object per entry in JSON.
void write_list(const Arguments& arguments, const std::string& text,
                const std::vector<attn::JsonText>& rows);

/// Refuses what no document could satisfy, before anything is computed. The first looks at the
/// print flags alone.
///
/// Errors  ConfigError naming the flag.
void check_print_flags(const Arguments& arguments);
void check_output_flags(const Arguments& arguments);

/// Refuses files that the command cannot write as their names end, and two that are one.
///
/// Errors  ConfigError naming the flag, the file and what to write instead.
void check_written_files(const Arguments& arguments);

/// Errors  OutputError if the file exists: for files that are written for the user to edit.
void refuse_edited(const std::string& path);

/// The path after links and dots, by which files are told apart.
std::filesystem::path real_path(const std::string& path);

/// The format that --format, --json or the name of the output file asks for; `usual` where none
/// does.
///
/// Errors  ConfigError when two of them contradict each other.
const Format& format_of(const Arguments& arguments, attn::TextForm usual = attn::TextForm::torch);

/// The printed form of the library whose numbers a walk draws.
inline attn::TextForm form_of(const attn::Plan& plan) {
    return plan.config.rng == attn::Rng::torch ? attn::TextForm::torch : attn::TextForm::numpy;
}

/// That of the library that a program is written for, and the other way round.
inline attn::TextForm form_of(attn::CodeLanguage language) {
    return language == attn::CodeLanguage::torch ? attn::TextForm::torch : attn::TextForm::numpy;
}
inline attn::CodeLanguage language_of(attn::TextForm form) {
    return form == attn::TextForm::numpy ? attn::CodeLanguage::numpy : attn::CodeLanguage::torch;
}

/// True if the sections need the lines that make them: --code, or a format that runs.
bool wants_code(const Arguments& arguments);

/// The language of --code; without it the one that is usual for the tensors.
attn::CodeLanguage code_language(const Arguments& arguments, attn::CodeLanguage usual);

/// --precision and its like.  Errors  ConfigError naming the flag.
attn::PrintOptions print_options(const Arguments& arguments);

/// The settings of --heatmap for its cells.
struct Shading {
    attn::ScaleEnd end = attn::ScaleEnd::automatic;
    bool compact = false;
};
Shading shading(const Arguments& arguments);

/// The form of a text, and of pictures and pages, as flags say it; `usual` and
/// `default_dtype` as for write_document.
TextChoices text_choices(const Arguments& arguments, attn::TextForm usual,
                         attn::DType default_dtype);

/// The parts in a text like `weights[0,:,1:3],context`, and those that --only asks for.
/// Errors  ConfigError for a slice without its closing bracket.
std::vector<attn::WantedPart> parts_in(const std::string& text);
std::vector<attn::WantedPart> wanted_parts(const Arguments& arguments);

/// The document of such parts of a walk. Sentences are about the parts; whole tensors have none, as
/// not all that these look at was computed.
attn::Document document_of_parts(const attn::Plan& plan, const attn::StepTable& table,
                                 const std::vector<attn::WantedPart>& wanted,
                                 std::vector<attn::WalkPart> parts);

/// The note on the part of a section in a slice; empty if there is none.
using NoteOfPart =
    std::function<std::string(const attn::Section&, const std::vector<attn::AxisPart>&)>;

/// Keeps the sections that --only, --from and --until ask for, cut to their slices. With
/// `keep_all` the others stay, not printed.
///
/// Errors  ConfigError for a name that the document does not have, ShapeError for a slice.
void select_sections(const Arguments& arguments, attn::Document& document,
                     const NoteOfPart& note_of_part, bool keep_all = false);

/// Marks a section whose numbers have changed, and gives the reason.
inline void mark_changed(attn::Section& section, const std::string& why) {
    section.changed = true;
    section.margin = why + (section.margin.empty() ? attn::Prose() : " " + section.margin);
}

/// Writes the document in the format asked for to --output or standard output, and to --save-dir;
/// that alone prints nothing.
///
/// `usual` is the text form when no format is asked for; `default_dtype` prints without a note.
void write_document(const Arguments& arguments, const attn::Document& document,
                    attn::TextForm usual, attn::DType default_dtype);

/// Endings of file names, `.txt, .md or .json`.
std::string listed(const std::vector<std::string_view>& endings);

/// The command line of a command and its flags, as a shell takes it, in the order of its help,
/// without defaults and places of output: one walk has one line, however it was typed.
std::string command_line(const std::string& command, const Arguments& arguments);

/// The columns of the terminal that the output goes to; nothing if it goes to none.
std::optional<std::size_t> terminal_columns(const Arguments& arguments);

/// Writes the names and titles of sections, one a line, or as JSON; `others` says how those are
/// printed that are not shown.
void write_steps(const Arguments& arguments, const std::vector<attn::Section>& sections,
                 const std::string& others);

/// An entry of a list: a name, and words from column `indent` on. On a terminal they go on there in
/// the next line; elsewhere an entry is one line.
std::string list_entry(const Arguments& arguments, std::string name, std::size_t indent,
                       const std::string& words);

/// The flag of live pages.
Flag live_flag();

/// True if the page of these flags shall be live.
bool is_live(const Arguments& arguments);

/// The walk of a live page: by loops, whose digits its core gives too, unless another way is said.
///
/// Errors  ConfigError for flags whose walk a page cannot make: of a file, a model, or two walks.
Arguments as_live(const Arguments& arguments);

/// The scripts of a live page beside its walk, by their ids: its core; as JSON the flags that it
/// can turn and the words of all others; of a model the file, and what it writes next.
std::vector<std::pair<std::string, std::string>> live_scripts(const Arguments& arguments);

}  // namespace app
