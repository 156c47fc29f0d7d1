#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attn/core/rules/indices.hpp"

namespace attn {

/// One row of a rule, all cells of its last index: which of them are asked for, and
/// where the tensors are read for them.
class RuleRows : protected RuleIndices {
protected:
    /// Which cells of the row are asked for; none: all.
    using Active = const char*;

    using RuleIndices::RuleIndices;

    bool uses_row(const BoundRule& node) const {
        return row_ != BoundRule::none && (node.uses & index_bit(row_)) != 0;
    }

    bool any(Active active) const {
        return active == nullptr || std::memchr(active, 1, count_) != nullptr;
    }

    /// How far each cell of the row is read from the first. It is worked out once, and again only
    /// where other indices change it: heads are split and merged in every row alike.
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

    /// The first and the last cell of the row that are asked for, of some.
    std::pair<std::size_t, std::size_t> asked_between(Active active) const {
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

    /// A row whose cells are read one stride after another.
    struct Line {
        std::size_t base, stride;
    };

    /// The line from one cell of the row to another; nothing where the places go otherwise. Where
    /// both ends lie within their axes, so does all between.
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

    /// Calls `visit` with each cell of the row that is asked for and the place in the tensor that
    /// is read for it, where they are on no line.
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
