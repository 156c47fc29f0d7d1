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

// Arrays in generated Python, and what their dimensions stand for.

/// An index and how far it goes: a dimension of what is written.
struct Dimension {
    std::string index;
    std::int64_t length;
};
using Frame = std::vector<Dimension>;

/// The place of an index in the frame; its size where it is not there.
std::size_t place_of(const Frame& frame, const std::string& index);

/// A number that may count cells: a whole one of at most 2^31; nothing for others.
std::optional<std::int64_t> whole_number(const RuleNode& node);

/// An index expression as `first + stride * index + ...` of one index or two, the larger stride
/// first.
struct Affine {
    struct Term {
        std::string index;
        std::int64_t stride, length;
    };
    std::int64_t first = 0;
    std::vector<Term> terms{};
};

/// Nothing where it is another expression, or of indices that the frame has not.
std::optional<Affine> affine(const RuleNode& node, const Frame& frame);

/// How far the indices of a frame go.
IndexSpans spans_of(const Frame& frame);

/// The least and the largest value of an expression of indices; nothing where it reads a tensor.
std::optional<IndexSpan> bounds_of(const RuleNode& node, const Frame& frame);

/// Whether an index expression stays within so many places.
bool stays_within(const RuleNode& node, const Frame& frame, std::int64_t length);

/// The indices in an expression, in the order of the frame.
Frame indices_in(const RuleNode& node, const Frame& frame);

/// How tightly Python holds an expression together, loosest first.
enum class Binds { compared, either, both, added, multiplied, negated, raised, single };

/// An array whose dimensions lie at the end of a frame's; a bit for each that it goes along.
struct Text {
    std::string text;
    Binds binds = Binds::single;
    std::uint64_t along = 0;
    bool is_number = false;      ///< or a truth of Python's own, no array
    bool may_be_number = false;  ///< in some turns of a loop

    std::string held(Binds least = Binds::single) const {
        return binds < least ? "(" + text + ")" : text;
    }
};
using Written = std::optional<Text>;

/// The name of the variable that loops over an index: no tensor is called so.
std::string variable_name(const std::string& index);

inline std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << place; }
inline std::uint64_t all_of(const Frame& frame) { return bit(frame.size()) - 1; }

/// The value of numbers alone; nothing where there is more.
std::optional<double> number_of(const RuleNode& node);
/// Numbers alone as Python writes them: `math.sqrt(4)`; nothing where there is more.
Written constant(const RuleNode& node);
/// Whether a truth is True or False whatever the loop around.
inline bool known_text(const Text& truth) { return truth.text == "True" || truth.text == "False"; }
/// An operator between its parts, which are written.
Text operated(const RuleNode& node, const std::vector<Text>& parts);

/// An array along some dimensions of the frame, with those between that it lacks.
Text laid(const std::string& text, const Frame& frame, std::uint64_t along);
/// `[..., 4:8]`: what is taken along each dimension, `:` for all; empty where all is all.
std::string taken(const std::vector<std::string>& places);
/// `2, 3, 4`: some lengths of a frame.
std::string sizes_text(const Frame& frame, std::size_t first = 0);

/// What is tried for a cell, simplest first: its tensor as it lies, with its dimensions exchanged,
/// and the cells looked up one by one.
enum Effort { as_it_lies, exchanged, looked_up };

struct CellPython {
    Effort effort;
    bool is_torch;
    std::function<Written(const RuleNode& index, const Frame& frame)> index;
};

/// A cell as an array along the frame, of a tensor that is cut, reshaped and turned: `query`,
/// `key.transpose(-2, -1)`, `qkv[..., 4:8]`, `embedding[ids]`.
Written cell_array(const RuleNode& cell, const Shape& shape, const Frame& frame,
                   const CellPython& with);

}  // namespace attn::python
