#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/plan/ledger.hpp"

namespace app {

/// The exception that ended a program.
struct RaisedLine {
    std::string type, message, file;
    std::size_t line = 0;
    /// The tensors of the line and their shapes.
    std::vector<std::pair<std::string, attn::Shape>> shapes{};
};

/// A Python program that has run: its tensors by line and name, and its source.
struct TracedProgram {
    attn::Ledger tensors{};
    std::vector<std::string>
        source{};  ///< the lines; those of a notebook's cells one after the other
    /// The first line of each cell of a notebook and its number, from 1.
    std::vector<std::pair<std::size_t, std::size_t>> cells{};
    std::optional<RaisedLine> raised{};
    std::size_t left_out = 0;  ///< tensors beyond the limits of the tracer
};

/// Runs a program by `python` and traces it. What it prints goes to standard error.
///
/// Errors  ConfigError if Python or NumPy is missing; InputError if the program cannot be read.
TracedProgram traced_program(const std::string& path, const std::string& python);

/// A trace in a file, with trace.json of the tracer beside it if there is one, else with the lines
/// of `path`.
TracedProgram read_trace(const std::string& trace, const std::string& path);

}  // namespace app
