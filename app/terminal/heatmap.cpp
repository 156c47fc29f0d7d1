#include "app/terminal/heatmap.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "attn/notes/labels.hpp"
#include "attn/render/content_text.hpp"
#include "attn/render/number_text.hpp"
#include "attn/render/shown.hpp"
#include "attn/render/torch_style.hpp"
#include "attn/text/width.hpp"

namespace app {
namespace {

using attn::Section;
using attn::Tensor;

/// Greys that no ramp has: they say nothing of size.
constexpr Color not_a_number{150, 150, 150};
constexpr Color infinite{190, 190, 190};
constexpr Color negative_infinite{90, 90, 90};

/// Maps the values of one tensor to colours.
class Shading {
public:
    Shading(const Section& section, const Tensor& tensor) {
        from_zero_to_one_ = tensor.dtype() == attn::DType::boolean || section.name == "weights" ||
                            section.name == "exponentials";
        for (std::size_t i = 0; i < tensor.size(); ++i) {
            const double value = tensor.at(i);
            if (std::isfinite(value)) {
                limit_ = std::max(limit_, std::abs(value));
            } else {
                unfinished_ = true;
            }
        }
        if (from_zero_to_one_) limit_ = 1;
    }

    Color of(double value) const {
        if (std::isnan(value)) return not_a_number;
        if (std::isinf(value)) return value > 0 ? infinite : negative_infinite;
        const double share = limit_ > 0 ? value / limit_ : 0;
        return from_zero_to_one_ ? sequential_color(share) : diverging_color(share);
    }

    /// One line: the ramp between its ends.
    std::string legend(ColorDepth depth) const {
        constexpr int steps = 16;
        const double low = from_zero_to_one_ ? 0 : -limit_;
        std::string line = short_text(low) + " ";
        for (int i = 0; i <= steps; ++i) {
            line += colored("  ", of(low + (limit_ - low) * i / steps), depth);
        }
        line += " " + short_text(limit_);
        if (!unfinished_) return line;
        return line + "   " + colored(" -inf ", negative_infinite, depth) +
               colored(" inf ", infinite, depth) + colored(" nan ", not_a_number, depth);
    }

private:
    static std::string short_text(double value) { return attn::notes::number(value); }

    double limit_ = 0;
    bool from_zero_to_one_ = false;
    bool unfinished_ = false;
};

/// `text` cut or filled up to a number of columns, on the left or on the right.
std::string fitted(std::string text, std::size_t columns, bool to_the_right) {
    if (attn::display_width(text) > columns) {
        std::string cut;
        for (std::size_t at = 0; at < text.size();) {
            std::size_t next = at + 1;
            while (next < text.size() && (text[next] & 0xC0) == 0x80) ++next;
            const std::string longer = cut + text.substr(at, next - at);
            if (attn::display_width(longer) + 1 > columns) break;
            cut = longer;
            at = next;
        }
        text = cut + "…";
    }
    const std::string blanks(columns - std::min(columns, attn::display_width(text)), ' ');
    return to_the_right ? blanks + text : text + blanks;
}

/// Draws one tensor.
class Grid {
public:
    Grid(const Section& section, const attn::Document& document, const Tensor& tensor,
         const HeatmapChoices& choices)
        : section_(section),
          document_(document),
          tensor_(tensor),
          choices_(choices),
          settings_(attn::settings_for(choices.options, attn::torch_defaults)),
          shown_(tensor.shape(), settings_),
          shading_(section, tensor) {
        find_style();
        batch_ = picked_sequence();
    }

    std::string text() {
        draw_axis(0, 0);
        if (is_shaded()) text_ += shading_.legend(choices_.depth) + "\n";
        text_.erase(text_.find_last_not_of('\n') + 1);
        return std::move(text_);
    }

private:
    /// Whole numbers are names here, not sizes.
    bool is_shaded() const {
        return choices_.depth != ColorDepth::none && tensor_.dtype() != attn::DType::int64;
    }

    void find_style() {
        attn::Survey found;
        shown_.for_each_range([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) found.see(tensor_.at(i));
        });
        style_ = attn::torch_style(found, settings_);
        shown_.for_each_range([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                cell_width_ = std::max(cell_width_, number_text(tensor_.at(i)).size());
            }
        });
    }

    std::string number_text(double value) const {
        attn::NumberBuffer buffer;
        char* end =
            tensor_.is_floating()
                ? attn::write_torch_value(buffer.data(), value, style_.form, style_.precision)
                : attn::write_integer(buffer.data(), static_cast<std::int64_t>(value));
        return {buffer.data(), end};
    }

    /// The sequence that a slice has picked out of the batch.
    std::optional<std::size_t> picked_sequence() const {
        if (section_.part.empty()) return std::nullopt;
        const bool first_is_batch = document_.query_tokens.size() > 1 &&
                                    section_.part.front().drops_axis && !tensor_.has_axis("batch");
        if (!first_is_batch) return std::nullopt;
        return static_cast<std::size_t>(section_.part.front().first);
    }

    /// Where index `i` of an axis lies in the whole tensor.
    std::size_t whole_index(std::size_t axis, std::size_t i) const {
        for (const attn::AxisPart& part : section_.part) {
            if (part.drops_axis) continue;
            if (axis-- > 0) continue;
            return static_cast<std::size_t>(part.first +
                                            static_cast<std::ptrdiff_t>(i) * part.step);
        }
        return i;
    }

    std::string label(std::size_t axis, std::size_t i) const {
        const std::size_t position = whole_index(axis, i);
        const std::string& name = tensor_.axes()[axis];
        const auto* sequences = name == "query" ? &document_.query_tokens
                                : name == "key" ? &document_.key_tokens
                                                : nullptr;
        if (sequences != nullptr && !sequences->empty()) {
            const auto& tokens = (*sequences)[std::min(batch_.value_or(0), sequences->size() - 1)];
            if (position < tokens.size()) {
                const std::string quoted = attn::notes::quoted(tokens[position]);
                return quoted.substr(1, quoted.size() - 2);
            }
        }
        return std::to_string(position);
    }

