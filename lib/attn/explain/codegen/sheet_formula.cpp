#include "attn/explain/codegen/sheet_formula.hpp"

#include <algorithm>
#include <cmath>

#include "attn/explain/codegen/sheet_writer.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace sheet {
namespace {

/// A function or operator of rules in a spreadsheet: `{}` is its argument, or the first of two.
struct SheetFunction {
    const char* name;
    const char* text;
    Binding binds = alone;
};
constexpr SheetFunction sheet_functions[] = {
    {"exp", "EXP({})"},
    {"log", "LN({})"},
    {"sqrt", "SQRT({})"},
    {"tanh", "TANH({})"},
    {"cos", "COS({})"},
    {"sin", "SIN({})"},
    {"abs", "ABS({})"},
    {"sigmoid", "1/(1+EXP(-({})))", multiplied},
    {"relu", "MAX({},0)"},
    {"silu", "({})/(1+EXP(-({})))", multiplied},
    {"softplus", "MAX({},0)+LN(1+EXP(-ABS({})))", added},
    {"logsigmoid", "MIN({},0)-LN(1+EXP(-ABS({})))", added},
    {"elu", "IF({}>0,{},EXP(MIN({},0))-1)"},
    {"erf", "ERF({})"},
    {"gelu", "({})*(1+ERF(({})/SQRT(2)))/2", multiplied},
    {"sign", "SIGN({})"},
    {"floor", "INT({})"},
    {"not", "NOT({})"},
};
constexpr SheetFunction calls_of_two[] = {
    {"min", "MIN"}, {"max", "MAX"}, {"and", "AND"}, {"or", "OR"}, {"%", "MOD"},
};
constexpr SheetFunction sheet_operators[] = {
    {"+", "+", added},      {"-", "-", added},     {"*", "*", multiplied}, {"/", "/", multiplied},
    {"^", "^", raised},     {"<", "<", compared},  {"<=", "<=", compared}, {">", ">", compared},
    {">=", ">=", compared}, {"==", "=", compared}, {"!=", "<>", compared},
};

template <class Table>
const SheetFunction* row_of(const Table& table, const std::string& name) {
    const auto found = std::ranges::find(
        table, name, [](const SheetFunction& each) { return std::string_view(each.name); });
    return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

Formula FormulaWriter::written(const RuleNode& node) {
    switch (node.kind) {
        case NodeKind::number:
            return number(node.number);
        case NodeKind::name:
            if (node.word == line_) throw NoFormula();
            return number(static_cast<double>(value_of(node.word)));
        case NodeKind::cell:
            return cell(node);
        case NodeKind::choose: {
            if (const auto holds = known(*node.parts[0])) {
                return written(*node.parts[*holds != 0 ? 1 : 2]);
            }
            // In an array, IF would look at its first condition alone.
            if (is_along_line(node)) throw NoFormula();
            return call("IF", {node.parts[0], node.parts[1], node.parts[2]});
        }
        case NodeKind::reduce:
            return reduced(node);
        default:
            return operated(node);
    }
}

std::string FormulaWriter::digits_of(double value) {
    const double size = std::abs(value);
    const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e15);
    return is_plain ? shortest_fixed_text(value) : replaced_all(shortest_text(value), {{"e", "E"}});
}

Formula FormulaWriter::number(double value) {
    if (std::isnan(value)) return {"NA()"};
    const double finite = std::clamp(value, -sheet_infinity, sheet_infinity);
    return {digits_of(finite), std::signbit(finite) ? multiplied : alone};
}

Whole FormulaWriter::value_of(const std::string& index) const {
    const auto found = std::find_if(bound_.rbegin(), bound_.rend(),
                                    [&](const auto& each) { return each.first == index; });
    if (found == bound_.rend()) throw NoFormula();
    return found->second;
}

std::optional<double> FormulaWriter::known(const RuleNode& node) const {
    const auto part = [&](std::size_t i) { return known(*node.parts[i]); };
    switch (node.kind) {
        case NodeKind::number:
            return node.number;
        case NodeKind::name:
            if (node.word == line_) return std::nullopt;
            return static_cast<double>(value_of(node.word));
        case NodeKind::choose: {
            const auto holds = part(0);
            return holds ? part(*holds != 0 ? 1 : 2) : std::nullopt;
        }
        case NodeKind::call:
        case NodeKind::operate: {
            const auto x = part(0);
            if (node.parts.size() == 1) {
                return x ? std::optional(function_of(node).value(*x, *x)) : std::nullopt;
            }
            const auto y = part(1);
            const bool is_or = node.word == "or";
            for (const auto& side : {x, y}) {
                if ((is_or || node.word == "and") && side && (*side != 0) == is_or) return side;
            }
            return x && y ? std::optional(function_of(node).value(*x, *y)) : std::nullopt;
        }
        default:
            return std::nullopt;
    }
}

Whole FormulaWriter::whole(const RuleNode& node) const {
    const auto value = known(node);
    if (!value) throw NoFormula();
    return static_cast<Whole>(*value);
}

Formula FormulaWriter::call(const std::string& name, const std::vector<RuleTree>& parts) {
    std::string text;
    for (const RuleTree& part : parts) text += (text.empty() ? "" : ",") + written(*part).text;
    return {name + "(" + text + ")"};
}

Formula FormulaWriter::operated(const RuleNode& node) {
    const bool is_logic = node.word == "and" || node.word == "or";
    if (is_logic || node.type == RuleType::whole) {
        if (const auto value = known(node)) {
            if (node.type == RuleType::truth) return {*value != 0 ? "TRUE" : "FALSE"};
            return number(*value);
        }
    }
    if (node.parts.size() == 1 && node.word == "-") {
        return {"-" + written(*node.parts[0]).within(alone), multiplied};
    }
    if (node.parts.size() == 1) {
        const SheetFunction* const function = row_of(sheet_functions, node.word);
        // Some spreadsheets apply functions to single cells only, even within SUMPRODUCT.
        if (function == nullptr || is_along_line(node)) throw NoFormula();
        return {replaced_all(function->text, {{"{}", written(*node.parts[0]).text}}),
                function->binds};
    }
    // The other side of a known condition decides.
    for (std::size_t side = 0; is_logic && side < 2; ++side) {
        if (known(*node.parts[side])) return written(*node.parts[1 - side]);
    }
    if (node.word == "//") {
        return {"INT(" + written(*node.parts[0]).within(multiplied) + "/" +
                written(*node.parts[1]).within(raised) + ")"};
    }
    if (const SheetFunction* const function = row_of(calls_of_two, node.word)) {
        if (node.word != "%" && is_along_line(node)) throw NoFormula();
        return call(function->text, node.parts);
    }
    const SheetFunction* const sign = row_of(sheet_operators, node.word);
    if (sign == nullptr) throw NoFormula();
    const auto above = static_cast<Binding>(sign->binds + 1);
    const bool is_chain =
        node.word == "+" || node.word == "*" || node.word == "-" || node.word == "/";
    return {written(*node.parts[0]).within(is_chain ? sign->binds : above) + sign->text +
                written(*node.parts[1]).within(above),
            sign->binds};
}

const SheetBlock& FormulaWriter::block_of(const RuleNode& cell) const {
    const auto found = blocks_.blocks.find(cell.word);
    if (found == blocks_.blocks.end() || found->second.shape.size() != cell.parts.size()) {
        throw NoFormula();
    }
    return found->second;
}

std::string FormulaWriter::on_sheet(Whole sheet, const std::string& address) const {
    if (sheet == sheet_) return address;
    return blocks_.sheets.at(static_cast<std::size_t>(sheet)) + "!" + address;
}

SheetPlace FormulaWriter::place(const RuleNode& node, const SheetBlock& block) const {
    std::vector<Whole> indices;
    for (std::size_t axis = 0; axis < node.parts.size(); ++axis) {
        indices.push_back(whole(*node.parts[axis]));
        if (indices.back() < 0 || indices.back() >= static_cast<Whole>(block.shape[axis])) {
            throw NoFormula();
        }
    }
    return place_in(block, indices);
}

Formula FormulaWriter::cell(const RuleNode& node) {
    const SheetBlock& block = block_of(node);
    if (!line_.empty() && holds_index(node, line_)) return {line_of(node)->text};
    const auto by_lookup =
        std::ranges::find_if(node.parts, [&](const RuleTree& part) { return !known(*part); });
    if (by_lookup == node.parts.end()) {
        const SheetPlace at = place(node, block);
        return {on_sheet(at.sheet, address_text(at))};
    }
    return {looked_up_in(node, block, static_cast<std::size_t>(by_lookup - node.parts.begin()))};
}

std::string FormulaWriter::looked_up_in(const RuleNode& node, const SheetBlock& block,
                                        std::size_t axis) {
    RuleNode at = node;
    std::vector<SheetPlace> places;
    for (std::size_t i = 0; i < block.shape[axis]; ++i) {
        at.parts[axis] = number_node(static_cast<double>(i));
        places.push_back(place(at, block));
    }
    const std::string index = written(*node.parts[axis]).within(added) + "+1";
    const bool is_line =
        block.axes[axis].sheets == 0 && block.axes[axis].rows + block.axes[axis].columns == 1;
    if (is_line) {
        // gnumeric takes a single index for that of a row, even of a range in one row.
        return "INDEX(" + on_sheet(places[0].sheet, cells_text(places[0], places.back(), true)) +
               (block.axes[axis].rows == 1 ? "," : ",1,") + index + ")";
    }
    std::string text = "CHOOSE(" + index;
    for (const SheetPlace& each : places) text += "," + on_sheet(each.sheet, address_text(each));
    return text + ")";
}

}  // namespace sheet

SheetPlace place_in(const SheetBlock& block, const std::vector<std::int64_t>& indices) {
    SheetPlace at{block.row, block.column, block.sheet};
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
        at.row += indices[axis] * block.axes[axis].rows;
        at.column += indices[axis] * block.axes[axis].columns;
        at.sheet += indices[axis] * block.axes[axis].sheets;
    }
    return at;
}

std::optional<std::string> sheet_formula(const Rule& rule, const std::vector<std::int64_t>& indices,
                                         const SheetBlocks& blocks, std::int64_t sheet) {
    sheet::FormulaWriter writer(blocks, sheet);
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
        writer.bind(rule.indices[axis], indices[axis]);
    }
    try {
        const std::string text = writer.written(*rule.value).text;
        constexpr std::size_t longest = 8000;
        return text.size() > longest ? std::nullopt : std::optional(text);
    } catch (const sheet::NoFormula&) {
        return std::nullopt;
    }
}

}  // namespace attn
