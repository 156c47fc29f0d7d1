#include "attn/judge/diagnose/mutator.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Exchanges two indices in all cells of a tree.
RuleTree exchanged(const RuleTree& tree, const std::string& a, const std::string& b) {
    return changed(tree, [&](const RuleNode& node) -> RuleTree {
        if (node.kind != Kind::name || (node.word != a && node.word != b)) return nullptr;
        return name_node(node.word == a ? b : a);
    });
}

/// Collects the lengths of the axes that an index runs over alone.
void add_lengths(const RuleNode& node, const std::string& index, std::set<std::size_t>& lengths) {
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const RuleNode& part = *node.parts[i];
        const bool is_it = node.kind == Kind::cell && part.kind == Kind::name && part.word == index;
        if (is_it) lengths.insert(node.outline->shape[i]);
        add_lengths(part, index, lengths);
    }
}

/// True if two indices run over axes of the same length.
bool are_alike(const RuleNode& node, const std::string& a, const std::string& b) {
    std::set<std::size_t> of_a, of_b;
    add_lengths(node, a, of_a);
    add_lengths(node, b, of_b);
    return of_a.size() == 1 && of_a == of_b;
}

/// The factors of a product, and the rest of it without each one; an `if` with a 0 in one branch
/// counts as a factor.
struct Factored {
    RuleTree factor, rest;
};
std::vector<Factored> factors_of(const RuleTree& tree) {
    std::vector<Factored> all;
    if (tree->kind == Kind::choose) {
        for (const std::size_t side : {1U, 2U}) {
            if (!is_number(*tree->parts[3 - side], 0)) continue;
            for (const Factored& each : factors_of(tree->parts[side])) {
                all.push_back({each.factor, with_part(*tree, side, each.rest)});
            }
        }
    } else if (is_operation(*tree, "*")) {
        for (const std::size_t side : {0U, 1U}) {
            all.push_back({tree->parts[side], tree->parts[1 - side]});
            for (const Factored& each : factors_of(tree->parts[side])) {
                all.push_back({each.factor, with_part(*tree, side, each.rest)});
            }
        }
    }
    return all;
}

/// All changes that can be made in one place of a tree.
class Mutator {
public:
    Mutator(const Rule& rule, const Ledger& read, const Outline& result_outline)
        : rule_(rule), read_(read), outline_(result_outline) {}

    std::vector<Mutation> all() {
        visit(*rule_.value, [](RuleTree tree) { return tree; });
        mutate_whole(rule_, read_, outline_, rare_);
        // Unlikely changes come last.
        std::ranges::move(rare_, std::back_inserter(found_));
        return std::move(found_);
    }

private:
    /// Puts a changed node back into the tree around it.
    using Around = std::function<RuleTree(RuleTree)>;
    using Add = std::function<void(const char* kind, RuleTree changed)>;

    void visit(const RuleNode& node, const Around& around) {
        const auto add = [&](const char* kind, RuleTree changed) {
            Mutation mutation{kind, rule_};
            mutation.rule.value = around(std::move(changed));
            found_.push_back(std::move(mutation));
        };
        if (node.kind == Kind::cell) {
            change_rows(node, node.outline->shape, around);
            return change_cell(node, add);
        }
        if (node.kind == Kind::number) return change_number(node, around);
        if (node.kind == Kind::operate) change_operation(node, add);
        if (node.kind == Kind::call && node.parts.size() == 1) {
            add("a function left out", node.parts[0]);
            change_function(node, add);
        }
        if (node.kind == Kind::choose) {
            RuleNode turned = node;
            std::swap(turned.parts[1], turned.parts[2]);
            add("a condition negated", tree_of(std::move(turned)));
            add("a condition left out", node.parts[1]);
            add("a condition left out", node.parts[2]);
        }
        if (node.kind == Kind::reduce) change_reduction(node, add);
        for (std::size_t i = goes_over_axis(node) ? 2 : 0; i < node.parts.size(); ++i) {
            visit(*node.parts[i],
                  [&, i](RuleTree part) { return around(with_part(node, i, std::move(part))); });
        }
    }

