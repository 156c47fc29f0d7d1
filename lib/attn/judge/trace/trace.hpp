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
    bool is_joined = false;  ///< of the passes of a loop
    bool is_row = false;     ///< it has one axis; its shape has a 1 in front

    /// True if the name is a variable, not an expression.
    bool is_variable() const;
    std::size_t rank() const { return shape.size(); }
};

/// Reads a trace: the tensors of a program under `[FILE:]LINE:NAME`, in a loop with the number of
/// the pass, `19:att@0` or `19:att@2,3` for two loops within each other. They come in the order of
/// time, or by a number at the end, `19:att#40`. The passes of a loop follow once more as one
/// tensor with an axis for each loop in front.
///
/// Returns  the tensors with at least one axis, and with numbers in them.
std::vector<Traced> traced(const Ledger& file);

/// True if the name of every tensor begins with a line.
bool is_trace(const Ledger& file);

}  // namespace attn
