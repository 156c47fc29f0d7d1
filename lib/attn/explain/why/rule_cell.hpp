#pragma once
#include <string>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {

/// A cell that a rule reads: the step, and its index in row-major order.
struct ReadCell {
    const std::string* step;
    const Tensor* tensor;
    std::size_t number;

    double value() const { return tensor->at(number); }
};

/// The form of an addend of a sum: a * b or a, exp(a - b), or a text.
enum class AddendForm { product, exponential, other };

/// One cell of a step as computed by its rule, with the chosen side of each `if` and the cell of
/// each maximum.
struct ComputedCell {
    /// An addend of a sum.
    struct Addend {
        AddendForm form = AddendForm::other;
        std::vector<ReadCell> cells;
        std::string text{};  ///< with `{1}` for cell 1
        double value = 0;
    };

    bool is_too_long = false;  ///< to be derived: the rest is empty
    bool is_sum = false;
    std::vector<Addend> addends;       ///< if it is a sum
    std::string text;                  ///< if it is not a sum: with `{1}` for cell 1
    std::vector<ReadCell> cells;       ///< the cells in it
    bool is_copy = false;              ///< it is an unchanged copy of another cell
    bool is_branch = false;            ///< it is one side of an `if`
    std::vector<ReadCell> conditions;  ///< cells that decided which one
};

/// True if the tensors of this ledger have the axes that the rule was completed for: a mistake may
/// have changed them.
bool fits(const Rule& rule, const PlannedStep& of, const Ledger& ledger);

/// Finds the cells that the rule of a step reads for one of its cells.
class RuleCell : RuleIndices {
public:
    /// Takes the completed rule of a step of this ledger, which must outlive it.
    RuleCell(const Rule& rule, const Ledger& ledger);

    /// Range  sums of more than some million numbers have no text and no addends.
    ComputedCell at(const std::vector<std::size_t>& indices);

private:
    struct Range {
        Index first, end;
    };

    Range range(const BoundRule& reduction);
    double cost(const BoundRule& node);
    const BoundRule& settled(const BoundRule& node, ComputedCell& computed);
    void add_addends(const BoundRule& node, ComputedCell& computed,
                     std::vector<const BoundRule*>& found);
    void add_addend(const BoundRule& node, ComputedCell& computed);
    ReadCell read(const BoundRule& cell);
    RuleTree written(const BoundRule& node, ComputedCell& computed, std::vector<ReadCell>& cells);

    BoundTree tree_;
};

/// Fills in each place `{1}` of a text with `of(cell 1)`.
template <class Of>
std::string filled(const std::string& text, const std::vector<ReadCell>& cells, Of of) {
    return filled(text, [&](std::string_view number) {
        return std::optional<std::string>(of(cells[std::stoul(std::string(number))]));
    });
}

}  // namespace attn