    /// Reads another row: the first, the last, the one before or after, or all in reverse. For a
    /// computed index, does this to the whole index and to each name in it.
    void change_rows(const RuleNode& node, const Shape& shape, const Around& around) {
        for (std::size_t a = 0; a < node.parts.size(); ++a) {
            const RuleTree& index = node.parts[a];
            const auto back = [&](RuleTree other) {
                return around(with_part(node, a, std::move(other)));
            };
            if (shape[a] < 2) continue;
            if (index->kind == Kind::number) {
                for (std::size_t row = 0; row < std::min<std::size_t>(shape[a], 4); ++row) {
                    const auto other = static_cast<double>(row);
                    if (other != index->number) add_rare("another row", back(number_node(other)));
                }
                continue;
            }
            change_row(index, shape[a], back);
            if (index->kind == Kind::name && node.type == RuleType::number) {
                // A row before the first one is 0.
                const RuleTree one = number_node(1), none = number_node(0);
                const RuleTree before = operate_node("-", {index, one});
                add_rare("the row before", around(choose_node(operate_node("==", {index, none}),
                                                              none, with_part(node, a, before))));
            }
            if (index->kind == Kind::name) continue;
            for (std::size_t i = 0; i < rule_.indices.size(); ++i) {
                const std::string& name = rule_.indices[i];
                if (outline_.shape[i] < 2 || !holds_index(*index, name)) continue;
                change_row(name_node(name), outline_.shape[i], [&](const RuleTree& other) {
                    return back(changed(index, [&](const RuleNode& each) {
                        return each.kind == Kind::name && each.word == name ? other : nullptr;
                    }));
                });
            }
        }
    }

    void change_row(const RuleTree& index, std::size_t length, const Around& around) {
        const RuleTree all = number_node(static_cast<double>(length));
        const RuleTree last = number_node(static_cast<double>(length - 1));
        const RuleTree one = number_node(1), none = number_node(0);
        const auto binary = [](const char* word, const RuleTree& left, const RuleTree& right) {
            return operate_node(word, {left, right});
        };
        for (const auto& [kind, other] :
             {std::pair{"one row for all", none},
              {"one row for all", last},
              {"the order reversed", binary("-", last, index)},
              {"the row before", binary("%", binary("+", index, last), all)},
              {"the row before", call_node("max", {binary("-", index, one), none})},
              {"the row after", binary("%", binary("+", index, one), all)},
              {"the row after", call_node("min", {binary("+", index, one), last})}}) {
            add_rare(kind, around(other));
        }
    }

    void add_rare(const char* kind, RuleTree whole) {
        rare_.push_back({kind, rule_});
        rare_.back().rule.value = std::move(whole);
    }

    /// Replaces a function by another of its kind, or negates its argument.
    static void change_function(const RuleNode& node, const Add& add) {
        static const std::vector<std::vector<std::string>> kinds{
            {"cos", "sin"},
            {"sigmoid", "logsigmoid", "softplus", "exp", "tanh"},
            {"relu", "elu", "silu", "gelu", "softplus", "exp"}};
        for (const std::vector<std::string>& kind : kinds) {
            if (std::ranges::count(kind, node.word) == 0) continue;
            for (const std::string& other : kind) {
                if (other != node.word) add("another function", call_node(other, node.parts));
            }
            add("a sign flipped", call_node(node.word, {operate_node("-", {node.parts[0]})}));
        }
    }

    /// Replaces a number by a neighbour, a multiple or a power.
    void change_number(const RuleNode& node, const Around& around) {
        const double n = node.number;
        if (!std::isfinite(n)) return;
        for (const double other : {n + 1, n - 1, 2 * n, n / 2, n * n}) {
            if (other != n) add_rare("another number", around(number_node(other)));
        }
    }

