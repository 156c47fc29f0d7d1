#pragma once
#include <map>
#include <string>

#include "attn/explain/why.hpp"

namespace attn {

// What derivations are made of, and one function for each kind of step.

/// Where a cell lies, by the names of its axes.
using Place = std::map<std::string, std::size_t>;

Place place_of(const Tensor& tensor, const Cell& cell);
/// The place with another index on one axis.
Place with(Place place, const std::string& axis, std::size_t index);
/// The place of a row of features with its position on the axis that another tensor calls it by.
Place at_position(Place place, const std::string& axis);

/// A walk whose cells are read by their place.
struct WalkView {
    const Plan& plan;
    const Ledger& ledger;

    /// The cell of `step` at a place; axes that the step lacks do not count, broadcast ones are 0.
    Cell at(const std::string& step, const Place& place) const;
    /// The step that softmax read, and the axis along which it ran.
    std::string softmax_input() const;
    std::string softmax_axis() const;
};

/// Adds a term that is a product of two cells.
void add_product(Derivation& derivation, const Cell& left, const Cell& right);
/// Makes the derivation that of a number taken over as it was.
void copy(Derivation& derivation, const Cell& source, const std::string& rule);

/// Writes the rule of a step from scores to context; false for any other.
bool derive_attention(const WalkView& view, const std::string& step, const Place& place,
                      Derivation& derivation);
/// The same for the steps that make and mix features: x, projections, merged, output.
bool derive_features(const WalkView& view, const std::string& step, const Place& place,
                     Derivation& derivation);

/// Adds its tokens, its row, the mask, and where the cell is used next.
void add_remarks(const WalkView& view, const std::string& step, const Place& place,
                 Derivation& derivation);

}  // namespace attn
