#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "app/terminal/color.hpp"
#include "attn/render/document.hpp"
#include "attn/render/torch_numbers.hpp"

namespace app {

/// How the cells of one tensor are shown on a terminal: one style for all numbers, the tokens along
/// the axes, a colour for each value.
///
/// Reads the shown cells once; afterwards each cell costs the same however large the tensor is.
class CellView {
public:
    /// `shown` says which cells will be asked for: the style suits all of these.
    CellView(const attn::Section& section, const attn::Document& document,
             const attn::PrintOptions& options, const attn::Shown& shown);

    /// The text of a value, not padded.
    std::string number(double value) const;
    /// The columns of the longest number.
    std::size_t width() const { return width_; }

    /// The token, or else the number, of index `i` on an axis. `batch` is the sequence.
    std::string label(std::size_t axis, std::size_t i, std::optional<std::size_t> batch) const;
    /// Where index `i` of an axis lies in the whole tensor that a slice was cut from.
    std::size_t whole_index(std::size_t axis, std::size_t i) const;
    /// The sequence that a slice has picked out of the batch.
    std::optional<std::size_t> picked_sequence() const;

    /// Whether colours mean anything here: whole numbers are names, not sizes.
    bool has_colors() const { return tensor_.dtype() != attn::DType::int64; }
    /// Weights and masks run from 0 to 1; other numbers are shaded by sign and size, as part of the
    /// largest. What is not finite is grey.
    Color color(double value) const;
    /// One line: the colour scale between its ends.
    std::string legend(ColorDepth depth) const;

private:
    const attn::Section& section_;
    const attn::Document& document_;
    const attn::Tensor& tensor_;
    attn::TorchStyle style_;
    std::size_t width_ = 1;
    double limit_ = 0;
    bool from_zero_to_one_ = false;
    bool has_non_finite_ = false;
};

}  // namespace app
