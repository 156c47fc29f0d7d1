#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/ledger.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/trace/explain.hpp"

namespace app {

/// The exception that ended a program.
struct RaisedLine {
    std::string type, message, file;
    std::size_t line = 0;
    /// The tensors of the line and their shapes.
    std::vector<std::pair<std::string, attn::Shape>> shapes{};
    std::string
        fits{};  ///< an operand that would fit, `k.T would fit and give (5, 5)`; may be empty
};

/// A function or class of a program, with its first line and its last.
struct DefinedName {
    std::string name;  ///< `Attention.forward`
    std::size_t first = 0, last = 0;
};

/// A Python program that has run: its tensors by line and name, and its source.
struct TracedProgram {
    attn::Ledger tensors{};
    /// The lines; those of a notebook's cells one after the other.
    std::vector<std::string> source{};
    /// The first line of each cell of a notebook and its number, from 1.
    std::vector<std::pair<std::size_t, std::size_t>> cells{};
    std::vector<DefinedName> functions{};
    std::optional<RaisedLine> raised{};
    std::map<std::string, std::vector<std::string>> names{};  ///< other variables of a tensor
    std::map<std::string, std::string> last{};  ///< the tensor that each variable held last
    std::size_t left_out = 0;                   ///< tensors beyond the limits of the tracer

    /// The source of a line, from 1; empty if there is none.
    std::string line(std::size_t number) const {
        return number > 0 && number <= source.size() ? source[number - 1] : std::string();
    }
};

/// Limits on the resources of a program.
struct Limits {
    unsigned seconds = 0;    ///< of time; 0: no limit
    std::size_t bytes = 0;   ///< of memory; 0: no limit
    bool is_trusted = true;  ///< otherwise it runs in its own folder, without output and without a
                             ///< network if the system allows that
};

/// A program that used up its limits, or ended Python.
struct EndedProgram : attn::InputError {
    using attn::InputError::InputError;
};

/// Runs a program with `python` and traces it. Its output goes to standard error.
///
/// Errors  ConfigError if Python or NumPy is missing; InputError if the program cannot be read;
///         EndedProgram if it was ended.
TracedProgram traced_program(const std::string& path, const std::string& python,
                             const Limits& limits = {});

/// Runs a program that is a text.
TracedProgram traced_text(const std::string& program, const std::string& python);

/// The exception of a program: its message, the line, and the shapes of its operands.
std::string raised_text(const TracedProgram& program);

/// The walk that the flags describe, for explanation_of.
attn::RequestedWalk walk_by_flags(const Arguments& arguments);

/// The row of --python; `programs` names the programs that it runs.
Flag python_flag(const std::string& programs);

/// Finds the attentions of a program and judges them against the walk that `base` describes;
/// `answers` as attn::explain.
attn::Explanation explanation_of(const TracedProgram& program, const attn::RequestedWalk& base,
                                 const attn::DiagnoseOptions& options,
                                 const attn::Ledger& answers = {});

/// The program whose trace is in a file that has been read.
TracedProgram program_of_trace(attn::Ledger tensors, const std::string& trace,
                               const std::string& path);

/// A trace in a file, with trace.json of the tracer beside it if there is one, else with the lines
/// of `path`, without lines if that is empty.
TracedProgram read_trace(const std::string& trace, const std::string& path);

}  // namespace app
