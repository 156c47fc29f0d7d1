#include <algorithm>
#include <cmath>
#include <set>

#include "attn/core/rules/rule.hpp"
#include "attn/files/io/workbook.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/workbook_layout.hpp"

namespace attn {
namespace {

using Whole = std::int64_t;
using Placed = WorkbookLayout::Placed;
using CellKind = WorkbookCell::Kind;

class WorkbookWriter {
public:
    explicit WorkbookWriter(const Document& document)
        : document_(document), layout_(layout_of(document)) {
        for (const std::string& title : layout_.titles) {
            book_.sheets.push_back(
                {.name = title, .widths = {16}, .frozen_rows = 3, .frozen_columns = 1});
        }
    }

    Workbook written() {
        for (const Placed& placed : layout_.placed) write_block(placed);
        for (std::size_t i = 0; i < book_.sheets.size(); ++i) {
            write_head(document_, layout_, i, book_.sheets[i]);
        }
        book_.sheets.insert(book_.sheets.begin(),
                            index_sheet(document_, layout_, specified_values()));
        book_.sheets.push_back(record_sheet(document_, layout_));
        return std::move(book_);
    }
    /// Returns a line about the tensors that have no formulas although they are computed.
    std::string specified_values() const {
        if (values_.empty()) return "";
        return joined(values_) +
               (values_.size() == 1 ? " is written as values" : " are written as values") +
               ": a spreadsheet has no formula for " +
               (values_.size() == 1 ? "its rule, or lacks what it reads"
                                    : "their rules, or lacks what they read");
    }

private:
    WorkbookSheet& sheet_of(Whole number) { return book_.sheets[static_cast<std::size_t>(number)]; }

    std::string label(const Placed& placed, std::size_t axis, std::size_t i,
                      const std::vector<Whole>& cell) const {
        const Axes& axes = placed.tensor->axes();
        const auto index = [&](const char* name) {
            const auto found =
                static_cast<std::size_t>(std::ranges::find(axes, name) - axes.begin());
            return found < axes.size() ? static_cast<std::size_t>(cell[found]) : 0;
        };
        const auto* words =
            document_.words_on(*placed.section, axes[axis], index("batch"), index("head"));
        const std::size_t position = placed.section->whole_index(axis, i);
        if (words != nullptr && position < words->size()) return (*words)[position];
        return axes[axis] == "head" ? "head " + std::to_string(i) : std::to_string(position);
    }

    // One block.

    void write_block(const Placed& placed) {
        const SheetBlock& block = layout_.block(placed);
        const bool is_of_sequences = block.sheet == 1;
        const std::size_t end = is_of_sequences ? layout_.titles.size() : 1;
        for (auto sheet = static_cast<std::size_t>(block.sheet); sheet < end; ++sheet) {
            write_words(placed, book_.sheets[sheet], layout_.widths[sheet]);
        }
        write_labels(placed, block);
        write_cells(placed, block);
        name_ranges(placed, block);
    }

    void write_words(const Placed& placed, WorkbookSheet& sheet, Whole width) {
        const Section& section = *placed.section;
        Whole row = placed.top;
        const Whole last = std::max<Whole>(width, 13) - 1;
        for (Whole column = 0; column <= last; ++column) {
            sheet.put(row, column, CellStyle::title, "");
        }
        sheet.put(row, 0, CellStyle::block, section.name);
        std::string shape;
        for (std::size_t axis = 0; axis < placed.tensor->dimension(); ++axis) {
            shape += (axis == 0 ? "  (" : ", ") + placed.tensor->axes()[axis] + " " +
                     std::to_string(placed.tensor->shape()[axis]);
        }
        sheet.put(row++, 2, CellStyle::title,
                  section.title.raw() + shape + (shape.empty() ? "" : ")"));
        if (!section.formula.empty()) sheet.put(row++, 0, CellStyle::rule, section.formula);
        if (placed.note.empty()) return;
        sheet.put(row, 0, CellStyle::note, placed.note);
        constexpr Whole broad = 13;
        sheet.merged.push_back(cells_text({row, 0}, {row, broad - 1}));
        constexpr std::size_t columns = 140;
        std::size_t lines = 0;
        for (const Prose& line : Prose(placed.note).lines()) {
            lines += std::max<std::size_t>(wrap(line.raw(), columns).size(), 1);
        }
        sheet.heights[row] = 15.5 * static_cast<double>(lines);
    }

