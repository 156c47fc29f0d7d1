#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "attn/core/walk/step.hpp"

namespace attn {

/// One cell of the ledger.
struct Cell {
    std::string step;
    std::vector<std::size_t> indices;
    double value = 0;
    std::vector<std::string> remarks{};  ///< on words that are at several places
};

/// Where a cell lies, by the names of its axes.
using Place = std::map<std::string, std::size_t>;

/// The place with another index on one axis.
Place with(Place place, const std::string& axis, std::size_t index);
/// The place of a row of features with its position on the axis that another tensor calls it by.
Place at_position(Place place, const std::string& axis);

/// A cell of a walk that asks where it comes from, and the cells around it, read by their place.
struct WalkView {
    const Plan& plan;
    const StepTable& table;
    const Ledger& ledger;
    const Step& step;
    Place place;

    /// Whether a step of that name is part of this walk.
    bool has(std::string_view name) const { return has_step(table, plan, name); }
    /// The cell of another step at a place; axes that it lacks do not count, broadcast ones are 0.
    Cell at(const std::string& name, const Place& where) const;
    Cell at(const std::string& name) const { return at(name, place); }
};

}  // namespace attn
