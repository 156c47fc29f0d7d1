#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "app/terminal/terminal.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/shown.hpp"

namespace app {
namespace {

/// Tensors up to this size are drawn whole: twelve heads of 64 tokens.
constexpr std::size_t most_drawn = 65536;
constexpr std::size_t widest_names = 20, gap = 2;

using Places = std::vector<std::optional<std::size_t>>;

attn::Settings drawn_settings(const attn::PrintOptions& options) {
    attn::Settings settings = attn::settings_for(options, attn::torch_defaults);
    if (!options.threshold) settings.threshold = most_drawn;
    return settings;
}

/// Returns two characters for a value without colours: its sign, and its size.
std::string glyphs(double share) {
    if (std::isnan(share)) return " ?";
    if (std::isinf(share)) return share > 0 ? " ∞" : "-∞";
    static constexpr std::array<const char*, 5> densities{"·", "░", "▒", "▓", "█"};
    const double size = std::min(std::abs(share), 1.0);
    return std::string(share < 0 ? "-" : " ") +
           densities[static_cast<std::size_t>(std::lround(4 * size))];
}

/// Draws the matrices of one tensor as small pictures, as many side by side as the lines have room
/// for. With colours a character is two cells, one above the other.
class Pictures {
public:
    Pictures(const attn::Section& section, const attn::Document& document,
             const attn::Tensor& tensor, const HeatmapChoices& choices)
        : tensor_(tensor),
          choices_(choices),
          shown_(tensor.shape(), drawn_settings(choices.options)),
          view_(section, document, choices.options, shown_, attn::scale_end(section, choices.end)),
          is_shaded_(choices.depth != ColorDepth::none),
          dimension_(tensor.dimension()),
          batch_(view_.picked_sequence()) {
        columns_ = dimension_ > 0 ? shown_.axis(dimension_ - 1).places() : Places{0};
        if (dimension_ > 1) rows_ = shown_.axis(dimension_ - 2).places();
    }

    std::string text() {
        visit(0, {"", 0});
        draw_group();
        text_ +=
            is_shaded_ ? scale_legend(view_, choices_.depth) : "0 · ░ ▒ ▓ █ " + view_.high_end();
        text_.erase(text_.find_last_not_of('\n') + 1);
        return std::move(text_);
    }

private:
    struct Picture {
        std::string caption;
        std::size_t offset;
    };

    /// Collects the matrices of each index of the leading axes; a group has one sequence, whose
    /// words name its rows.
    void visit(std::size_t axis, const Picture& above) {
        if (axis + 2 >= dimension_) {
            group_.push_back(above);
            return;
        }
        const std::string& name = tensor_.axes()[axis];
        for (const std::optional<std::size_t>& i : shown_.axis(axis).places()) {
            if (!i || name == "batch") draw_group();
            if (!i) {
                text_ += "…\n\n";
                continue;
            }
            const std::size_t place = view_.whole_index(axis, *i);
            const std::string here = name + " " + std::to_string(place);
            Picture inside{above.caption, above.offset + *i * shown_.axis(axis).stride};
            if (name == "batch") {
                batch_ = place;
                text_ += here + "\n";
            } else {
                inside.caption += (above.caption.empty() ? "" : ", ") + here;
            }
            visit(axis + 1, inside);
        }
    }

    std::string row_name(std::size_t row) const { return view_.label(dimension_ - 2, row, batch_); }

    /// The rows of one line: a pair with colours; nullopt for dots.
    struct Line {
        std::optional<std::size_t> upper, lower;
        std::string name;
    };
    std::vector<Line> lines() const {
        if (dimension_ < 2) return {{0, std::nullopt, ""}};
        std::vector<Line> result;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            Line line{rows_[i], std::nullopt, rows_[i] ? row_name(*rows_[i]) : "…"};
            if (is_shaded_ && rows_[i] && i + 1 < rows_.size() && rows_[i + 1]) {
                line.lower = rows_[++i];
                line.name += ", " + row_name(*line.lower);
            }
            result.push_back(std::move(line));
        }
        return result;
    }

    std::size_t cell_width() const { return is_shaded_ ? 1 : 2; }