    /// Writes the words at rows and columns, once for each matrix.
    void write_labels(const Placed& placed, const SheetBlock& block) {
        for_each_cell(block.shape, [&](const std::vector<Whole>& cell) {
            const SheetPlace place = place_in(block, cell);
            WorkbookSheet& sheet = sheet_of(place.sheet);
            const bool is_first_row = !placed.rows || cell[*placed.rows] == 0;
            const bool is_first_column = !placed.columns || cell[*placed.columns] == 0;
            if (is_first_column && placed.rows) {
                sheet.put(place.row, 0, CellStyle::row_word,
                          label(placed, *placed.rows, static_cast<std::size_t>(cell[*placed.rows]),
                                cell));
            }
            if (!is_first_row) return;
            sheet.put(place.row - 1, place.column, CellStyle::column_word,
                      placed.columns ? label(placed, *placed.columns,
                                             static_cast<std::size_t>(cell[*placed.columns]), cell)
                                     : "");
            if (!is_first_column) return;
            std::string across, down;
            for (const std::size_t axis : placed.outer) {
                const bool is_head = placed.tensor->axes()[axis] == "head";
                const std::string text =
                    is_head ? "head " + std::to_string(cell[axis])
                            : placed.tensor->axes()[axis] + " " +
                                  label(placed, axis, static_cast<std::size_t>(cell[axis]), cell);
                std::string& side = is_head ? across : down;
                side += (side.empty() ? "" : ", ") + text;
            }
            if (!across.empty() && (place.row == block.row)) {
                sheet.put(place.row - 2, place.column, CellStyle::hint, across);
            }
            if (!down.empty()) sheet.put(place.row - 1, 0, CellStyle::hint, down);
        });
    }

    void write_cells(const Placed& placed, const SheetBlock& block) {
        const Section& section = *placed.section;
        const Tensor& tensor = *placed.tensor;
        const bool has_rule = section.completed != nullptr && section.part.empty() &&
                              section.completed->indices.size() == tensor.dimension();
        const std::set<std::string> awaited = awaited_by(section);
        std::string condition;
        Whole of_sheet = -1;
        bool is_share = !tensor.axes().empty() && tensor.axes().back() == "key" && has_rule;
        const bool is_blank = section.blank && has_rule;
        bool has_value = false;
        std::size_t i = 0;
        const Whole twin = is_blank ? twin_column(block) : 0;
        for_each_cell(block.shape, [&](const std::vector<Whole>& indices) {
            const SheetPlace place = place_in(block, indices);
            WorkbookSheet& sheet = sheet_of(place.sheet);
            if (of_sheet != place.sheet) condition = condition_on(awaited, place.sheet);
            of_sheet = place.sheet;
            const double value = tensor.at(i++);
            std::optional<std::string> formula;
            if (has_rule && std::isnan(value)) {
                formula = "NA()";
            } else if (has_rule) {
                formula = sheet_formula(*section.completed, indices, layout_.blocks, place.sheet);
            }
            has_value = has_value || (has_rule && !formula);
            is_share = is_share && value >= 0 && value <= 1;
            if (formula && !condition.empty())
                *formula = "IF(" + condition + "," + *formula + ",\"\")";
            const bool is_input = section.kind == "input" || section.kind == "parameter";
            WorkbookCell result = cell_of(tensor, value, formula, formula || !is_input);
            if (!condition.empty()) result.kind = CellKind::unknown;
            if (is_blank && std::isfinite(value) && formula) {
                sheet.at(place.row, place.column) = {CellKind::empty, CellStyle::blank};
                sheet.at(place.row, place.column + twin) = result;
            } else {
                sheet.at(place.row, place.column) = result;
            }
        });
        if (has_value) values_.push_back(section.name);
        for_each_range(
            placed, block, [&](const SheetPlace& first, const SheetPlace& last, const auto&) {
                WorkbookSheet& sheet = sheet_of(first.sheet);
                if (is_blank) {
                    SheetPlace right = first;
                    right.column += twin;
                    const std::string mine = address_text(first), correct = address_text(right);
                    // Right to three decimals, or rounded to two.
                    sheet.checks.emplace_back(cells_text(first, last),
                                              "AND(ISNUMBER(" + mine + "),OR(ABS(" + mine + "-" +
                                                  correct + ")<0.00051,ABS(" + mine + "-ROUND(" +
                                                  correct + ",2))<0.000001))");
                }
                // A scale would cover the green of right answers.
                if (is_share && !is_blank) sheet.scales.push_back(cells_text(first, last));
            });
    }

