#include <algorithm>

#include "attn/core/rules/rule.hpp"
#include "attn/explain/codegen/python.hpp"
#include "attn/explain/codegen/python_frame.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;
using Whole = std::int64_t;

/// A tensor, and operations on its axes.
struct Pieces {
    std::string text;
    Frame has{};                           ///< an empty index can stand for any
    std::vector<std::string> cut{};        ///< the slice along each axis,
    Frame split{};                         ///< the axes of which one is split in two,
    std::vector<std::string> cut_after{};  ///< and the slices after that

    void add(const Dimension& dimension, const std::string& range, Whole size) {
        has.push_back(dimension);
        cut_after.push_back(range);
        split.push_back({"", size});
    }
};

/// Returns `4:8` for a part of `of` places.
std::string range_text(Whole first, Whole count, Whole of) {
    return (first == 0 ? "" : std::to_string(first)) + ":" +
           (first + count == of ? "" : std::to_string(first + count));
}

/// Slices `2:6`, takes every second place, or splits `h * 4 + f` into two dimensions.
bool cut_along(const Affine& at, Whole length, Pieces& pieces) {
    const auto& [index, stride, count] = at.terms[0];
    if (at.terms.size() == 1) {
        if (stride < 1) return false;
        const Whole reached = std::min(count * stride, length - at.first);
        pieces.cut.push_back(range_text(at.first, reached, length) +
                             (stride == 1 ? "" : ":" + std::to_string(stride)));
        pieces.add({index, count}, ":", count);
        return true;
    }
    const auto& [inner, one, width] = at.terms[1];
    const bool is_tight = stride == width || count == 1;
    const bool fits = is_tight || (count * stride == length && at.first + width <= stride);
    if (one != 1 || !fits) return false;
    pieces.cut.push_back(is_tight ? range_text(at.first, count * width, length) : ":");
    pieces.add({index, count}, ":", count);
    pieces.add({inner, width}, is_tight ? ":" : range_text(at.first, width, stride),
               is_tight ? width : stride);
    return true;
}

class CellWriter {
public:
    CellWriter(const RuleNode& cell, const Shape& shape, const Frame& frame, const CellPython& with)
        : cell_(cell), shape_(shape), frame_(frame), with_(with) {}

