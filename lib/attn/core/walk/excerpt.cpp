#include "attn/core/walk/excerpt.hpp"

#include <algorithm>
#include <array>

namespace attn {
namespace {

/// The axes that steps share: features of one step are not those of another.
constexpr std::array shared_axes{"batch", "head", "query", "key"};

const std::string& counted_by(const std::string& axis, const std::string& tokens) {
    return axis == "token" ? tokens : axis;
}

bool takes_all(const AxisPart& part, std::size_t length) {
    return part.first == 0 && part.step == 1 && part.count == length;
}

}  // namespace

Excerpt::Excerpt(const Step& step, const Axes& axes, const Shape& shape,
                 const std::vector<AxisPart>& place)
    : step_(step.name), tokens_(step.tokens), place_(place) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
        place_[i].drops_axis = false;
        if (!takes_all(place[i], shape[i])) {
            cut_.push_back({counted_by(axes[i], step.tokens), place_[i], shape[i]});
        }
    }
}

const Excerpt::Axis* Excerpt::find(std::string_view axis) const {
    const auto found = std::ranges::find(cut_, axis == "token" ? tokens_ : axis, &Axis::name);
    return found == cut_.end() ? nullptr : &*found;
}

bool Excerpt::has_all(std::string_view axis) const {
    const Axis* cut = find(axis);
    return cut == nullptr || cut->part.count == cut->length;
}

std::size_t Excerpt::index(std::string_view axis, std::size_t i) const {
    const Axis* cut = find(axis);
    if (cut == nullptr) return i;
    return static_cast<std::size_t>(cut->part.first +
                                    static_cast<std::ptrdiff_t>(i) * cut->part.step);
}

std::size_t Excerpt::count(std::string_view axis, std::size_t all) const {
    const Axis* cut = find(axis);
    return cut == nullptr ? all : cut->part.count;
}

std::size_t Excerpt::length(std::string_view axis, std::size_t all) const {
    const Axis* cut = find(axis);
    return cut == nullptr ? all : cut->length;
}

std::optional<Tensor> Excerpt::cut(const Tensor& tensor, const std::string& tokens) const {
    const Shape shape = tensor.shape();
    std::vector<AxisPart> parts;
    bool is_cut = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::string& name = counted_by(tensor.axes()[i], tokens);
        const Axis* axis =
            std::ranges::find(shared_axes, name) == shared_axes.end() ? nullptr : find(name);
        // An axis of length 1 is broadcast.
        const bool takes_part = axis != nullptr && shape[i] != 1;
        if (takes_part && shape[i] != axis->length) return std::nullopt;
        parts.push_back(takes_part ? axis->part : AxisPart{0, 1, shape[i], false});
        is_cut = is_cut || takes_part;
    }
    return is_cut ? slice(tensor, parts) : tensor;
}

Ledger Excerpt::cut(const Ledger& ledger, const StepTable& table) const {
    Ledger seen(chains_of(table));
    for (const Step& step : table) {
        const Tensor* tensor = ledger.find(step.name);
        if (step.name == step_) {
            if (tensor != nullptr) seen.record(step.name, slice(*tensor, place_));
            break;
        }
        if (tensor == nullptr) continue;
        if (std::optional<Tensor> part = cut(*tensor, step.tokens)) {
            seen.record(step.name, std::move(*part));
        }
    }
    return seen;
}

}  // namespace attn
