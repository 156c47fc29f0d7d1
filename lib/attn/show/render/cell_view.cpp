#include "attn/show/render/cell_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

/// Returns the largest finite magnitude of each row along the last axis.
std::vector<double> largest_of_rows(const Tensor& tensor) {
    const std::size_t length = tensor.dimension() == 0 ? 1 : tensor.shape().back();
    std::vector<double> largest(length == 0 ? 0 : tensor.size() / length, 0.0);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double size = std::abs(tensor.at(i));
        if (std::isfinite(size)) largest[i / length] = std::max(largest[i / length], size);
    }
    return largest;
}

}  // namespace

ScaleEnd scale_end(const Section& section, ScaleEnd requested) {
    constexpr std::size_t many_keys = 16;
    const auto* const tensor = std::get_if<Tensor>(&section.content);
    const bool is_long = tensor != nullptr && section.name == "weights" &&
                         tensor->axes().back() == "key" && tensor->shape().back() >= many_keys;
    return requested == ScaleEnd::automatic && is_long ? ScaleEnd::row : requested;
}

CellView::CellView(const Section& section, const Document& document, const PrintOptions& options,
                   const Shown& shown, ScaleEnd end)
    : section_(section),
      document_(document),
      tensor_(std::get<Tensor>(section.content)),
      scores_(section.scores ? &*section.scores : nullptr),
      end_(end) {
    const Survey found = std::visit([&](const auto& array) { return survey(array.data(), shown); },
                                    tensor_.values());
    form_ = torch_form(found, settings_for(options, torch_defaults));
    width_ = std::max(width_, found.longest([this](double value) { return number(value).size(); }));
    if (found.zero) width_ = std::max(width_, number(0).size());
    width_ = std::max(width_, found.longest_word());

    const bool is_share = tensor_.dtype() == DType::boolean || section.name == "weights" ||
                          section.name == "exponentials";
    kind_ = is_share ? ScaleKind::from_zero : ScaleKind::around_zero;
    const bool ends_at_one = end == ScaleEnd::fixed || (is_share && end == ScaleEnd::automatic) ||
                             tensor_.dtype() == DType::boolean;
    limit_ = ends_at_one ? 1 : found.maximum();
    if (end == ScaleEnd::row) row_limits_ = largest_of_rows(tensor_);
    has_non_finite_ = found.has_non_finite();
}

std::string CellView::number(double value) const {
    NumberForm unpadded = form_;
    unpadded.width = 1;
    return tensor_.is_floating() ? number_text(value, unpadded)
                                 : std::to_string(static_cast<std::int64_t>(value));
}

std::optional<std::size_t> CellView::picked_sequence() const {
    return document_.picked_sequence(section_);
}

std::size_t CellView::whole_index(std::size_t axis, std::size_t i) const {
    return section_.whole_index(axis, i);
}

std::string CellView::label(std::size_t axis, std::size_t i, std::optional<std::size_t> batch,
                            std::size_t head) const {
    const std::size_t position = whole_index(axis, i);
    if (const auto named = section_.features.find(tensor_.axes()[axis]);
        named != section_.features.end()) {
        const std::vector<std::string>& names = in_head(named->second, head);
        if (position < names.size()) return notes::shortened(names[position]);
    }
    const auto* sequences = document_.tokens_on(section_, tensor_.axes()[axis]);
    // If the rows are the sequences, a column has no single token.
    const bool of_all = !batch && tensor_.has_axis("batch") && document_.query_tokens.size() > 1;
    if (sequences != nullptr && !of_all) {
        const auto& tokens = (*sequences)[std::min(batch.value_or(0), sequences->size() - 1)];
        if (position < tokens.size()) return notes::shortened(tokens[position]);
    }
    return std::to_string(position);
}

double CellView::share_of(double value, double limit) {
    if (!std::isfinite(value)) return value;
    return limit > 0 ? value / limit : 0;
}

double CellView::share_at(std::size_t flat) const {
    if (row_limits_.empty()) return share(tensor_.at(flat));
    return share_of(tensor_.at(flat), row_limits_[flat / (tensor_.size() / row_limits_.size())]);
}

bool CellView::hides(std::size_t flat) const {
    return scores_ != nullptr && scores_->at(flat) == -std::numeric_limits<double>::infinity();
}

std::string CellView::class_at(std::size_t flat) const {
    return hides(flat) ? "hid" : scale_class(share_at(flat), kind_);
}

std::string CellView::low_end() const {
    if (kind_ == ScaleKind::from_zero) return "0";
    return end_ == ScaleEnd::row ? "-largest" : notes::number(-limit_);
}

std::string CellView::high_end() const {
    return end_ == ScaleEnd::row ? "largest of its row" : notes::number(limit_);
}

}  // namespace attn
