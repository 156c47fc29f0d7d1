#include <algorithm>

#include "attn/explain/codegen/sheet_writer.hpp"

// Sums, products and extremes: over lines of cells, or term by term.

namespace attn::sheet {

std::optional<FormulaWriter::Line> FormulaWriter::line_of(const RuleNode& node) {
    const SheetBlock& block = block_of(node);
    const std::string index = std::exchange(line_, "");
    std::vector<SheetPlace> places;
    bool is_known = !block.is_truth;
    for (Whole i = first_; is_known && i < end_; ++i) {
        bound_.emplace_back(index, i);
        is_known =
            std::ranges::all_of(node.parts, [&](const RuleTree& part) { return !!known(*part); });
        if (is_known) places.push_back(place(node, block));
        bound_.pop_back();
    }
    line_ = index;
    if (!is_known || places.size() < 2) return std::nullopt;
    const bool is_column = places[1].row != places[0].row;
    for (std::size_t i = 1; i < places.size(); ++i) {
        SheetPlace next = places[i - 1];
        ++(is_column ? next.row : next.column);
        if (!(next == places[i])) return std::nullopt;
    }
    return Line{on_sheet(places[0].sheet, cells_text(places[0], places.back())), is_column};
}

bool FormulaWriter::find_lines(const RuleNode& node, std::vector<Line>& lines) {
    if (!holds_index(node, line_)) return true;
    if (node.kind == NodeKind::reduce || node.kind == NodeKind::name) return false;
    if (node.kind == NodeKind::cell) {
        const auto line = line_of(node);
        if (line) lines.push_back(*line);
        return line.has_value();
    }
    return std::ranges::all_of(node.parts,
                               [&](const RuleTree& part) { return find_lines(*part, lines); });
}

bool FormulaWriter::find_factors(const RuleNode& node, std::vector<Line>& lines,
                                 std::string& outside) {
    if (!holds_index(node, line_)) {
        outside += "*" + written(node).within(raised);
        return true;
    }
    if (node.kind == NodeKind::cell) return find_lines(node, lines);
    const bool is_quotient = is_operation(node, "/") && !holds_index(*node.parts[1], line_);
    if (!is_quotient && !is_operation(node, "*")) return false;
    if (!find_factors(*node.parts[0], lines, outside)) return false;
    if (!is_quotient) return find_factors(*node.parts[1], lines, outside);
    outside += "/" + written(*node.parts[1]).within(raised);
    return true;
}

std::optional<Formula> FormulaWriter::sum_of_lines(const RuleNode& body) {
    std::vector<Line> lines;
    std::string outside;
    const auto all_alike = [&] {
        return std::ranges::all_of(
            lines, [&](const Line& each) { return each.is_column == lines[0].is_column; });
    };
    if (find_factors(body, lines, outside) && !lines.empty()) {
        const Binding binds = outside.empty() ? alone : multiplied;
        if (lines.size() == 1) return Formula{"SUM(" + lines[0].text + ")" + outside, binds};
        if (all_alike()) {
            std::string text;
            for (const Line& each : lines) text += (text.empty() ? "" : ",") + each.text;
            return Formula{"SUMPRODUCT(" + text + ")" + outside, binds};
        }
        if (lines.size() > 2) return std::nullopt;
        if (lines[0].is_column) std::swap(lines[0], lines[1]);
        return Formula{"MMULT(" + lines[0].text + "," + lines[1].text + ")" + outside, binds};
    }
    lines.clear();
    if (!find_lines(body, lines) || lines.empty() || !all_alike()) return std::nullopt;
    return Formula{"SUMPRODUCT(" + written(body).text + ")"};
}

Formula FormulaWriter::reduced(const RuleNode& node) {
    if (is_along_line(node)) throw NoFormula();
    const Whole first = whole(*node.parts[0]), end = whole(*node.parts[1]);
    const RuleNode& body = *node.parts[2];
    const std::string& word = node.word;
    const bool adds = word == "sum" || word == "mean";
    if (end <= first)
        return number(word == "max"   ? -sheet_infinity
                      : word == "min" ? sheet_infinity
                                      : word == "prod");
    Formula result = joined_terms(node, body, first, end);
    if (word == "mean") {
        result = {result.within(multiplied) + "/" + std::to_string(end - first), multiplied};
    }
    return adds || !result.text.empty() ? result : throw NoFormula();
}

Formula FormulaWriter::joined_terms(const RuleNode& node, const RuleNode& body, Whole first,
                                    Whole end) {
    const std::string& word = node.word;
    const bool adds = word == "sum" || word == "mean";
    if (line_.empty() && end - first > 1) {
        line_ = node.index;
        first_ = first;
        end_ = end;
        std::optional<Formula> of_line;
        const std::size_t bound = bound_.size();
        try {
            std::vector<Line> lines;
            if (adds) {
                of_line = sum_of_lines(body);
            } else if (body.kind == NodeKind::cell && find_lines(body, lines) && !lines.empty()) {
                const std::string& cells = lines[0].text;
                of_line = word == "argmax" ? Formula{"MATCH(MAX(" + cells + ")," + cells +
                                                         ",0)-1+" + std::to_string(first),
                                                     added}
                          : word == "prod"
                              ? Formula{"PRODUCT(" + cells + ")"}
                              : Formula{(word == "max" ? "MAX(" : "MIN(") + cells + ")"};
            }
        } catch (const NoFormula&) {
            bound_.erase(bound_.begin() + static_cast<std::ptrdiff_t>(bound), bound_.end());
        }
        line_.clear();
        if (of_line) return *of_line;
    }
    if (word == "argmax") throw NoFormula();
    return listed(node, body, first, end);
}

Formula FormulaWriter::listed(const RuleNode& node, const RuleNode& body, Whole first, Whole end) {
    const bool adds = node.word == "sum" || node.word == "mean";
    const bool is_called = node.word == "max" || node.word == "min";
    const std::string name = node.word == "max" ? "MAX(" : "MIN(";
    constexpr Whole most_arguments = 250;
    std::string text;
    for (Whole i = first; i < end; ++i) {
        bound_.emplace_back(node.index, i);
        const Formula term = written(body);
        bound_.pop_back();
        const bool is_zero = adds && term.text == "0";
        if (is_zero && (end - first > 1)) continue;
        if (is_called) {
            if (i - first >= most_arguments) throw NoFormula();
            text += (text.empty() ? "" : ",") + term.text;
        } else {
            text += (text.empty() ? ""
                     : adds       ? "+"
                                  : "*") +
                    term.within(adds ? multiplied : raised);
        }
        require_short(text);
    }
    if (is_called) return {name + text + ")"};
    if (text.empty()) return {"0"};
    return {text, adds ? added : multiplied};
}

}  // namespace attn::sheet
