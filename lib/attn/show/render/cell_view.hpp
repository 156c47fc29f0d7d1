#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/document/document.hpp"
#include "attn/show/render/color_scale.hpp"
#include "attn/show/render/number_form.hpp"

namespace attn {

/// The value at the end of a colour scale. `automatic`: 1 for weights and their like, for
/// others the largest of the tensor; `fixed`: 1 (and -1) for all.
enum class ScaleEnd { automatic, row, tensor, fixed };

/// How the cells of one tensor are shown: one form for all numbers, the tokens along the axes, a
/// place on the colour scale for each value.
///
/// Reads the shown cells once, all cells where each row has a scale of its own; afterwards each
/// cell costs the same however large the tensor is.
class CellView {
public:
    /// `shown` says which cells will be asked for: the form suits all of these.
    CellView(const Section& section, const Document& document, const PrintOptions& options,
             const Shown& shown, ScaleEnd end = ScaleEnd::automatic);

    /// The text of a value, not padded.
    std::string number(double value) const;
    /// The columns of the longest number.
    std::size_t width() const { return width_; }
    const NumberForm& form() const { return form_; }

    /// The token, the name of the feature, or else the number, of index `i` on an axis. `batch` is
    /// the sequence, `head` the head among those shown.
    std::string label(std::size_t axis, std::size_t i, std::optional<std::size_t> batch,
                      std::size_t head = 0) const;
    /// Where index `i` of an axis lies in the whole tensor that a slice was cut from.
    std::size_t whole_index(std::size_t axis, std::size_t i) const;
    /// The sequence that a slice has picked out of the batch.
    std::optional<std::size_t> picked_sequence() const;

    /// Whether colours mean anything here: whole numbers are names, not sizes.
    bool has_colors() const { return tensor_.dtype() != DType::int64; }
    ScaleKind kind() const { return kind_; }
    /// Weights and masks run from 0 on; other numbers by sign and size. nan and inf stay.
    double share(double value) const { return share_of(value, limit_); }
    /// The same of element number `flat`, which the end of its row may shade.
    double share_at(std::size_t flat) const;
    /// The words for the ends of the scale: `0` and `0.3845`, `0` and `largest of its row`.
    std::string low_end() const;
    std::string high_end() const;
    double limit() const { return limit_; }
    bool has_non_finite() const { return has_non_finite_; }
    /// Whether the mask hides this key from its query: such a cell is no small number.
    bool hides(std::size_t flat) const;
    bool can_hide() const { return scores_ != nullptr; }
    /// The class that shades element number `flat`.
    std::string class_at(std::size_t flat) const;

private:
    static double share_of(double value, double limit);

    const Section& section_;
    const Document& document_;
    const Tensor& tensor_;
    const Tensor* scores_ = nullptr;  ///< -inf where the mask hides a cell of this tensor
    NumberForm form_;
    ScaleEnd end_;
    ScaleKind kind_;
    std::size_t width_ = 1;
    double limit_ = 0;
    std::vector<double> row_limits_;
    bool has_non_finite_ = false;
};

}  // namespace attn
