#include <algorithm>
#include <cmath>

#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

RuleType type_of(const RuleNode& node) {
    const auto all_whole = [&](std::size_t first = 0) {
        return std::all_of(node.parts.begin() + static_cast<std::ptrdiff_t>(first),
                           node.parts.end(),
                           [](const RuleTree& part) { return part->type == RuleType::whole; });
    };
    const std::string& word = node.word;
    const auto whole_if = [](bool is) { return is ? RuleType::whole : RuleType::number; };
    switch (node.kind) {
        case Kind::number:
            return whole_if(node.number == std::floor(node.number) && std::abs(node.number) < 1e15);
        case Kind::name:
            return RuleType::whole;
        case Kind::cell:
            return word == "mask" && node.outline == nullptr ? RuleType::truth : node.type;
        case Kind::call:
            return whole_if(word == "floor" ||
                            ((word == "abs" || word == "min" || word == "max") && all_whole()));
        case Kind::operate: {
            const RuleFunction* const function = find_rule_function(word, node.parts.size());
            if (function != nullptr && function->kind != RuleFunction::Kind::sign) {
                return RuleType::truth;
            }
            return whole_if(word == "//" || (word != "/" && word != "^" && all_whole()));
        }
        case Kind::choose:
            if (node.parts.size() == 3 && gives_truth(*node.parts[1])) return RuleType::truth;
            return whole_if(all_whole(1));
        case Kind::reduce:
            return whole_if(word == "argmax");
    }
    return RuleType::number;
}

void add_tensors(const RuleNode& node, std::vector<std::string>& names) {
    if (node.kind == Kind::cell && std::ranges::find(names, node.word) == names.end()) {
        names.push_back(node.word);
    }
    for (const RuleTree& part : node.parts) add_tensors(*part, names);
}

bool has_parts(const RuleNode& node) {
    const std::size_t count = node.parts.size();
    switch (node.kind) {
        case Kind::number:
        case Kind::name:
            return count == 0;
        case Kind::cell:
            return true;
        case Kind::call:
        case Kind::operate:
            return find_rule_function(node.word, count) != nullptr;
        case Kind::choose:
            return count == 3;
        case Kind::reduce:
            return count == 1 || count == 3;
    }
    return false;
}

}  // namespace

bool is_integer(const RuleNode& node) {
    if (node.type == RuleType::whole) return true;
    if (node.kind == Kind::reduce) return node.word != "mean" && is_integer(*node.parts.back());
    const bool joins = node.kind == Kind::operate && (node.word == "+" || node.word == "-" ||
                                                      node.word == "*" || node.word == "%");
    return joins &&
           std::ranges::all_of(node.parts, [](const RuleTree& part) { return is_integer(*part); });
}

std::vector<std::string> tensors_read(const Rule& rule) {
    std::vector<std::string> names;
    if (rule.value != nullptr) add_tensors(*rule.value, names);
    return names;
}

RuleTree tree_of(RuleNode node) {
    node.type = type_of(node);
    return std::make_shared<const RuleNode>(std::move(node));
}
bool is_operation(const RuleNode& node, const char* word) {
    return node.kind == Kind::operate && node.word == word && node.parts.size() == 2;
}
RuleTree number_node(double number) { return tree_of({.kind = Kind::number, .number = number}); }

RuleTree setting_node(double number) {
    constexpr double most = 1e6;
    const double square = std::round(number * number);
    const bool is_root =
        number != std::floor(number) && square < most && std::sqrt(square) == number;
    return is_root ? call_node("sqrt", {number_node(square)}) : number_node(number);
}
RuleTree name_node(const std::string& name) { return tree_of({.kind = Kind::name, .word = name}); }
RuleTree cell_node(const std::string& tensor, const std::vector<RuleTree>& indices) {
    return tree_of({.kind = Kind::cell, .word = tensor, .parts = indices});
}
RuleTree call_node(const std::string& function, std::vector<RuleTree> parts) {
    return tree_of({.kind = Kind::call, .word = function, .parts = std::move(parts)});
}
RuleTree operate_node(const std::string& word, std::vector<RuleTree> parts) {
    return tree_of({.kind = Kind::operate, .word = word, .parts = std::move(parts)});
}
RuleTree choose_node(RuleTree condition, RuleTree yes, RuleTree no) {
    return tree_of(
        {.kind = Kind::choose, .parts = {std::move(condition), std::move(yes), std::move(no)}});
}
RuleTree reduce_node(const std::string& word, const std::string& index, RuleTree first,
                     RuleTree end, RuleTree body) {
    return tree_of({.kind = Kind::reduce,
                    .word = word,
                    .index = index,
                    .parts = {std::move(first), std::move(end), std::move(body)}});
}

bool same_tree(const RuleNode& a, const RuleNode& b) {
    return a.kind == b.kind && a.word == b.word && a.index == b.index &&
           (a.kind != Kind::number || a.number == b.number) &&
           std::ranges::equal(a.parts, b.parts, [](const RuleTree& left, const RuleTree& right) {
               return same_tree(*left, *right);
           });
}

bool is_number(const RuleNode& node, double number) {
    return node.kind == Kind::number && node.number == number;
}

bool holds_index(const RuleNode& node, const std::string& name) {
    if (node.kind == Kind::name) return node.word == name;
    const bool binds = node.kind == Kind::reduce && node.index == name;
    const auto end = node.parts.end() - (binds ? 1 : 0);
    return std::any_of(node.parts.begin(), end,
                       [&](const RuleTree& part) { return holds_index(*part, name); });
}

bool reads_cells(const RuleNode& node) {
    return node.kind == Kind::cell ||
           std::ranges::any_of(node.parts, [](const RuleTree& part) { return reads_cells(*part); });
}

void require_whole_node(const RuleNode& node) {
    if (!has_parts(node)) {
        throw ConfigError("a rule holds '" + node.word + "' with " +
                          std::to_string(node.parts.size()) + " parts");
    }
    for (const RuleTree& part : node.parts) {
        if (part == nullptr) throw ConfigError("a rule holds '" + node.word + "' without a part");
        require_whole_node(*part);
    }
}

void require_whole_rule(const Rule& rule) {
    if (rule.step.empty() || rule.value == nullptr) {
        throw ConfigError("a rule needs a step and an expression, as in weights[q,k] = ...");
    }
    require_whole_node(*rule.value);
}

void refuse_rule(const Rule& rule, std::size_t at, const std::string& message) {
    if (!rule.text.empty()) refuse_rule(rule.text, at, message);
    throw ConfigError(message + "\n  " + rule_text(rule));
}

RuleTree changed(const RuleTree& tree, const std::function<RuleTree(const RuleNode&)>& change) {
    if (tree == nullptr || !change) throw ConfigError("there is no expression to change");
    if (RuleTree other = change(*tree)) return other;
    if (tree->parts.empty()) return tree;
    RuleNode node = *tree;
    for (RuleTree& part : node.parts) part = changed(part, change);
    return tree_of(std::move(node));
}

RuleTree read_from(const RuleTree& tree, const std::string& tensor, const std::string& other) {
    if (tree == nullptr) throw ConfigError("there is no expression to change");
    RuleNode node = *tree;
    if (node.kind == Kind::cell && node.word == tensor) node.word = other;
    for (RuleTree& part : node.parts) part = read_from(part, tensor, other);
    return tree_of(std::move(node));
}

}  // namespace attn
