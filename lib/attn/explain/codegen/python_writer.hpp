#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attn/core/rules/complete.hpp"
#include "attn/explain/codegen/python.hpp"
#include "attn/explain/codegen/python_frame.hpp"

namespace attn::python {

/// Writes the expressions of one rule.
class Writer {
public:
    explicit Writer(const RulePython& with)
        : with_(with), torch_(with.is_torch), module_(torch_ ? "torch." : "np.") {}

    /// Returns the expression for the whole tensor.
    std::string line(const Rule& rule);

private:
    std::string typed() const { return (torch_ ? ".to(torch." : ".astype(np.") + with_.type + ")"; }
    std::string of_type() const { return ", dtype=" + module_ + with_.type; }
    /// True if indices are numbers of the result's type.
    bool has_type(bool in_index) const { return !in_index && !is_truth_; }
    /// True for numbers that PyTorch would store as float32.
    bool needs_type() const { return torch_ && with_.type != "float32" && with_.type != "int64"; }

    std::string dimension(const char* word, std::size_t place, std::size_t count) const {
        return word + std::string("-") + std::to_string(count - place);
    }

    /// Broadcasts an expression to all dimensions of the frame.
    Written filling(const RuleNode& node, const Frame& frame, bool in_index = false);

    /// Writes an expression along the frame; `in_index`: of integers.
    Written written(const RuleNode& node, const Frame& frame, bool in_index = false);
    Written by_kind(const RuleNode& node, const Frame& frame, bool in_index);

    Written cell(const RuleNode& node, const Frame& frame, bool in_index);

    using Texts = std::vector<Text>;
    std::optional<Texts> parts_of(const RuleNode& node, const Frame& frame, bool in_index);

    Written operation(const RuleNode& node, const Frame& frame, bool in_index);

    /// The unused side of a `where` is evaluated, too. An infinity there would make the gradient
    /// nan, so it gets the value 1.
    bool guard(Text& part, const RuleNode& node, const Frame& frame);

    /// Writes an index as a number: `torch.arange(4)[:, None]`.
    Written counted(const RuleNode& node, const Frame& frame, bool in_index) const;

    Written call(const RuleNode& node, const Frame& frame, bool in_index);

    /// Rounds to 16 bits, without rounding the gradient as PyTorch would.
    std::string halved(const Text& x) const;

    Written choice(const RuleNode& node, const Frame& frame, bool in_index);

    /// Writes a side of a condition.
    Written asking(const RuleTree& condition, const RuleNode& side, const Frame& frame,
                   bool in_index = false);

    /// Concatenates the pieces of `if k < 3 then past_key[k,f] else key[k - 3,f]`.
    Written in_pieces(const RuleNode& node, const Frame& frame, bool in_index);

    // Reductions.

    Written reduction(const RuleNode& node, const Frame& frame);

    /// The possible places of a reduction's index.
    struct Range {
        std::int64_t first = 0, length = 0;
        bool is_all = false;   ///< the range does not depend on other indices
        bool is_some = false;  ///< the range is never empty
    };
    Range range_of(const RuleNode& node, const Frame& frame) const;

    Text array_of(const Text& number) const;

    /// Simplifies a reduction over nothing, or over equal terms.
    static RuleTree of_the_same(const RuleNode& node, const Range& range);

    /// Replaces the index by a new one that counts from 0.
    static RuleTree counted_from(const RuleNode& node, std::int64_t first, const Frame& frame);

    /// Reduces along a dimension that nothing else needs, or an additional one.
    Written reduced(const RuleNode& node, const Dimension& along, const Frame& frame, bool is_all);

    /// Reduces along one dimension, which is kept with length 1 or removed. The parts are the
    /// terms, and before them their condition if there is one.
    Written over(const RuleNode& node, const Frame& inside, std::size_t place, bool keeps,
                 bool is_all);

    /// Writes `a @ b`: a has the second last dimension, b the last, and both the one that is
    /// summed.
    Written matrices(const RuleNode& a, const RuleNode& b, const Dimension& along,
                     const Frame& frame);

    // A step that reads its own earlier rows.

    /// Returns the lines that compute it row by row.
    std::string loop(const Rule& rule, const RuleOrder& order);
    /// Restricts an expression to the loop's place: cells are read there, and lack that axis.
    RuleTree at_place(const RuleTree& tree);
    /// Writes `(a if t == 0 else b)` if only the loop variable decides; nullopt otherwise. If it
    /// fills, both sides have all dimensions of the frame.
    Written choice_of_loop(const RuleNode& node, const Frame& frame, bool in_index, bool fills);
    /// As bounds_of(), including the loop variable.
    std::optional<IndexSpan> bounds_in_loop(const RuleNode& node, const Frame& frame) const;

    const RulePython& with_;
    bool torch_;
    std::string module_;
    Effort effort_ = in_stored_order;
    std::vector<RuleTree> requested_;  ///< the conditions around the current expression
    bool is_truth_ = false;            ///< the rule makes booleans
    bool is_loose_ = false;            ///< numbers without a given type are written
    std::optional<Dimension> loop_;    ///< the loop variable around, and its range
    int sums_ = 0;                     ///< number of sums around
    bool fills_ = false;               ///< the next expression must have all dimensions
    bool needs_type_ = false;          ///< its type must be explicit: no product
};

}  // namespace attn::python
