#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/core/rules/indices.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn::python {

// Arrays in generated Python, and the meaning of their dimensions.

/// An index and its length: a dimension of an expression.
struct Dimension {
    std::string index;
    std::int64_t length;
};
using Frame = std::vector<Dimension>;

/// Returns the place of an index in the frame; the frame's size if it is not there.
std::size_t place_of(const Frame& frame, const std::string& index);

/// Returns an integer that may count cells, of at most 2^31; nullopt for other numbers.
std::optional<std::int64_t> whole_number(const RuleNode& node);

/// An index expression of the form `first + stride * index + ...` in one or two indices, the larger
/// stride first.
struct Affine {
    struct Term {
        std::string index;
        std::int64_t stride, length;
    };
    std::int64_t first = 0;
    std::vector<Term> terms{};
};

/// Returns nullopt for other expressions, or for indices that are not in the frame.
std::optional<Affine> affine(const RuleNode& node, const Frame& frame);

/// Returns the ranges of a frame's indices.
IndexSpans spans_of(const Frame& frame);

/// Returns the smallest and the largest value of an expression of indices; nullopt if it reads a
/// tensor.
std::optional<IndexSpan> bounds_of(const RuleNode& node, const Frame& frame);

/// True if an index expression stays below `length`.
bool stays_within(const RuleNode& node, const Frame& frame, std::int64_t length);

/// Returns the indices in an expression, in the order of the frame.
Frame indices_in(const RuleNode& node, const Frame& frame);

/// Python's operator precedence, lowest first.
enum class Binds { compared, either, both, added, multiplied, negated, raised, single };

/// An array with the last dimensions of a frame; `along` has a bit for each one that it varies
/// along.
struct Text {
    std::string text;
    Binds binds = Binds::single;
    std::uint64_t along = 0;
    bool is_number = false;      ///< or a bool of Python, not an array
    bool may_be_number = false;  ///< in some iterations of a loop

    std::string in_parentheses(Binds least = Binds::single) const {
        return binds < least ? "(" + text + ")" : text;
    }
};
using Written = std::optional<Text>;

/// Returns the name of the loop variable for an index; no tensor has such a name.
std::string variable_name(const std::string& index);

inline std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << place; }
inline std::uint64_t all_of(const Frame& frame) { return bit(frame.size()) - 1; }

/// Returns the value of an expression of numbers; nullopt for other expressions.
std::optional<double> number_of(const RuleNode& node);
/// Formats an expression of numbers in Python: `math.sqrt(4)`; nullopt for other expressions.
Written constant(const RuleNode& node);
/// True if a condition is True or False independently of the loop.
inline bool known_text(const Text& truth) { return truth.text == "True" || truth.text == "False"; }
/// Applies an operator to its operands, which are already text.
Text operated(const RuleNode& node, const std::vector<Text>& parts);

/// Reshapes an array along some dimensions of the frame, adding missing ones in between.
Text laid(const std::string& text, const Frame& frame, std::uint64_t along);
/// Returns the slice of each dimension, `[..., 4:8]`, with `:` for all; empty if all are whole.
std::string subscript(const std::vector<std::string>& places);
/// Returns lengths of a frame: `2, 3, 4`.
std::string sizes_text(const Frame& frame, std::size_t first = 0);

/// Attempts for a cell, simplest first: the tensor as it is, with its dimensions transposed, or
/// with its cells looked up.
enum Effort { in_stored_order, exchanged, by_lookup };

struct CellPython {
    Effort effort;
    bool is_torch;
    std::function<Written(const RuleNode& index, const Frame& frame)> index;
};

/// Returns a cell as an array along the frame, from a tensor that is sliced, reshaped and
/// transposed: `query`, `key.transpose(-2, -1)`, `qkv[..., 4:8]`, `embedding[ids]`.
Written cell_array(const RuleNode& cell, const Shape& shape, const Frame& frame,
                   const CellPython& with);

}  // namespace attn::python
