#pragma once
#include <string>
#include <utility>
#include <vector>

#include "app/commands/program_run.hpp"
#include "attn/core/plan/words.hpp"

template <>
inline constexpr std::array<std::pair<std::string_view, attn::LineVerdict>, 7>
    attn::words<attn::LineVerdict>{{{"ok", attn::LineVerdict::right},
                                    {"ok (follows from above)", attn::LineVerdict::follows},
                                    {"WRONG", attn::LineVerdict::wrong},
                                    {"harmless", attn::LineVerdict::harmless},
                                    {"DIFFERS", attn::LineVerdict::unknown},
                                    {"differs", attn::LineVerdict::open},
                                    {"not judged", attn::LineVerdict::not_judged}}};

namespace app {

/// A program and the attention found in it.
struct Explained {
    std::string path;
    TracedProgram program;
    attn::Explanation found;

    /// The source of a line of the main program; empty for another file.
    std::string source(const attn::ExplainedLine& line) const {
        return line.file.empty() ? program.line(line.line) : std::string();
    }
    /// `12`, in a notebook `cell 3, line 2`, in another file `model.py:12`.
    std::string place(const std::string& file, std::size_t line) const;
    /// A question after its line, `line 12: is this intended?`.
    std::string question_text(const attn::LineQuestion& question) const;
    /// True if the name of a line is an expression within it, not the variable that it assigns.
    bool is_part(const attn::ExplainedLine& line) const {
        return !line.name.starts_with("step ") &&  // of a call that PyTorch computes as a whole
               source(line).find(line.name + " =") == std::string::npos;
    }
};

/// The paragraphs below a line, each after its word: the mistake, its effect and its fix.
std::vector<std::pair<std::string, std::string>> paragraphs(const attn::Diagnosis& diagnosis,
                                                            const attn::ExplainedLine& line);

/// The number of attention steps found, and the wrong ones.
std::string summary(const Explained& explained);
/// The settings that were found, `assumed: --heads 2`; empty if they are the default.
std::string assumed(const attn::ExplainedAttention& attention);

/// The page of the first attention with a mistake, else of the first: the program beside its own
/// tensors and the right ones.
///
/// Errors  InputError if the program has no attention that was judged.
std::string page_of(const Explained& explained, const std::string& command);

/// The page of a diagnosis: the tensors of a file, each with its verdict, and the right ones.
///
/// Errors  InputError if no tensor was judged.
std::string page_of(const attn::Diagnosis& diagnosis, const attn::DiagnoseOptions& options,
                    const std::string& remarks, const std::string& file,
                    const std::string& command);

}  // namespace app
