#include "app/terminal/cell_view.hpp"

#include <algorithm>
#include <cmath>

#include "attn/notes/labels.hpp"
#include "attn/render/number_text.hpp"
#include "attn/render/shown.hpp"

namespace app {
namespace {

/// Greys, which neither colour scale contains.
constexpr Color not_a_number{150, 150, 150};
constexpr Color infinite{190, 190, 190};
constexpr Color negative_infinite{90, 90, 90};

attn::Survey survey_of(const attn::Tensor& tensor, const attn::Shown& shown) {
    attn::Survey found;
    std::visit(
        [&](const auto& array) {
            shown.for_each_range([&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    found.add(static_cast<double>(array.data()[i]));
                }
            });
        },
        tensor.values());
    return found;
}

}  // namespace

CellView::CellView(const attn::Section& section, const attn::Document& document,
                   const attn::PrintOptions& options, const attn::Shown& shown)
    : section_(section), document_(document), tensor_(std::get<attn::Tensor>(section.content)) {
    const attn::Survey found = survey_of(tensor_, shown);
    style_ = attn::torch_style(found, attn::settings_for(options, attn::torch_defaults));
    width_ = std::max(width_, found.longest([this](double value) { return number(value).size(); }));
    if (found.zero) width_ = std::max(width_, number(0).size());
    if (found.has_non_finite()) width_ = std::max<std::size_t>(width_, 3);
    if (found.negative_infinity) width_ = std::max<std::size_t>(width_, 4);

    from_zero_to_one_ = tensor_.dtype() == attn::DType::boolean || section.name == "weights" ||
                        section.name == "exponentials";
    limit_ = from_zero_to_one_ ? 1 : found.maximum();
    has_non_finite_ = found.has_non_finite();
}

std::string CellView::number(double value) const {
    attn::NumberBuffer buffer;
    char* end = tensor_.is_floating()
                    ? attn::write_torch_value(buffer.data(), value, style_.form, style_.precision)
                    : attn::write_integer(buffer.data(), static_cast<std::int64_t>(value));
    return {buffer.data(), end};
}

std::optional<std::size_t> CellView::picked_sequence() const {
    if (section_.part.empty()) return std::nullopt;
    const bool first_is_batch = document_.query_tokens.size() > 1 &&
                                section_.part.front().drops_axis && !tensor_.has_axis("batch");
    if (!first_is_batch) return std::nullopt;
    return static_cast<std::size_t>(section_.part.front().first);
}

std::size_t CellView::whole_index(std::size_t axis, std::size_t i) const {
    for (const attn::AxisPart& part : section_.part) {
        if (part.drops_axis) continue;
        if (axis-- > 0) continue;
        return static_cast<std::size_t>(part.first + static_cast<std::ptrdiff_t>(i) * part.step);
    }
    return i;
}

std::string CellView::label(std::size_t axis, std::size_t i,
                            std::optional<std::size_t> batch) const {
    const std::size_t position = whole_index(axis, i);
    if (const auto* sequences = document_.tokens_on(section_, tensor_.axes()[axis])) {
        const auto& tokens = (*sequences)[std::min(batch.value_or(0), sequences->size() - 1)];
        if (position < tokens.size()) {
            const std::string quoted = attn::notes::quoted(tokens[position]);
            return quoted.substr(1, quoted.size() - 2);
        }
    }
    return std::to_string(position);
}

Color CellView::color(double value) const {
    if (std::isnan(value)) return not_a_number;
    if (std::isinf(value)) return value > 0 ? infinite : negative_infinite;
    const double share = limit_ > 0 ? value / limit_ : 0;
    return from_zero_to_one_ ? sequential_color(share) : diverging_color(share);
}

std::string CellView::legend(ColorDepth depth) const {
    constexpr int steps = 16;
    const double low = from_zero_to_one_ ? 0 : -limit_;
    std::string line = attn::notes::number(low) + " ";
    for (int i = 0; i <= steps; ++i) {
        line += colored("  ", color(low + (limit_ - low) * i / steps), depth);
    }
    line += " " + attn::notes::number(limit_);
    if (!has_non_finite_) return line;
    return line + "   " + colored(" -inf ", negative_infinite, depth) +
           colored(" inf ", infinite, depth) + colored(" nan ", not_a_number, depth);
}

}  // namespace app