    static WorkbookCell cell_of(const Tensor& tensor, double value,
                                const std::optional<std::string>& formula, bool is_computed) {
        WorkbookCell cell;
        cell.formula = formula.value_or("");
        if (tensor.dtype() == DType::boolean) {
            cell.kind = CellKind::truth;
            cell.style = is_computed ? CellStyle::truth : CellStyle::given_truth;
        } else {
            cell.kind = std::isnan(value) ? CellKind::error : CellKind::number;
            const bool is_whole = !tensor.is_floating();
            cell.style = is_computed
                             ? (is_whole ? CellStyle::whole : CellStyle::number)
                             : (is_whole ? CellStyle::given_whole : CellStyle::given_number);
        }
        cell.is_single =
            std::abs(value) < 1e30 && static_cast<double>(static_cast<float>(value)) == value;
        if (value == HUGE_VAL) {
            cell.style = is_computed ? CellStyle::infinite : CellStyle::given_infinite;
        }
        cell.value = std::isinf(value) ? std::copysign(sheet_infinity, value) : value;
        return cell;
    }

    /// Returns the blank tensors that a section awaits.
    std::set<std::string> awaited_by(const Section& section) {
        std::set<std::string> blanks;
        if (section.completed != nullptr) {
            for (const std::string& name : tensors_read(*section.completed)) {
                const auto known = awaits_.find(name);
                if (known != awaits_.end())
                    blanks.insert(known->second.begin(), known->second.end());
            }
        }
        blanks.erase(section.name);
        awaits_[section.name] = blanks;
        if (section.blank) awaits_[section.name].insert(section.name);
        return blanks;
    }

    /// Returns the condition that blank tensors are filled, for a cell of a sheet: those of its own
    /// sequence or, on the sheet that all share, of every one.
    std::string condition_on(const std::set<std::string>& blanks, Whole sheet) const {
        std::vector<std::string> filled;
        const auto add = [&](const std::string& name, std::size_t numbers) {
            filled.push_back("COUNT(" + range_name(name) + ")=" + std::to_string(numbers));
        };
        for (const std::string& name : blanks) {
            const SheetBlock& block = layout_.blocks.blocks.at(name);
            const auto sequences = static_cast<Whole>(layout_.titles.size()) - 1;
            const std::size_t numbers = element_count(block.shape);
            if (block.sheet == 0) add(name, numbers);
            for (Whole i = 0; block.sheet != 0 && i < sequences; ++i) {
                if (sheet == 0 || sheet == i + 1)
                    add(name + "_s" + std::to_string(i),
                        numbers / static_cast<std::size_t>(sequences));
            }
        }
        return filled.size() < 2 ? joined(filled, "") : "AND(" + joined(filled, ",") + ")";
    }

