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

    /// The whole tensor.
    std::string line(const Rule& rule);

private:
    std::string typed() const { return (torch_ ? ".to(torch." : ".astype(np.") + with_.type + ")"; }
    std::string of_type() const { return ", dtype=" + module_ + with_.type; }
    /// Whether indices are numbers of the result's type.
    bool has_type(bool in_index) const { return !in_index && !is_truth_; }
    /// Of a number that PyTorch would hold in float32.
    bool needs_type() const { return torch_ && with_.type != "float32" && with_.type != "int64"; }

    std::string dimension(const char* word, std::size_t place, std::size_t count) const {
        return word + std::string("-") + std::to_string(count - place);
    }

    /// With every dimension of the frame.
    Written filling(const RuleNode& node, const Frame& frame, bool in_index = false);

    /// An expression along the frame; `in_index`: of whole numbers.
    Written written(const RuleNode& node, const Frame& frame, bool in_index = false);
    Written by_kind(const RuleNode& node, const Frame& frame, bool in_index);

    Written cell(const RuleNode& node, const Frame& frame, bool in_index);

    using Texts = std::vector<Text>;
    std::optional<Texts> parts_of(const RuleNode& node, const Frame& frame, bool in_index);

    Written operation(const RuleNode& node, const Frame& frame, bool in_index);

    /// A side of `where` that is not taken is worked out as well. What is infinite there has
    /// gradients that are nan times 0, unless it is given 1 there.
    bool guard(Text& part, const RuleNode& node, const Frame& frame);

    /// An index as a number: `torch.arange(4)[:, None]`.
    Written counted(const RuleNode& node, const Frame& frame, bool in_index) const;

    Written call(const RuleNode& node, const Frame& frame, bool in_index);

    /// Rounded to 16 bits. PyTorch would round the gradient, too.
    std::string halved(const Text& x) const;

    Written choice(const RuleNode& node, const Frame& frame, bool in_index);

    /// What is taken where a condition holds.
    Written asking(const RuleTree& condition, const RuleNode& side, const Frame& frame,
                   bool in_index = false);

    /// `if k < 3 then past_key[k,f] else key[k - 3,f]`: one piece after the other.
    Written in_pieces(const RuleNode& node, const Frame& frame, bool in_index);

    // Reductions.

    Written reduction(const RuleNode& node, const Frame& frame);

    /// The places that the index of a reduction can have.
    struct Range {
        std::int64_t first = 0, length = 0;
        bool is_all = false;   ///< it has them all, whatever the indices around
        bool is_some = false;  ///< it has one at least
    };
    Range range_of(const RuleNode& node, const Frame& frame) const;

    Text array_of(const Text& number) const;

    /// A reduction of nothing, or whose terms are all alike.
    static RuleTree of_the_same(const RuleNode& node, const Range& range);

    /// With an index of its own, which counts from 0.
    static RuleTree counted_from(const RuleNode& node, std::int64_t first, const Frame& frame);

    /// In the place of a dimension that nothing else needs, or beside the others.
    Written reduced(const RuleNode& node, const Dimension& along, const Frame& frame, bool is_all);

    /// Along one dimension, which is kept with one place or goes. The parts are the terms, and
    /// where they count before them.
    Written over(const RuleNode& node, const Frame& inside, std::size_t place, bool keeps,
                 bool is_all);

    /// `a @ b`: a has the last dimension but one, b the last, and both that of the sum.
    Written matrices(const RuleNode& a, const RuleNode& b, const Dimension& along,
                     const Frame& frame);

    // A step that reads its own earlier rows.

    /// The lines that make it, row by row.
    std::string loop(const Rule& rule, const RuleOrder& order);
    /// The expression at the place of the loop: cells are taken there, and lack that axis.
    RuleTree at_place(const RuleTree& tree);
    /// `(a if t == 0 else b)`, where the loop alone decides; nothing elsewhere.
    Written choice_of_loop(const RuleNode& node, const Frame& frame, bool in_index);
    /// As bounds_of(), with the loop's variable among the indices.
    std::optional<IndexSpan> bounds_in_loop(const RuleNode& node, const Frame& frame) const;

    const RulePython& with_;
    bool torch_;
    std::string module_;
    Effort effort_ = as_it_lies;
    std::vector<RuleTree> asked_;    ///< the conditions under which a side is taken
    bool is_truth_ = false;          ///< the rule makes truths
    bool is_loose_ = false;          ///< numbers are written whose type nothing says
    std::optional<Dimension> loop_;  ///< the variable of the loop around, and how far it goes
    int sums_ = 0;                   ///< around what is written
    bool is_apart_ = false;          ///< it is told apart from other numbers: no product
};

}  // namespace attn::python
