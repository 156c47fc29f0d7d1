#pragma once
#include <map>
#include <string>
#include <vector>

#include "attn/explain/codegen/sheet_formula.hpp"
#include "attn/explain/document/document.hpp"

namespace attn {

/// The places of a document's tensors in a workbook: the blocks of one sequence are on one sheet,
/// one under another, in the order of the walk, and heads side by side.
///
/// Why  a walk is read downwards, and heads are compared from left to right, with the same frozen
///         words at their rows. A sheet per head would hide what heads share.
struct WorkbookLayout {
    /// The block of a section, with the axes of its tensor that are not rows or columns of a
    /// matrix.
    struct Placed {
        const Section* section;
        const Tensor* tensor;
        std::string note{};                ///< remarks on it; may be empty
        std::int64_t top = 0;              ///< the row of its name
        std::int64_t lead = 0;             ///< rows between its name and its first matrix
        std::vector<std::size_t> outer{};  ///< axes before the matrix, except sequences
        std::optional<std::size_t> rows{}, columns{};  ///< the axes of a matrix
        std::optional<std::size_t> batch{};            ///< the axis of sheets
    };
    std::vector<Placed> placed;
    SheetBlocks blocks;                ///< for formulas, by the names of sections
    std::vector<std::string> titles;   ///< of the sheets, as users see them
    std::vector<std::int64_t> widths;  ///< number of columns in use on each sheet

    const SheetBlock& block(const Placed& of) const { return blocks.blocks.at(of.section->name); }
};

/// Lays out the tensors of a document.  Errors  ConfigError if they are too large for a workbook
/// that opens in seconds.
WorkbookLayout layout_of(const Document& document);

/// Returns a name that spreadsheets accept for a range: not the address of a cell, and not a
/// reserved word.
std::string range_name(const std::string& name);

/// Writes the title of a sheet, and how to use it.
void write_head(const Document& document, const WorkbookLayout& layout, std::size_t i,
                WorkbookSheet& sheet);
/// Returns the sheet that lists the steps, with links; `specified_values` is its last line.
WorkbookSheet index_sheet(const Document& document, const WorkbookLayout& layout,
                          const std::string& specified_values);
/// Returns the hidden sheet from which workbook_arrays() reads the tensors back.
WorkbookSheet record_sheet(const Document& document, const WorkbookLayout& layout);

/// Calls `visit` with the indices of each cell of a tensor, in row-major order.
template <class Visit>
void for_each_cell(const Shape& shape, Visit visit) {
    std::vector<std::int64_t> at(shape.size(), 0);
    for (std::size_t left = element_count(shape); left > 0; --left) {
        visit(at);
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++at[axis] < static_cast<std::int64_t>(shape[axis])) break;
            at[axis] = 0;
        }
    }
}

}  // namespace attn
