#include "attn/show/render/workbook_layout.hpp"

#include <algorithm>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Whole = std::int64_t;
constexpr Whole first_row = 4;     // below the head of a sheet
constexpr Whole first_column = 1;  // right of the words

/// Chooses the axes of a tensor that are rows and columns: the last two, and of a vector the one
/// that it has.
void choose_axes(WorkbookLayout::Placed& placed) {
    const Axes& axes = placed.tensor->axes();
    std::vector<std::size_t> left;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const bool is_sequence = axes[axis] == "batch" && axis == 0;
        if (is_sequence) {
            placed.batch = axis;
        } else {
            left.push_back(axis);
        }
    }
    const auto take = [&](std::optional<std::size_t>& side) {
        side = left.back();
        left.pop_back();
    };
    // One number per token and head: a column for each head.
    const bool is_by_head =
        left.size() == 2 && axes[left[0]] == "head" && is_token_axis(axes[left[1]]);
    if (is_by_head || (left.size() == 1 && is_token_axis(axes[left[0]]))) take(placed.rows);
    if (!left.empty() && (is_by_head || !placed.rows)) take(placed.columns);
    if (!left.empty() && !placed.rows) take(placed.rows);
    placed.outer = std::move(left);
}

Whole length_of(const WorkbookLayout::Placed& placed, std::optional<std::size_t> axis) {
    return axis ? static_cast<Whole>(placed.tensor->shape()[*axis]) : 1;
}

/// Sets the moves of a block's axes, and returns its height and width.
std::pair<Whole, Whole> arrange(const WorkbookLayout::Placed& placed, SheetBlock& block) {
    Whole height = length_of(placed, placed.rows), width = length_of(placed, placed.columns);
    block.shape = placed.tensor->shape();
    block.axes.assign(block.shape.size(), {});
    block.is_truth = placed.tensor->dtype() == DType::boolean;
    if (placed.rows) block.axes[*placed.rows].rows = 1;
    if (placed.columns) block.axes[*placed.columns].columns = 1;
    if (placed.batch && block.shape[*placed.batch] > 1) block.axes[*placed.batch].sheets = 1;
    for (std::size_t i = placed.outer.size(); i-- > 0;) {
        const std::size_t axis = placed.outer[i];
        const bool is_across = placed.tensor->axes()[axis] == "head";
        Whole& size = is_across ? width : height;
        // Below each other with a line of words between, side by side with an empty column.
        ++size;
        (is_across ? block.axes[axis].columns : block.axes[axis].rows) = size;
        size = size * static_cast<Whole>(block.shape[axis]) - 1;
    }
    return {height, width};
}

}  // namespace

WorkbookLayout layout_of(const Document& document) {
    WorkbookLayout layout;
    std::size_t cells = 0, sequences = 1;
    for (const Section& section : document.sections) {
        const auto* tensor = std::get_if<Tensor>(&section.content);
        if (tensor == nullptr || tensor->size() == 0) continue;
        const bool has_both = !section.margin.empty() && !section.note.empty();
        layout.placed.push_back(
            {&section, tensor, section.margin.raw() + (has_both ? "\n" : "") + section.note.raw()});
        choose_axes(layout.placed.back());
        if (const auto batch = layout.placed.back().batch) {
            sequences = std::max(sequences, tensor->shape()[*batch]);
        }
        cells += tensor->size();
    }
    constexpr std::size_t most_cells = 200'000, most_sequences = 200;
    if (cells > most_cells || sequences > most_sequences) {
        throw ConfigError("$format xlsx"_message + ": these are " + std::to_string(cells) +
                          " cells in " + std::to_string(sequences) +
                          (sequences == 1 ? " sheet" : " sheets") +
                          ", and a workbook stays quick up to " + std::to_string(most_cells) +
                          " in " + std::to_string(most_sequences) +
                          ": pass fewer tokens or features, or " + "$only weights,context"_message);
    }
    const bool has_sequences = sequences > 1;
    layout.titles.emplace_back(has_sequences ? "shared" : "walk");
    for (std::size_t i = 0; has_sequences && i < sequences; ++i) {
        layout.titles.push_back("sequence " + std::to_string(i));
    }
    for (const std::string& title : layout.titles) {
        layout.blocks.sheets.push_back(title.find(' ') == title.npos ? title : "'" + title + "'");
    }
    std::vector<Whole> next(layout.titles.size(), first_row);
    layout.widths.assign(layout.titles.size(), 0);
    for (WorkbookLayout::Placed& placed : layout.placed) {
        SheetBlock block;
        const auto [height, width] = arrange(placed, block);
        const bool is_of_sequences = placed.batch && block.shape[*placed.batch] > 1;
        block.sheet = is_of_sequences ? 1 : 0;
        const bool has_side_by_side = std::ranges::any_of(
            placed.outer, [&](std::size_t axis) { return placed.tensor->axes()[axis] == "head"; });
        placed.lead = 2 + (placed.section->formula.empty() ? 0 : 1) +
                      (placed.note.empty() ? 0 : 1) + (has_side_by_side ? 1 : 0);
        const std::size_t last = is_of_sequences ? layout.titles.size() : 1;
        placed.top = next[static_cast<std::size_t>(block.sheet)];
        block.row = placed.top + placed.lead;
        block.column = first_column;
        for (auto sheet = static_cast<std::size_t>(block.sheet); sheet < last; ++sheet) {
            next[sheet] = block.row + height + 2;
            layout.widths[sheet] = std::max(layout.widths[sheet], first_column + width);
        }
        layout.blocks.blocks[placed.section->name] = std::move(block);
    }
    constexpr Whole most_columns = 16'000, most_rows = 1'000'000;
    if (std::ranges::max(layout.widths) > most_columns / 2 || std::ranges::max(next) > most_rows) {
        throw ConfigError("$format xlsx"_message + ": a sheet has " + std::to_string(most_columns) +
                          " columns, which this walk exceeds: pass fewer tokens or features");
    }
    return layout;
}

}  // namespace attn