    /// Returns the distance from a blank cell to its hidden twin, right of all blocks of its
    /// sheets.
    Whole twin_column(const SheetBlock& block) {
        const std::size_t end = block.sheet == 1 ? layout_.titles.size() : 1;
        Whole widest = 0;
        for (auto sheet = static_cast<std::size_t>(block.sheet); sheet < end; ++sheet) {
            widest = std::max(widest, layout_.widths[sheet]);
        }
        const Whole distance = std::max<Whole>(widest, 16) + 2;
        for (auto sheet = static_cast<std::size_t>(block.sheet); sheet < end; ++sheet) {
            book_.sheets[sheet].hidden_from = distance;
            book_.sheets[sheet].hidden_to = 2 * distance;
        }
        return distance;
    }

    /// Calls `visit` with the first and the last cell of each matrix, and its indices.
    template <class Visit>
    void for_each_range(const Placed& placed, const SheetBlock& block, Visit visit) {
        Shape outer = block.shape;
        for (const auto& side : {placed.rows, placed.columns}) {
            if (side) outer[*side] = 1;
        }
        for_each_cell(outer, [&](const std::vector<Whole>& first) {
            std::vector<Whole> last = first;
            for (const auto& side : {placed.rows, placed.columns}) {
                if (side) last[*side] = static_cast<Whole>(block.shape[*side]) - 1;
            }
            visit(place_in(block, first), place_in(block, last), first);
        });
    }

    void add_name(const std::string& name, const SheetPlace& first, const SheetPlace& last) {
        const std::string known = range_name(name);
        if (!names_.insert(lower(known)).second) return;
        book_.names.emplace_back(
            known, layout_.blocks.sheets[static_cast<std::size_t>(first.sheet)] + "!" +
                       cells_text(first, last, true));
    }

    /// Names the whole block, on each of its sheets, and its matrices: `weights`, `weights_h0`.
    void name_ranges(const Placed& placed, const SheetBlock& block) {
        const std::size_t sheets = block.sheet == 1 ? block.shape[*placed.batch] : 1;
        std::vector<Whole> last;
        for (const std::size_t length : block.shape) last.push_back(static_cast<Whole>(length) - 1);
        for (std::size_t i = 0; i < sheets; ++i) {
            std::vector<Whole> first(last.size(), 0);
            if (placed.batch) first[*placed.batch] = last[*placed.batch] = static_cast<Whole>(i);
            const std::string suffix = sheets > 1 ? "_s" + std::to_string(i) : "";
            add_name(placed.section->name + suffix, place_in(block, first), place_in(block, last));
        }
        if (placed.outer.empty()) return;
        for_each_range(
            placed, block,
            [&](const SheetPlace& first, const SheetPlace& end, const std::vector<Whole>& indices) {
                std::string name = placed.section->name;
                if (sheets > 1) name += "_s" + std::to_string(indices[*placed.batch]);
                for (const std::size_t axis : placed.outer) {
                    const bool is_head = placed.tensor->axes()[axis] == "head";
                    name += (is_head ? "_h" : "_") + std::to_string(indices[axis]);
                }
                add_name(name, first, end);
            });
    }

    const Document& document_;
    WorkbookLayout layout_;
    Workbook book_;
    std::set<std::string> names_;
    std::vector<std::string> values_;  ///< computed tensors without formulas
    std::map<std::string, std::set<std::string>> awaits_;
};

}  // namespace

std::string render_workbook(const Document& document, OutputFile& file) {
    const auto has_rule = [](const Section& section) { return section.completed != nullptr; };
    if (std::ranges::none_of(document.sections, has_rule)) {
        throw ConfigError("$format xlsx"_message +
                          " writes formulas, and these numbers have no rules: use a walk, "
                          "attn-explain -o walk.xlsx");
    }
    WorkbookWriter writer(document);
    write_workbook(file, writer.written());
    return writer.specified_values();
}

}  // namespace attn
