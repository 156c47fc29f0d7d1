#pragma once
#include <optional>
#include <string>

#include "attn/codegen/code.hpp"
#include "attn/walk/parts.hpp"

namespace CLI {
class App;
}

namespace app {

/// The output flags as they were said. Every command that prints tensors takes them.
struct OutputFlags {
    std::string format, output, save_dir, only, from, until;
    std::optional<int> precision;
    std::string threshold;
    std::optional<std::int64_t> edgeitems, linewidth;
    std::string sci_mode = "auto";
    bool no_notes = false, detail = false, heatmap = false, pace = false;
    std::string color = "auto";
    std::string code;
};

/// Adds the flags that say which steps are shown and how their numbers are printed.
void setup_print_flags(CLI::App& cli, OutputFlags& flags);

/// Adds these, and the flags that say where the output goes and in which format.
void setup_output_flags(CLI::App& cli, OutputFlags& flags);

/// Refuses what no document could satisfy, before anything is computed.
///
/// Errors  ConfigError naming the flag.
void check_output_flags(const OutputFlags& flags);

/// Whether the sections need the lines that make them: --code, or a format that runs.
bool wants_code(const OutputFlags& flags);

/// The language of --code; without it the one that is usual for the tensors.
attn::CodeLanguage code_language(const OutputFlags& flags, attn::CodeLanguage usual);

/// --precision and its like.  Errors  ConfigError naming the flag.
attn::PrintOptions print_options(const OutputFlags& flags);

/// What --only asks for.  Errors  ConfigError for a slice without its closing bracket.
std::vector<attn::WantedPart> wanted_parts(const OutputFlags& flags);

/// The document of such parts of a walk. It has no sentences about the numbers: these look at whole
/// tensors.
attn::Document document_of_parts(const attn::Plan& plan, const attn::StepTable& table,
                                 const std::vector<attn::WantedPart>& wanted,
                                 std::vector<attn::WalkPart> parts);

/// Keeps the sections that --only, --from and --until ask for, cut to their slices.
/// A format that runs keeps the lines of all others.
///
/// Errors  ConfigError for a name that the document does not have, ShapeError for a slice.
void select_sections(const OutputFlags& flags, attn::Document& document);

/// Writes the document in the format asked for to --output or standard output, and to --save-dir;
/// that alone prints nothing.
///
/// `usual` is the text form when --format is not said; `default_dtype` prints without a note.
void write_document(const OutputFlags& flags, const attn::Document& document, attn::TextForm usual,
                    attn::DType default_dtype);

}  // namespace app