    /// Returns the places in a tensor (..., t, h * D + f) that correspond to a cell [..., h, t, f];
    /// none for tensors of another shape.
    static std::vector<RuleTree> split_places(const RuleNode& cell, const Shape& whole) {
        const Shape& shape = cell.outline->shape;
        const std::size_t head = shape.size() - 3, token = head + 1, feature = head + 2;
        if (shape.size() < 3) return {};
        Shape joined(shape.begin(), shape.end() - 3);
        joined.insert(joined.end(), {shape[token], shape[head] * shape[feature]});
        if (whole != joined) return {};
        std::vector<RuleTree> places(cell.parts.begin(), cell.parts.end() - 3);
        const RuleTree width = number_node(static_cast<double>(shape[feature]));
        places.push_back(cell.parts[token]);
        places.push_back(
            operate_node("+", {operate_node("*", {cell.parts[head], width}), cell.parts[feature]}));
        return places;
    }

    void change_cell(const RuleNode& node, const Add& add) {
        const Shape& shape = node.outline->shape;
        for (std::size_t a = 0; a < node.parts.size(); ++a) {
            for (std::size_t b = a + 1; b < node.parts.size(); ++b) {
                if (shape[a] != shape[b] || shape[a] == 1) continue;
                RuleNode copy = node;
                std::swap(copy.parts[a], copy.parts[b]);
                add("two indices exchanged", tree_of(std::move(copy)));
            }
        }
        for (std::size_t a = 0; a < node.parts.size(); ++a) {
            for (std::size_t i = 0; i < rule_.indices.size(); ++i) {
                const std::string& other = rule_.indices[i];
                const bool is_it = node.parts[a]->kind != Kind::name ||
                                   node.parts[a]->word == other || outline_.shape[i] != shape[a];
                if (!is_it) add("another index", with_part(node, a, name_node(other)));
            }
        }
        if (node.word == rule_.step || !read_.has(node.word)) return;
        for (const Ledger::Entry& entry : read_.entries()) {
            if (entry.name == node.word || entry.tensor.dtype() != read_[node.word].dtype()) {
                continue;
            }
            if (entry.tensor.shape() == shape) {
                const RuleTree other = cell_node(entry.name, node.parts);
                add("another tensor read", other);
                for (std::size_t a = 0; a < node.parts.size(); ++a) {
                    for (std::size_t i = 0; i < rule_.indices.size(); ++i) {
                        const RuleTree index = name_node(rule_.indices[i]);
                        const bool is_like = outline_.shape[i] == shape[a] && shape[a] > 1;
                        if (is_like && !same_tree(*node.parts[a], *index)) {
                            add("another tensor read", with_part(*other, a, index));
                        }
                    }
                }
            } else if (const std::vector<RuleTree> split = split_places(node, entry.tensor.shape());
                       !split.empty()) {
                add("another tensor read", cell_node(entry.name, split));
            }
        }
    }

    void change_operation(const RuleNode& node, const Add& add) {
        const std::string& word = node.word;
        if (node.parts.size() == 1) {
            if (word == "-" && is_number(*node.parts[0], HUGE_VAL)) {
                add("another number", number_node(0));
            }
            add(word == "not" ? "a condition negated" : "a sign flipped", node.parts[0]);
            return;
        }
        const RuleTree &left = node.parts[0], &right = node.parts[1];
        if (word == "*" || word == "/") {
            change_product(node, add);
        } else if (word == "+" || word == "-") {
            change_sum(node, add);
        } else if (word == "and" || word == "or") {
            add("a condition left out", left);
            add("a condition left out", right);
            add("the other connection", operate_node(word == "and" ? "or" : "and", {left, right}));
        } else if (word == "^") {
            add("a function left out", left);
        } else {
            const RuleTree one = number_node(1);
            add("an offset of one", operate_node(word, {left, operate_node("+", {right, one})}));
            add("an offset of one", operate_node(word, {left, operate_node("-", {right, one})}));
            add("a condition negated", operate_node("not", {tree_of(node)}));
        }
    }

