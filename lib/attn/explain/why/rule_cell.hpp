#pragma once
#include <string>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

/// A cell that a rule reads: the step, and its number in row-major order.
struct ReadCell {
    const std::string* step;
    const Tensor* tensor;
    std::size_t number;

    double value() const { return tensor->at(number); }
};

/// The form of an addend of a sum: a * b or a, exp(a - b), or what its text says.
enum class AddendForm { product, exponential, other };

/// One cell of a step as its rule makes it, with one side of each `if` taken and of each largest
/// number the cell that it is.
struct MadeCell {
    /// An addend of a sum.
    struct Addend {
        AddendForm form = AddendForm::other;
        std::vector<ReadCell> cells;
        std::string text{};  ///< with `{1}` in the place of cell 1
        double value = 0;
    };

    bool is_too_long = false;  ///< to be followed: all else is empty
    bool is_sum = false;
    std::vector<Addend> addends;  ///< of a sum
    std::string text;             ///< of what is no sum: with `{1}` in the place of cell 1
    std::vector<ReadCell> cells;  ///< that are in it
    bool is_copy = false;         ///< it is another cell, as it was
    bool takes_side = false;      ///< it is on one side of an `if`
    std::vector<ReadCell> asked;  ///< cells that said which one
};

/// Whether the tensors of this ledger have the axes that the rule was completed for: a mistake may
/// have made others.
bool fits(const Rule& rule, const PlannedStep& of, const Ledger& ledger);

/// Follows the cells of one step to those that its rule reads.
class RuleCell : RuleIndices {
public:
    /// The completed rule of a step of this ledger, which must outlive it.
    RuleCell(const Rule& rule, const Ledger& ledger);

    /// Range  sums of more than some million numbers are left as they are: no text, no addends.
    MadeCell at(const std::vector<std::size_t>& indices);

private:
    struct Range {
        Index first, end;
    };

    Range range(const BoundRule& reduction);
    double cost(const BoundRule& node);
    const BoundRule& settled(const BoundRule& node, MadeCell& made);
    void add_addends(const BoundRule& node, MadeCell& made, std::vector<const BoundRule*>& found);
    void add_addend(const BoundRule& node, MadeCell& made);
    ReadCell read(const BoundRule& cell);
    RuleTree written(const BoundRule& node, MadeCell& made, std::vector<ReadCell>& cells);

    BoundTree tree_;
};

/// The text with each place `{1}` filled in by `of(cell 1)`.
template <class Of>
std::string filled(const std::string& text, const std::vector<ReadCell>& cells, Of of) {
    return filled(text, [&](std::string_view number) {
        return std::optional<std::string>(of(cells[std::stoul(std::string(number))]));
    });
}

}  // namespace attn
