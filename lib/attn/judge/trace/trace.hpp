#pragma once
#include <string>
#include <vector>

#include "attn/core/plan/ledger.hpp"

namespace attn {

/// A tensor that a line of a program computed.
struct Traced {
    std::string label;        ///< its name in the trace
    std::string file;         ///< empty for the main program
    std::size_t line = 0;     ///< from 1; 0 if the trace has no lines
    std::string name;         ///< the variable or the expression
    std::size_t time = 0;     ///< its place in the trace
    std::vector<double> all;  ///< its numbers
    Shape shape;
    DType dtype = DType::float32;
    bool is_joined = false;                  ///< from the passes of a loop
    bool is_row = false;                     ///< it has one axis; its shape begins with 1
    std::vector<std::string> other_names{};  ///< variables that other lines assigned it to
    std::string
        statement{};  ///< its source line, in which the word softmax is a hint; may be empty

    /// True if the name is a variable, not an expression.
    bool is_variable() const;
    std::size_t rank() const { return shape.size(); }
};

using Trace = std::vector<Traced>;

/// Reads a trace: the tensors of a program by `[FILE:]LINE:NAME`, in a loop with the number of the
/// pass, `19:att@0`, or `19:att@2,3` for two nested loops. They are in order of time, or numbered
/// at the end, `19:att#40`. The passes of a loop are added once more as one tensor with a leading
/// axis per loop.
///
/// Returns  the tensors that have at least one axis and one number.
Trace traced(const Ledger& file);

/// True if the name of every tensor begins with a line.
bool is_trace(const Ledger& file);

}  // namespace attn
