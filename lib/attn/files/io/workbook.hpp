#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/output_files.hpp"

namespace attn {

/// The place of a cell in a workbook, from 0.
struct SheetPlace {
    std::int64_t row = 0, column = 0, sheet = 0;
    auto operator<=>(const SheetPlace&) const = default;
};

/// Returns `B5`, or `$B$5` if it is fixed.
std::string address_text(const SheetPlace& place, bool is_fixed = false);
/// Returns `B5:E8`, or `$B$5:$E$8`; one address for one cell.
std::string cells_text(const SheetPlace& first, const SheetPlace& last, bool is_fixed = false);

/// The looks of a cell, in the order of their formats in the file.
enum class CellStyle {
    plain,
    heading,
    block,
    title,
    rule,
    note,
    column_word,
    row_word,
    number,
    whole,
    truth,  ///< computed
    given_number,
    given_whole,
    given_truth,  ///< to be edited
    blank,        ///< to be filled in by a student
    link,
    hint,
    infinite,  ///< a computed number that is infinity
    given_infinite,
};

/// A cell of a sheet: text, which is never a formula, or a number, boolean or error with the
/// formula that makes it.
struct WorkbookCell {
    /// `unknown`: a formula whose result is empty as long as other cells are.
    enum class Kind { text, number, truth, error, empty, unknown };
    Kind kind = Kind::text;
    CellStyle style = CellStyle::plain;
    std::string text{};
    double value = 0;
    std::string formula{};  ///< without `=`; may be empty
    /// The shortest digits of a float32 identify it; a double needs more.
    bool is_single = false;
};

struct WorkbookSheet {
    std::string name;
    bool is_hidden = false;
    std::map<std::int64_t, std::map<std::int64_t, WorkbookCell>> rows{};
    std::map<std::int64_t, double> heights{};  ///< of rows, in points
    std::vector<double> widths{};              ///< of the first columns, in characters
    double other_width = 9.5;
    std::int64_t frozen_rows = 0, frozen_columns = 0;
    std::vector<std::string> merged{};  ///< ranges
    std::vector<std::string> scales{};  ///< ranges that are shaded from 0 to their largest number
    /// Ranges whose cells turn green if the condition on their first cell holds.
    std::vector<std::pair<std::string, std::string>> checks{};
    std::vector<std::pair<std::string, std::string>> links{};  ///< a cell, and where it leads
    std::int64_t hidden_from = -1, hidden_to = -1;             ///< columns

    WorkbookCell& at(std::int64_t row, std::int64_t column) { return rows[row][column]; }
    /// Writes a text, cut to what a cell can hold.
    void put(std::int64_t row, std::int64_t column, CellStyle style, const std::string& text);
};

struct Workbook {
    std::vector<WorkbookSheet> sheets;
    std::vector<std::pair<std::string, std::string>> names{};  ///< of ranges
};

/// Writes a workbook (Office Open XML, .xlsx).
///
/// Why  The parts are written here and not by a library: six kinds of XML, each a few elements, in
/// the zip archive that .npz needs anyway. The library of Debian, libxlsxwriter, exists as a shared
/// library only, and this program is one static file; it would also keep a second model of every
/// cell in memory. Text is stored in the cells (`inlineStr`), so that text from outside cannot
/// become a formula, whatever it begins with.
///
/// Range  numbers are stored with the fewest digits that identify them; a program that opens the
/// file computes all formulas at once.
/// Errors  OutputError as OutputFile.
/// Source  ECMA-376, part 1, SpreadsheetML.
void write_workbook(OutputFile& file, const Workbook& workbook);

/// The record of a walk in a workbook: a hidden sheet with the places of its tensors, so that a
/// filled workbook can be read back, whichever program saved it.
inline constexpr const char* workbook_record = "attn_explain";

/// True if a zip archive is a workbook.
bool looks_like_workbook(const InputFile& file);

/// Returns the tensors of a workbook that this program wrote, from the numbers in its cells. An
/// empty cell is nan; a tensor without any number is left out, and so are the formulas of a
/// workbook with blank steps.
///
/// Errors  InputError, starting with the file's label: another workbook, or a damaged one.
std::vector<StoredArray> workbook_arrays(const InputFile& file);

/// Returns the settings in such a workbook, as JSON; empty for other files.
std::string workbook_settings(const InputFile& file);

}  // namespace attn
