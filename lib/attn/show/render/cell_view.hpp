#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/document/document.hpp"
#include "attn/show/render/color_scale.hpp"
#include "attn/show/render/number_form.hpp"

namespace attn {

/// The value at the end of a colour scale. `automatic`: 1 for weights and the like, for others the
/// largest of the tensor; `fixed`: 1 (and -1) for all.
enum class ScaleEnd { automatic, row, tensor, fixed };

/// Returns the end of the scale in a figure without digits. By default each row of weights has its
/// own from 16 keys on: weights that sum to 1 are then small, and all cells would look alike.
ScaleEnd scale_end(const Section& section, ScaleEnd requested);

/// The presentation of one tensor's cells: a common number format, the tokens along the axes, a
/// place on the colour scale for each value.
///
/// Reads the shown cells once, or all cells if each row has a scale of its own; afterwards the cost
/// per cell does not depend on the size of the tensor.
class CellView {
public:
    /// `shown` has the cells that will be shown: the number format suits all of them.
    CellView(const Section& section, const Document& document, const PrintOptions& options,
             const Shown& shown, ScaleEnd end = ScaleEnd::automatic);

    /// Formats a value, without padding.
    std::string number(double value) const;
    /// The columns of the longest number.
    std::size_t width() const { return width_; }
    const NumberForm& form() const { return form_; }

    /// Returns the label of index `i` on an axis: the token, the name of the feature, or else the
    /// number. `batch` is the sequence, `head` the head among those shown.
    std::string label(std::size_t axis, std::size_t i, std::optional<std::size_t> batch,
                      std::size_t head = 0) const;
    /// Returns the index in the whole tensor for index `i` of a slice.
    std::size_t whole_index(std::size_t axis, std::size_t i) const;
    /// Returns the sequence that a slice has selected from the batch.
    std::optional<std::size_t> picked_sequence() const;

    /// True if colours are meaningful: integers are names, not sizes.
    bool has_colors() const { return tensor_.dtype() != DType::int64; }
    ScaleKind kind() const { return kind_; }
    /// Maps a value to its share of the scale: weights and masks from 0 up; other numbers by sign
    /// and size. nan and inf are unchanged.
    double share(double value) const { return share_of(value, limit_); }
    /// Maps element number `flat`, whose row may have a scale of its own.
    double share_at(std::size_t flat) const;
    /// Return the labels for the ends of the scale: `0` and `0.3845`, `0` and `largest of its row`.
    std::string low_end() const;
    std::string high_end() const;
    double limit() const { return limit_; }
    bool has_non_finite() const { return has_non_finite_; }
    /// True if the mask hides this key from its query: such a cell is not a small number.
    bool hides(std::size_t flat) const;
    bool can_hide() const { return scores_ != nullptr; }
    /// Returns the class that shades element number `flat`.
    std::string class_at(std::size_t flat) const;

private:
    static double share_of(double value, double limit);

    const Section& section_;
    const Document& document_;
    const Tensor& tensor_;
    const Tensor* scores_ = nullptr;  ///< -inf in masked cells of this tensor
    NumberForm form_;
    ScaleEnd end_;
    ScaleKind kind_;
    std::size_t width_ = 1;
    double limit_ = 0;
    std::vector<double> row_limits_;
    bool has_non_finite_ = false;
};

}  // namespace attn