    Written written() const {
        if (Written array = sliced()) return array;
        if (Written array = side_by_side()) return array;
        return with_.effort == by_lookup ? one_by_one() : std::nullopt;
    }

private:
    Written sliced() const {
        Pieces pieces{python_name(cell_.word)};
        bool looks_up = false;
        for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
            const RuleNode& part = *cell_.parts[axis];
            const auto length = static_cast<Whole>(shape_[axis]);
            const std::optional<Affine> at = affine(part, frame_);
            if (length == 1 && part.kind != Kind::name) {
                pieces.cut.emplace_back(":");
                pieces.add({"", 1}, ":", 1);
                continue;
            }
            const bool is_inside = at && stays_within(part, frame_, length);
            if (is_inside && cut_along(*at, length, pieces)) continue;
            // Look up along one axis: `embedding[ids]`.
            const Frame own = indices_in(part, frame_);
            const Written places = place(axis, own);
            const bool is_first = !std::exchange(looks_up, true);
            if (!is_first || !places || own.empty() || places->along != all_of(own)) return {};
            pieces.cut.push_back(places->text);
            for (const Dimension& each : own) pieces.add(each, ":", each.length);
        }
        const bool splits = !looks_up && pieces.split.size() > shape_.size();
        pieces.text += subscript(pieces.cut);
        if (splits)
            pieces.text +=
                ".reshape(" + sizes_text(pieces.split) + ")" + subscript(pieces.cut_after);
        return turned(pieces);
    }

    /// Merges two dimensions: `context[c / 4, t, c % 4]`.
    Written side_by_side() const {
        const std::size_t last = shape_.size() - 1;
        const auto is_part = [&](std::size_t axis, const char* sign) {
            const RuleNode& part = *cell_.parts[axis];
            return is_operation(part, sign) && part.parts[0]->kind == Kind::name &&
                   whole_number(*part.parts[1]) == static_cast<Whole>(shape_[last]);
        };
        std::size_t outer = 0;
        while (outer < last && !is_part(outer, "//")) ++outer;
        if (outer == last || !is_part(last, "%")) return std::nullopt;
        const std::string& index = cell_.parts[last]->parts[0]->word;
        const std::size_t at = place_of(frame_, index);
        const auto width = static_cast<Whole>(shape_[last]);
        const bool is_one = cell_.parts[outer]->parts[0]->word == index && at < frame_.size() &&
                            frame_[at].length == static_cast<Whole>(shape_[outer]) * width;
        if (!is_one) return std::nullopt;
        RuleNode separate = cell_;
        separate.parts[outer] = name_node(index + "/");
        separate.parts[last] = name_node(index + "%");
        Frame two = frame_;
        two[at] = {index + "/", frame_[at].length / width};
        two.insert(two.begin() + static_cast<std::ptrdiff_t>(at) + 1, {index + "%", width});
        const Written array = cell_array(separate, shape_, two, with_);
        std::size_t first = 0;
        while (array && first < at && (array->along & bit(first)) == 0) ++first;
        if (!array || array->along >> first != all_of(two) >> first) return std::nullopt;
        return Text{array->in_parentheses() + ".reshape(" + sizes_text(frame_, first) + ")",
                    Binds::single, all_of(frame_) >> first << first};
    }

    /// Indexes each axis separately.
    Written one_by_one() const {
        std::string places;
        std::uint64_t along = 0;
        for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
            const Written index = place(axis, frame_);
            if (!index) return std::nullopt;
            places += (axis == 0 ? "" : ", ") + index->text;
            along |= index->along;
        }
        return Text{python_name(cell_.word) + "[" + places + "]", Binds::single, along};
    }

    /// Returns the index along an axis. The unused side of a `where` may be out of range.
    Written place(std::size_t axis, const Frame& frame) const {
        const RuleNode& part = *cell_.parts[axis];
        const auto last = static_cast<double>(shape_[axis]) - 1;
        if (const std::optional<double> number = number_of(part)) {
            return constant(*number_node(std::clamp(*number, 0.0, std::max(last, 0.0))));
        }
        if (shape_[axis] == 1) return Text{"0"};
        Written index = with_.index(part, frame);
        const bool is_inside =
            part.kind == Kind::cell || stays_within(part, frame, static_cast<Whole>(shape_[axis]));
        if (!index || is_inside) return index;
        return Text{index->in_parentheses() + ".clip(0, " + std::to_string(shape_[axis] - 1) + ")",
                    Binds::single, index->along};
    }

    /// Transposes the dimensions to the frame's order.
    Written turned(const Pieces& pieces) const {
        const Frame& has = pieces.has;
        std::vector<std::size_t> places(has.size());
        std::size_t extract_products = frame_.size();
        std::uint64_t along = 0;
        std::uint64_t lies = 0;
        bool in_order = true;
        for (std::size_t i = has.size(); i-- > 0;) {
            const bool is_free = has[i].index.empty();
            if (is_free && extract_products == 0) return std::nullopt;
            places[i] = is_free ? extract_products - 1 : place_of(frame_, has[i].index);
            const bool is_there = places[i] < frame_.size() && (lies & bit(places[i])) == 0 &&
                                  (is_free || frame_[places[i]].length == has[i].length);
            if (!is_there) return std::nullopt;
            in_order = in_order && places[i] < extract_products;
            extract_products = places[i];
            lies |= bit(places[i]);
            if (!is_free || frame_[places[i]].length == 1) along |= bit(places[i]);
        }
        if (!in_order && with_.effort == in_stored_order) return std::nullopt;
        Text line = laid(pieces.text + (in_order ? "" : order(places)), frame_, lies);
        line.along = along;
        return line;
    }

    /// Returns the operation that sorts dimensions by their places.
    std::string order(const std::vector<std::size_t>& places) const {
        Frame axes;  // the length is the number of an axis
        for (std::size_t i = 0; i < places.size(); ++i) axes.push_back({"", static_cast<Whole>(i)});
        std::ranges::sort(axes, {}, [&](const Dimension& axis) {
            return places[static_cast<std::size_t>(axis.length)];
        });
        Frame moved;
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const auto from_end = static_cast<Whole>(i) - static_cast<Whole>(axes.size());
            if (axes[i].length != static_cast<Whole>(i)) moved.push_back({"", from_end});
        }
        if (places.size() == 2) return ".T";
        if (moved.size() != 2) {
            return (with_.is_torch ? ".permute(" : ".transpose(") + sizes_text(axes) + ")";
        }
        return (with_.is_torch ? ".transpose(" : ".swapaxes(") + sizes_text(moved) + ")";
    }

    const RuleNode& cell_;
    const Shape& shape_;
    const Frame& frame_;
    const CellPython& with_;
};

}  // namespace

Written cell_array(const RuleNode& cell, const Shape& shape, const Frame& frame,
                   const CellPython& with) {
    return CellWriter(cell, shape, frame, with).written();
}

}  // namespace attn::python