    /// Changes a product or quotient.
    static void change_product(const RuleNode& node, const Add& add) {
        const std::string& word = node.word;
        const RuleTree &left = node.parts[0], &right = node.parts[1];
        add("a factor left out", left);
        add("a factor twice", operate_node(word, {tree_of(node), right}));
        add("a factor inverted", operate_node(word == "*" ? "/" : "*", {left, right}));
        for (const auto& [factor, rest] : factors_of(tree_of(node))) {
            std::vector<Factored> sums = factors_of(rest);
            sums.push_back({rest, number_node(1)});
            for (const auto& [sum, others] : sums) {
                if (!is_operation(*sum, "+") && !is_operation(*sum, "-")) continue;
                for (const std::size_t part : {0U, 1U}) {
                    const RuleTree inside = operate_node("*", {factor, sum->parts[part]});
                    add("brackets elsewhere",
                        operate_node("*", {others, with_part(*sum, part, inside)}));
                }
            }
        }
        if (word != "*") return;
        add("a factor left out", right);
        add("a factor twice", operate_node(word, {tree_of(node), left}));
    }

    /// Changes a sum or difference.
    static void change_sum(const RuleNode& node, const Add& add) {
        const std::string& word = node.word;
        const RuleTree &left = node.parts[0], &right = node.parts[1];
        add("an addend left out", left);
        add("an addend twice", operate_node(word, {tree_of(node), right}));
        add("a sign flipped", operate_node(word == "+" ? "-" : "+", {left, right}));
        if (word == "+") add("an addend left out", right);
        if (node.type == RuleType::whole) {
            add("an offset of one", operate_node("+", {tree_of(node), number_node(1)}));
            add("an offset of one", operate_node("-", {tree_of(node), number_node(1)}));
        }
        for (const std::size_t side : {0U, 1U}) {
            const RuleTree& other = node.parts[1 - side];
            for (const auto& [factor, rest] : factors_of(node.parts[side])) {
                add("brackets elsewhere", operate_node("*", {factor, with_part(node, side, rest)}));
                const RuleTree share = operate_node("-", {number_node(1), factor});
                add("a factor more", with_part(node, 1 - side, operate_node("*", {share, other})));
            }
        }
    }

    /// True if a sum runs over a whole axis.
    static bool goes_over_axis(const RuleNode& node) {
        if (node.kind != Kind::reduce || !is_number(*node.parts[0], 0)) return false;
        const std::optional<std::size_t> length = specified_length(*node.parts[2], node.index);
        return length && is_number(*node.parts[1], static_cast<double>(*length));
    }

    void change_reduction(const RuleNode& node, const Add& add) {
        for (const std::string& index : rule_.indices) {
            if (!are_alike(*node.parts[2], node.index, index)) continue;
            add("a sum along another axis",
                with_part(node, 2, exchanged(node.parts[2], node.index, index)));
        }
        for (const std::size_t end : {0U, 1U}) {
            if (goes_over_axis(node) || node.parts[end]->kind == Kind::number) continue;
            for (const char* sign : {"+", "-"}) {
                add("an offset of one",
                    with_part(node, end, operate_node(sign, {node.parts[end], number_node(1)})));
            }
        }
        for (const int end : {0, 1}) {
            if (!goes_over_axis(node)) break;
            const RuleTree last = number_node(node.parts[1]->number - 1 + end);
            add("one end left out",
                reduce_node(node.word, node.index, number_node(end), last, node.parts[2]));
        }
        if (node.word == "sum") {
            RuleNode largest = node;
            largest.word = "max";
            add("the other reduction", tree_of(std::move(largest)));
        }
        RuleNode other = node;
        other.word = node.word == "sum"    ? "mean"
                     : node.word == "mean" ? "sum"
                     : node.word == "max"  ? "min"
                                           : "max";
        add("the other reduction", tree_of(std::move(other)));
    }

    const Rule& rule_;
    const Ledger& read_;
    const Outline& outline_;
    std::vector<Mutation> found_, rare_;
};

}  // namespace

std::vector<Mutation> mutations_of(const Rule& rule, const Ledger& read,
                                   const Outline& result_outline) {
    return Mutator(rule, read, result_outline).all();
}

}  // namespace attn
