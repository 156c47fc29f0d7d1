#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attn/core/rules/indices.hpp"

namespace attn {

/// One row of a rule, all cells of its last index: the active cells, and the places that they read
/// in tensors.
class RuleRows : protected RuleIndices {
protected:
    /// Marks the active cells of the row; null: all.
    using Active = const char*;

    using RuleIndices::RuleIndices;

    bool uses_row(const BoundRule& node) const {
        return row_ != BoundRule::none && (node.uses & index_bit(row_)) != 0;
    }

    bool any(Active active) const {
        return active == nullptr || std::memchr(active, 1, count_) != nullptr;
    }

    /// Returns the offset of each cell's place from the first one's. Computed once, and again only
    /// if other indices change it: splitting and merging heads is the same in every row.
    const std::vector<std::size_t>& moves_of(const BoundRule& node) {
        std::uint64_t uses = 0;
        for (const BoundRule::Place& place : node.places) {
            if (!place.index) uses |= node.parts[place.part].uses;
        }
        std::vector<Index> indices = others_of(uses & ~index_bit(row_));
        indices.insert(indices.end(), {static_cast<Index>(row_), start_});
        auto& [known, kept] = moves_[&node];
        std::vector<std::size_t>& moves = kept;
        if (known == indices && moves.size() == count_) return moves;
        known = std::move(indices);
        moves.resize(count_);
        for_each_active(nullptr, [&](std::size_t r) { moves[r] = place_in(node); });
        for (std::size_t r = count_; r-- > 0;) moves[r] -= moves[0];
        return moves;
    }

    /// Returns the first and the last active cell of the row; some cell must be active.
    std::pair<std::size_t, std::size_t> requested_between(Active active) const {
        std::size_t first = 0, last = count_ - 1;
        while (active != nullptr && !active[first]) ++first;
        while (active != nullptr && !active[last]) --last;
        return {first, last};
    }

    template <class Visit>
    void for_each_active(Active active, Visit visit) {
        for (std::size_t r = 0; r < count_; ++r) {
            if (active != nullptr && !active[r]) continue;
            if (row_ != BoundRule::none) index_[row_] = start_ + static_cast<Index>(r);
            visit(r);
        }
    }

    /// A row whose cells are read at a constant stride.
    struct Line {
        std::size_t base, stride;
    };

    /// Returns the line from one cell of the row to another; nullopt if the stride is not constant.
    /// If both ends are in range, so is everything between them.
    std::optional<Line> line_of(const BoundRule& node, std::size_t first, std::size_t last) {
        Line line{0, 0};
        for (const BoundRule::Place& place : node.places) {
            if (!place.index && uses_row(node.parts[place.part])) return std::nullopt;
            if (place.index == row_) line.stride += place.stride;
        }
        for (const std::size_t r : {last, first}) {
            if (row_ != BoundRule::none) index_[row_] = start_ + static_cast<Index>(r);
            line.base = place_in(node);
        }
        return line;
    }

    /// Calls `visit` with each active cell of the row and its place in the tensor, for rows that
    /// are not lines.
    template <class Visit>
    void for_each_place(const BoundRule& node, Active active, Visit visit) {
        if (active == nullptr && row_ != BoundRule::none && index_.size() < 63) {
            const std::vector<std::size_t>& moves = moves_of(node);
            index_[row_] = start_;
            const std::size_t base = place_in(node);
            for (std::size_t r = 0; r < count_; ++r) visit(r, base + moves[r]);
        } else {
            for_each_active(active, [&](std::size_t r) { visit(r, place_in(node)); });
        }
    }

    std::size_t row_ = 0;    ///< the last index of the result, or that of a sum
    std::size_t count_ = 1;  ///< its length
    Index start_ = 0;        ///< and its first place

private:
    std::map<const BoundRule*, std::pair<std::vector<Index>, std::vector<std::size_t>>> moves_;
};

}  // namespace attn