    /// Draws the collected matrices side by side; one that is wider than a line is broken.
    void draw_group() {
        if (group_.empty()) return;
        const std::vector<Line> all = lines();
        std::size_t names = 0;
        for (const Line& line : all) names = std::max(names, attn::display_width(line.name));
        names = std::min(names, widest_names);
        const std::size_t room = std::max(choices_.columns, names + gap + 4) - names - gap;
        const std::size_t in_part = std::min(columns_.size(), room / cell_width());
        width_ = std::max<std::size_t>(in_part * cell_width(), 1);
        for (const Picture& one : group_) {
            width_ = std::max(width_, std::min(room, attn::display_width(one.caption) + 1));
        }
        const std::size_t side_by_side = (room + gap) / (width_ + gap);
        for (std::size_t at = 0; at < group_.size(); at += side_by_side) {
            const std::size_t count = std::min(side_by_side, group_.size() - at);
            for (std::size_t first = 0; first < columns_.size(); first += in_part) {
                const std::size_t last = std::min(columns_.size(), first + in_part);
                draw_part(std::span(group_).subspan(at, count), all, names, first, last);
            }
            if (dimension_ > 2) text_ += "\n";
        }
        group_.clear();
    }

    /// Draws these columns of matrices side by side.
    void draw_part(std::span<const Picture> pictures, const std::vector<Line>& all,
                   std::size_t names, std::size_t first, std::size_t last) {
        // Escape sequences take no columns, so the width of a piece is given.
        const auto draw_line = [&](const std::string& name, std::size_t width, const auto& piece) {
            std::string line = attn::fitted(name, names, false);
            for (std::size_t i = 0; i < pictures.size(); ++i) {
                if (i > 0) line += std::string(width_ - width + gap, ' ');
                if (i == 0 && is_shaded_ && names > 0) line += ' ';
                line += piece(pictures[i]);
            }
            line.erase(line.find_last_not_of(' ') + 1);
            text_ += line + "\n";
        };
        if (!pictures.front().caption.empty()) {
            draw_line("", width_, [&](const Picture& one) {
                return attn::fitted((is_shaded_ ? "" : " ") + one.caption, width_, false);
            });
        }
        const std::size_t width = (last - first) * cell_width();
        if (dimension_ > 0) {
            draw_line("", width, [&](const Picture&) { return heading(first, last); });
        }
        for (const Line& line : all) {
            draw_line(line.name, line.upper ? width : 0, [&](const Picture& one) {
                return line.upper ? cells(line, one.offset, first, last) : "";
            });
        }
    }

    /// Returns the last digits of the columns' numbers.
    std::string heading(std::size_t first, std::size_t last) const {
        std::string text;
        const std::size_t modulus = is_shaded_ ? 10 : 100;
        for (std::size_t c = first; c < last; ++c) {
            const std::string number =
                columns_[c]
                    ? std::to_string(view_.whole_index(dimension_ - 1, *columns_[c]) % modulus)
                    : "…";
            text += attn::fitted(number, cell_width(), true);
        }
        return text;
    }

    std::string cells(const Line& line, std::size_t offset, std::size_t first,
                      std::size_t last) const {
        const std::size_t stride = dimension_ < 2 ? 0 : shown_.axis(dimension_ - 2).stride;
        std::string text;
        for (std::size_t c = first; c < last; ++c) {
            if (!columns_[c]) {
                text += attn::fitted("…", cell_width(), true);
                continue;
            }
            const std::size_t cell = offset + *line.upper * stride + *columns_[c];
            const double share = view_.share_at(cell);
            if (!is_shaded_) {
                text += glyphs(share);
                continue;
            }
            std::optional<attn::Color> below;
            if (line.lower)
                below = color(view_.share_at(offset + *line.lower * stride + *columns_[c]));
            text += two_colors(color(share), below, choices_.depth);
        }
        return text;
    }

    attn::Color color(double share) const { return attn::terminal_color(share, view_.kind()); }

    const attn::Tensor& tensor_;
    const HeatmapChoices& choices_;
    attn::Shown shown_;
    attn::CellView view_;
    bool is_shaded_;
    std::size_t dimension_;
    Places rows_, columns_;
    std::optional<std::size_t> batch_;
    std::vector<Picture> group_;
    std::size_t width_ = 1;
    std::string text_;
};

}  // namespace

std::string compact_heatmap(const attn::Section& section, const attn::Document& document,
                            const attn::Tensor& tensor, const HeatmapChoices& choices) {
    return Pictures(section, document, tensor, choices).text();
}

}  // namespace app
