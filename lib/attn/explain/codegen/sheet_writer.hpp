#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/core/rules/functions.hpp"
#include "attn/explain/codegen/sheet_formula.hpp"

namespace attn::sheet {

using NodeKind = RuleNode::Kind;
using Whole = std::int64_t;

/// How tightly the outermost operator of a formula binds. A sign binds more tightly than a power in
/// a spreadsheet, -2^2 is 4, so that a negated power needs brackets.
enum Binding { compared, added, multiplied, raised, alone };

struct Formula {
    std::string text;
    Binding binds = alone;

    std::string within(Binding least) const { return binds < least ? "(" + text + ")" : text; }
};

/// Thrown if no formula can express a rule. Not an error of the user: the caller writes a value.
struct NoFormula {};

/// Writes the formula of one cell.
class FormulaWriter {
public:
    FormulaWriter(const SheetBlocks& blocks, Whole sheet) : blocks_(blocks), sheet_(sheet) {}

    void bind(const std::string& index, Whole value) { bound_.emplace_back(index, value); }

    Formula written(const RuleNode& node);

private:
    static std::string digits_of(double value);
    static Formula number(double value);

    Whole value_of(const std::string& index) const;

    /// Returns the value of an expression that reads no cell, nor the index of a line.
    std::optional<double> known(const RuleNode& node) const;
    static const RuleFunction& function_of(const RuleNode& node) {
        return *find_rule_function(node.word, node.parts.size());
    }
    Whole whole(const RuleNode& node) const;

    Formula call(const std::string& name, const std::vector<RuleTree>& parts);

    Formula operated(const RuleNode& node);

    // Cells.

    const SheetBlock& block_of(const RuleNode& cell) const;
    std::string on_sheet(Whole sheet, const std::string& address) const;

    /// Returns the place of a cell whose indices are known.
    SheetPlace place(const RuleNode& node, const SheetBlock& block) const;

    Formula cell(const RuleNode& node);

    /// Writes `embedding[ids[t],c]` with INDEX along a row or a column, and with CHOOSE along an
    /// axis whose cells are not adjacent.
    std::string looked_up_in(const RuleNode& node, const SheetBlock& block, std::size_t axis);

    // Sums.

    /// Cells in a row or a column.
    struct Line {
        std::string text;
        bool is_column = false;
    };

    bool is_along_line(const RuleNode& node) const {
        return !line_.empty() && holds_index(node, line_);
    }

    /// Returns the cells over the index of the line; nullopt if they are not adjacent.
    std::optional<Line> line_of(const RuleNode& node);

    /// Collects the cells that the index of the line runs over; false if one of them is not a line,
    /// or another sum runs over it too.
    bool find_lines(const RuleNode& node, std::vector<Line>& lines);

    /// Splits a product into factors over the line and others, which are written outside.
    bool find_factors(const RuleNode& node, std::vector<Line>& lines, std::string& outside);

    /// Writes a sum over lines; nullopt if their cells are not adjacent.
    std::optional<Formula> sum_of_lines(const RuleNode& body);

    Formula reduced(const RuleNode& node);

    Formula joined_terms(const RuleNode& node, const RuleNode& body, Whole first, Whole end);

    /// Lists the terms.
    Formula listed(const RuleNode& node, const RuleNode& body, Whole first, Whole end);

    static void require_short(const std::string& text) {
        constexpr std::size_t longest = 8000;  // spreadsheets accept 8,192 characters
        if (text.size() > longest) throw NoFormula();
    }

    const SheetBlocks& blocks_;
    Whole sheet_;
    std::vector<std::pair<std::string, Whole>> bound_;
    std::string line_;  ///< the index of a sum that is written as lines
    Whole first_ = 0, end_ = 0;
};

}  // namespace attn::sheet
