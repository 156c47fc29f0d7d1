#include "attn/explain/why/rule_cell.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attn/core/rules/evaluate.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/text/number_text.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Derivations with more additions are left out: they would be too long to read.
constexpr double most_additions = 4e6;

bool is_largest(const BoundRule& node) {
    return node.node->word == "max" || node.node->word == "min";
}

bool is_sum(const BoundRule& node) {
    return node.node->kind == Kind::reduce && node.node->word == "sum";
}

bool is_operation(const BoundRule& node, const char* word) {
    return node.node->kind == Kind::operate && node.parts.size() == 2 && node.node->word == word;
}

/// Formats a number that is not in a cell, but a setting or an index.
std::string number_text(double number) {
    const bool whole = number == std::floor(number) && std::abs(number) < 1e9;
    if (whole) return fmt::format("{:.0f}", number);
    return std::abs(number) < 0.01 ? fmt::format("{:.6g}", number) : four_decimals(number);
}

BoundTree bound_in(const Rule& rule, const Ledger& ledger) {
    const Tensor& result = ledger[rule.step];
    const RuleScope scope{[&](const std::string& name) -> const Tensor& { return ledger[name]; },
                          {}};
    return bind_rule(rule, result.axes(), result.shape(), scope);
}

}  // namespace

bool fits(const Rule& rule, const PlannedStep& of, const Ledger& ledger) {
    std::vector<std::string> names = tensors_read(rule);
    names.push_back(rule.step);
    return std::ranges::all_of(names, [&](const std::string& name) {
        const Tensor* tensor = ledger.find(name);
        return tensor && tensor->shape() == find_step(of.table, name).outline(of.plan).shape;
    });
}

RuleCell::RuleCell(const Rule& rule, const Ledger& ledger)
    : RuleIndices(rule, 0), tree_(bound_in(rule, ledger)) {
    index_.assign(tree_.indices, 0);
}

ComputedCell RuleCell::at(const std::vector<std::size_t>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) index_[i] = static_cast<Index>(indices[i]);
    ComputedCell result;
    result.is_too_long = cost(tree_.root) > most_additions;
    if (result.is_too_long) return result;
    const BoundRule& root = settled(tree_.root, result);
    std::vector<const BoundRule*> addends;
    add_addends(root, result, addends);
    result.is_sum =
        std::ranges::any_of(addends, [](const BoundRule* each) { return is_sum(*each); });
    if (!result.is_sum) {
        result.text = expression_text(*written(root, result, result.cells));
        result.is_copy = root.node->kind == Kind::cell;
        if (result.cells.empty() && !root.reads && root.parts.empty()) result.text.clear();
        return result;
    }
    for (const BoundRule* each : addends) {
        if (!is_sum(*each)) {
            add_addend(*each, result);
            continue;
        }
        const Range over = range(*each);
        for (Index i = over.first; i < over.end; ++i) {
            index_[each->index] = i;
            add_addend(settled(each->parts.back(), result), result);
        }
    }
    return result;
}

RuleCell::Range RuleCell::range(const BoundRule& reduction) {
    return {whole(reduction.parts[0]), whole(reduction.parts[1])};
}

double RuleCell::cost(const BoundRule& node) {
    double all = 1;
    for (const BoundRule& part : node.parts) all += cost(part);
    if (node.node->kind != Kind::reduce) return all;
    const Range over = range(node);
    return all * static_cast<double>(std::max<Index>(over.end - over.first, 0));
}

ReadCell RuleCell::read(const BoundRule& cell) {
    return {&cell.node->word, cell.tensor, place_in(cell)};
}

/// Returns the part of a node that determines its value: the chosen side of an `if`, the largest of
/// several.
const BoundRule& RuleCell::settled(const BoundRule& node, ComputedCell& result) {
    if (node.node->kind == Kind::choose) {
        const BoundRule& condition = node.parts[0];
        result.is_branch = true;
        if (condition.node->kind == Kind::cell) result.conditions.push_back(read(condition));
        return settled(node.parts[value(condition) != 0 ? 1 : 2], result);
    }
    if (!is_largest(node) || !node.reads) return node;
    if (node.node->kind == Kind::call) {
        const bool first = value(node) == value(node.parts[0]);
        return settled(node.parts[first ? 0 : 1], result);
    }
    const double largest = value(node);
    const Range over = range(node);
    for (Index i = over.first; i < over.end; ++i) {
        index_[node.index] = i;
        if (value(node.parts.back()) == largest) return settled(node.parts.back(), result);
    }
    return node;
}

void RuleCell::add_addends(const BoundRule& node, ComputedCell& result,
                           std::vector<const BoundRule*>& found) {
    const BoundRule& it = settled(node, result);
    if (!is_operation(it, "+")) return found.push_back(&it);
    for (const BoundRule& part : it.parts) add_addends(part, result, found);
}

void RuleCell::add_addend(const BoundRule& node, ComputedCell& result) {
    const auto are_cells = [](const BoundRule& pair) {
        return std::ranges::all_of(
            pair.parts, [](const BoundRule& part) { return part.node->kind == Kind::cell; });
    };
    ComputedCell::Addend addend;
    const bool is_exp = node.node->kind == Kind::call && node.node->word == "exp";
    if (node.node->kind == Kind::cell) {
        addend.form = AddendForm::product;
        addend.cells = {read(node)};
        addend.value = addend.cells[0].value();
    } else if (is_operation(node, "*") && are_cells(node)) {
        addend.form = AddendForm::product;
        addend.cells = {read(node.parts[0]), read(node.parts[1])};
        addend.value = addend.cells[0].value() * addend.cells[1].value();
    } else if (is_exp && is_operation(node.parts[0], "-") && are_cells(node.parts[0])) {
        addend.form = AddendForm::exponential;
        addend.cells = {read(node.parts[0].parts[0]), read(node.parts[0].parts[1])};
        addend.value = std::exp(addend.cells[0].value() - addend.cells[1].value());
    } else {
        addend.value = value(node);
        addend.text = expression_text(*written(node, result, addend.cells));
    }
    result.addends.push_back(std::move(addend));
}

/// Writes the expression with `{1}` for cell 1, and values for sums and for everything without
/// cells.
RuleTree RuleCell::written(const BoundRule& node, ComputedCell& result,
                           std::vector<ReadCell>& cells) {
    const BoundRule& it = node.node->kind == Kind::choose ? settled(node, result) : node;
    if (it.node->kind == Kind::cell) {
        cells.push_back(read(it));
        return name_node("{" + std::to_string(cells.size() - 1) + "}");
    }
    if (it.node->kind == Kind::number) return tree_of(*it.node);
    if (it.node->kind == Kind::reduce) return name_node(four_decimals(value(it)));
    if (it.node->kind == Kind::name) return name_node(number_text(value(it)));
    RuleNode copy = *it.node;
    for (std::size_t i = 0; i < it.parts.size(); ++i) {
        const BoundRule& part = it.parts[i];
        const bool folds = !part.reads && !gives_truth(*part.node);
        copy.parts[i] = folds ? name_node(number_text(value(part))) : written(part, result, cells);
    }
    return tree_of(std::move(copy));
}

}  // namespace attn
