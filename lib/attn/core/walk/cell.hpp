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
    std::vector<std::string> remarks{};  ///< about words with several places
};

/// The place of a cell, by the names of its axes.
using Place = std::map<std::string, std::size_t>;

/// Returns the place with another index on one axis.
Place with(Place place, const std::string& axis, std::size_t index);
/// Returns the place of a feature row, with its position on the axis name of another tensor.
Place at_position(Place place, const std::string& axis);

/// A cell of a walk to derive, and access to the cells around it by place.
struct WalkView {
    const Plan& plan;
    const StepTable& table;
    const Ledger& ledger;
    const Step& step;
    Place place;

    /// True if a step with that name is part of this walk.
    bool has(std::string_view name) const { return has_step(table, plan, name); }
    /// Returns the cell of another step at a place, ignoring axes that it lacks; broadcast axes are
    /// 0.
    Cell at(const std::string& name, const Place& where) const;
    Cell at(const std::string& name) const { return at(name, place); }
};

}  // namespace attn
