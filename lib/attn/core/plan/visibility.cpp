#include "attn/core/plan/visibility.hpp"

#include <algorithm>
#include <functional>
#include <span>

#include "attn/core/rules/evaluate.hpp"
#include "attn/core/steps/mask.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {
namespace {

/// Returns a mask of `shape` with the cells for which `hides` is true.
template <class Hides>
Array<bool> cells_of(const Plan& plan, const Shape& shape, const Hides& hides) {
    Array<bool> cells = empty_array<bool>(shape);
    Shape four = shape;
    four.insert(four.begin(), 4 - four.size(), 1);
    // Without a head axis, the axis before the queries is the batch.
    if (!plan.has_head) std::swap(four[0], four[1]);
    bool* cell = cells.data();
    for (std::size_t b = 0; b < four[0]; ++b) {
        for (std::size_t h = 0; h < four[1]; ++h) {
            for (std::size_t q = 0; q < four[2]; ++q) {
                for (std::size_t k = 0; k < four[3]; ++k) *cell++ = hides(ScoreCell{b, h, q, k});
            }
        }
    }
    return cells;
}

}  // namespace

const RuleScope& mask_scope() {
    static const RuleScope scope{[](const std::string& name) -> const Tensor& {
                                     throw ConfigError("a mask reads no tensor " + name);
                                 },
                                 {}};
    return scope;
}

HiddenCells::HiddenCells(const MaskKind& kind, const Plan& plan, std::size_t first,
                         std::size_t count) {
    if (kind.condition == nullptr) {
        cells_ = kind.cells(plan);
        view_ = view_of(cells_, plan);
        return;
    }
    first_ = first;
    cells_ = empty_array<bool>({count, plan.key_len});
    // A rule is evaluated in floating point, which needs more memory than booleans: process some
    // rows at a time.
    const std::size_t block = std::max<std::size_t>(1, (std::size_t{1} << 20U) / plan.key_len);
    for (std::size_t q = 0; q < count; q += block) {
        const std::size_t rows = std::min(block, count - q);
        const auto place = causal_offset(plan) + static_cast<std::ptrdiff_t>(first + q);
        const Tensor part =
            evaluate_rule("mask[q,k] = " + kind.condition(plan.config.mask, position_text(place)),
                          {"query", "key"}, {rows, plan.key_len}, DType::float32, mask_scope());
        std::ranges::copy(part.as<bool>(), cells_.data() + q * plan.key_len);
    }
    view_.hidden = cells_.data();
    view_.query_stride = plan.key_len;
    view_.key_stride = 1;
}

Visibility::Visibility(const Plan& plan) : plan_(plan) {
    std::vector<HiddenCells> by_cells;
    view_.heads = plan.heads;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(plan.config.mask)) continue;
        if (kind.limit) {
            kind.limit(plan, view_);
        } else {
            by_cells.emplace_back(kind, plan);
        }
    }
    if (by_cells.empty()) return;
    if (by_cells.size() == 1) {
        cells_ = std::move(by_cells.front()).cells();
    } else {
        cells_ = cells_of(plan, mask_shape(plan, false), [&](const ScoreCell& cell) {
            return std::ranges::any_of(by_cells,
                                       [&](const HiddenCells& kind) { return kind.hides(cell); });
        });
    }
    const MaskView limits = view_;
    view_ = view_of(cells_, plan);
    view_.causal = limits.causal;
    view_.causal_offset = limits.causal_offset;
    view_.window = limits.window;
    view_.window_offset = limits.window_offset;
}

Tensor Visibility::mask() const {
    return {mask_axes(plan_), cells_of(plan_, mask_shape(plan_),
                                       [this](const ScoreCell& cell) { return hides(cell); })};
}

Shape mask_shape(const Plan& plan, bool of_all_kinds) {
    Shape shape;
    for (const MaskKind& kind : mask_kinds()) {
        if (!kind.chosen(plan.config.mask) || (kind.limit && !of_all_kinds)) continue;
        shape = broadcast_shape(
            shape, kind.condition ? Shape{plan.query_len, plan.key_len} : kind.shape(plan));
    }
    return shape;
}

Axes mask_axes(const Plan& plan) {
    const Axes axes = plan.per_head_axes("query", "key");
    return {axes.end() - static_cast<std::ptrdiff_t>(mask_shape(plan).size()), axes.end()};
}

MaskView view_of(const Array<bool>& mask, const Plan& plan) {
    MaskView view = view_of(mask, plan.per_head_shape(plan.query_len, plan.key_len));
    // A single leading axis other than the head's is the batch.
    if (!plan.has_head) std::swap(view.batch_stride, view.head_stride);
    view.heads = plan.heads;
    return view;
}

AttentionShape attention_shape(const Plan& plan) {
    return {plan.batch,    plan.heads,     plan.query_len, plan.key_len,
            plan.head_dim, plan.value_dim, plan.kv_heads};
}

namespace {

/// `cells` is the part for the axes from `axis` on.
std::string where_true(std::span<const bool> cells, const Shape& shape, std::size_t axis,
                       const std::string& letters) {
    const std::size_t length = shape[axis];
    const std::size_t each = cells.size() / std::max<std::size_t>(length, 1);
    const std::string index(1, letters[axis]);
    const auto part = [&](std::size_t i) { return cells.subspan(i * each, each); };
    std::string all;
    for (std::size_t first = 0, end = 0; first < length; first = end) {
        while (end < length && std::ranges::equal(part(first), part(end))) ++end;
        if (std::ranges::none_of(part(first), std::identity())) continue;
        std::string where;
        if (end == first + 1 && length > 1) {
            where = index + " == " + std::to_string(first);
        } else {
            if (first > 0) where = index + " >= " + std::to_string(first);
            if (end < length)
                where += (where.empty() ? "" : " and ") + index + " < " + std::to_string(end);
        }
        if (std::ranges::find(part(first), false) != part(first).end()) {
            const std::string within = where_true(part(first), shape, axis + 1, letters);
            const bool several = !where.empty() && within.find(" or ") != std::string::npos;
            where += (where.empty() ? "" : " and ") + (several ? "(" + within + ")" : within);
        }
        if (where.empty()) where = index + " >= 0";
        all += (all.empty() ? "" : " or ") + where;
    }
    return all.empty() ? std::string(1, letters.back()) + " < 0" : all;
}

}  // namespace

std::string where_true(const Array<bool>& cells, const std::string& letters) {
    return where_true({cells.data(), cells.size()}, cells.shape(), 0, letters);
}

}  // namespace attn