    /// Draws the matrices, or the row, or the cell, that lie behind the leading axes.
    void draw_axis(std::size_t axis, std::size_t offset) {
        if (axis + 2 >= tensor_.dimension()) {
            draw_matrix(offset);
            return;
        }
        const attn::ShownAxis& along = shown_.axis(axis);
        const std::string caption = caption_;
        const auto draw = [&](std::size_t i) {
            const std::size_t place = whole_index(axis, i);
            caption_ = caption + (caption.empty() ? "" : ", ") + tensor_.axes()[axis] + " " +
                       std::to_string(place);
            if (tensor_.axes()[axis] == "batch") batch_ = place;
            draw_axis(axis + 1, offset + i * along.stride);
        };
        for (std::size_t i = 0; i < along.head; ++i) draw(i);
        if (along.cut) text_ += "…\n\n";
        for (std::size_t i = along.length - along.tail; i < along.length; ++i) draw(i);
        caption_ = caption;
    }

    /// The printed indices of an axis; nothing stands for the dots between them.
    std::vector<std::optional<std::size_t>> places(std::size_t axis) const {
        std::vector<std::optional<std::size_t>> result;
        const attn::ShownAxis& along = shown_.axis(axis);
        for (std::size_t i = 0; i < along.head; ++i) result.emplace_back(i);
        if (along.cut) result.emplace_back();
        for (std::size_t i = along.length - along.tail; i < along.length; ++i) {
            result.emplace_back(i);
        }
        return result;
    }

    void draw_matrix(std::size_t offset) {
        const std::size_t dimension = tensor_.dimension();
        if (!caption_.empty()) text_ += caption_ + "\n";
        if (dimension == 0) {
            text_ += cell(tensor_.at(offset));
            text_.erase(text_.find_last_not_of(' ') + 1);
            text_ += "\n";
            return;
        }
        // Measure the labels: rows have room for most words, columns the width of a number.
        constexpr std::size_t widest_label = 16;
        const std::size_t last = dimension - 1;
        const bool has_rows = dimension > 1;
        const auto rows =
            has_rows ? places(last - 1) : std::vector<std::optional<std::size_t>>{std::size_t{0}};
        const auto columns = places(last);
        std::size_t label_width = 0;
        for (const auto& row : rows) {
            if (!has_rows || !row) continue;
            label_width = std::max(label_width, attn::display_width(label(last - 1, *row)));
        }
        label_width = std::min(label_width, widest_label);
        std::size_t width = cell_width_;
        for (const auto& column : columns) {
            if (!column) continue;
            width = std::max(width,
                             std::min<std::size_t>(8, attn::display_width(label(last, *column))));
        }
        width_ = width;

        // Draw block by block as many columns as fit.
        const std::size_t room =
            choices_.columns > label_width + 1 ? choices_.columns - label_width : 1;
        const std::size_t per_block = std::max<std::size_t>(1, room / (width + 2));
        for (std::size_t begin = 0; begin < columns.size(); begin += per_block) {
            const std::size_t end = std::min(columns.size(), begin + per_block);
            text_ += std::string(label_width, ' ');
            for (std::size_t c = begin; c < end; ++c) {
                text_ +=
                    " " + fitted(columns[c] ? label(last, *columns[c]) : "…", width, true) + " ";
            }
            text_.erase(text_.find_last_not_of(' ') + 1);
            text_ += "\n";
            for (const auto& row : rows) {
                draw_row(row, has_rows, columns, begin, end, label_width, offset);
            }
        }
        if (dimension > 2) text_ += "\n";
    }

    void draw_row(std::optional<std::size_t> row, bool has_rows,
                  const std::vector<std::optional<std::size_t>>& columns, std::size_t begin,
                  std::size_t end, std::size_t label_width, std::size_t offset) {
        const std::size_t last = tensor_.dimension() - 1;
        if (!row) {
            text_ += "…\n";
            return;
        }
        if (has_rows) {
            text_ += fitted(label(last - 1, *row), label_width, false);
            offset += *row * shown_.axis(last - 1).stride;
        }
        for (std::size_t c = begin; c < end; ++c) {
            text_ += columns[c] ? cell(tensor_.at(offset + *columns[c]))
                                : " " + fitted("…", width_, true) + " ";
        }
        text_.erase(text_.find_last_not_of(' ') + 1);
        text_ += "\n";
    }

    std::string cell(double value) const {
        const std::size_t width = std::max(width_, cell_width_);
        const std::string text = " " + fitted(number_text(value), width, true) + " ";
        return is_shaded() ? colored(text, shading_.of(value), choices_.depth) : text;
    }

    const Section& section_;
    const attn::Document& document_;
    const Tensor& tensor_;
    const HeatmapChoices& choices_;
    attn::Settings settings_;
    attn::Shown shown_;
    Shading shading_;
    attn::TorchStyle style_;
    std::size_t cell_width_ = 1;
    std::size_t width_ = 1;
    std::optional<std::size_t> batch_;
    std::string caption_;
    std::string text_;
};

}  // namespace

std::string heatmap_text(const Section& section, const attn::Document& document,
                         const HeatmapChoices& choices) {
    const auto* tensor = std::get_if<Tensor>(&section.content);
    if (tensor == nullptr || tensor->size() == 0) {
        return attn::content_text(section, attn::TextForm::torch, choices.options);
    }
    return Grid(section, document, *tensor, choices).text();
}

}  // namespace app
