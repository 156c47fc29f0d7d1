#include "attn/diagnose/search.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "attn/rules/complete.hpp"
#include "attn/rules/evaluate.hpp"
#include "attn/rules/rule.hpp"
#include "attn/tensor/error.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

RuleTree with_part(const RuleNode& node, std::size_t i, RuleTree part) {
    RuleNode copy = node;
    copy.parts[i] = std::move(part);
    return tree_of(std::move(copy));
}

/// Puts an index in the place of another, in all cells of a tree.
RuleTree exchanged(const RuleTree& tree, const std::string& a, const std::string& b) {
    return changed(tree, [&](const RuleNode& node) -> RuleTree {
        if (node.kind != Kind::name || (node.word != a && node.word != b)) return nullptr;
        return name_node(node.word == a ? b : a);
    });
}

/// The lengths of the axes that an index goes over by itself.
void add_lengths(const RuleNode& node, const std::string& index, const Ledger& read,
                 std::set<std::size_t>& lengths) {
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const RuleNode& part = *node.parts[i];
        const bool is_it = node.kind == Kind::cell && part.kind == Kind::name && part.word == index;
        if (is_it) lengths.insert(read[node.word].shape()[i]);
        add_lengths(part, index, read, lengths);
    }
}

/// Whether two indices go over axes of one length.
bool are_alike(const RuleNode& node, const std::string& a, const std::string& b,
               const Ledger& read) {
    std::set<std::size_t> of_a, of_b;
    add_lengths(node, a, read, of_a);
    add_lengths(node, b, read, of_b);
    return of_a.size() == 1 && of_a == of_b;
}

/// All that can be wrong in one place of a tree.
class Mutator {
public:
    Mutator(const Rule& rule, const Ledger& read) : rule_(rule), read_(read) {}

    std::vector<Mutation> all() {
        visit(*rule_.value, [](RuleTree tree) { return tree; });
        return std::move(found_);
    }

private:
    /// Puts a changed node back into the tree around it.
    using Around = std::function<RuleTree(RuleTree)>;

    void visit(const RuleNode& node, const Around& around) {
        const auto add = [&](const char* kind, RuleTree changed) {
            Mutation mutation{kind, rule_};
            mutation.rule.value = around(std::move(changed));
            found_.push_back(std::move(mutation));
        };
        if (node.kind == Kind::cell) return change_cell(node, add);
        if (node.kind == Kind::operate) change_operation(node, add);
        if (node.kind == Kind::call && node.parts.size() == 1) {
            add("a function left out", node.parts[0]);
            if (node.word == "cos" || node.word == "sin") {
                RuleNode other = node;
                other.word = node.word == "cos" ? "sin" : "cos";
                add("the other function", tree_of(std::move(other)));
            }
        }
        if (node.kind == Kind::choose) {
            RuleNode turned = node;
            std::swap(turned.parts[1], turned.parts[2]);
            add("a condition turned round", tree_of(std::move(turned)));
            add("a condition left out", node.parts[1]);
            add("a condition left out", node.parts[2]);
        }
        if (node.kind == Kind::reduce) change_reduction(node, add);
        for (std::size_t i = 0; i < node.parts.size(); ++i) {
            visit(*node.parts[i],
                  [&, i](RuleTree part) { return around(with_part(node, i, std::move(part))); });
        }
    }

    template <class Add>
    void change_cell(const RuleNode& node, const Add& add) {
        const Shape shape = read_[node.word].shape();
        for (std::size_t a = 0; a < node.parts.size(); ++a) {
            for (std::size_t b = a + 1; b < node.parts.size(); ++b) {
                if (shape[a] != shape[b] || shape[a] == 1) continue;
                RuleNode copy = node;
                std::swap(copy.parts[a], copy.parts[b]);
                add("two indices exchanged", tree_of(std::move(copy)));
            }
        }
        for (const Ledger::Entry& entry : read_.entries()) {
            const bool is_like = entry.name != node.word && entry.tensor.shape() == shape &&
                                 entry.tensor.dtype() == read_[node.word].dtype();
            if (!is_like) continue;
            RuleNode copy = node;
            copy.word = entry.name;
            add("another tensor read", tree_of(std::move(copy)));
        }
    }

    template <class Add>
    void change_operation(const RuleNode& node, const Add& add) {
        const std::string& word = node.word;
        if (node.parts.size() == 1) {
            add(word == "not" ? "a condition turned round" : "a sign turned", node.parts[0]);
            return;
        }
        const RuleTree &left = node.parts[0], &right = node.parts[1];
        const auto as = [&](const char* other) { return operate_node(other, {left, right}); };
        if (word == "*" || word == "/") {
            add("a factor left out", left);
            add("a factor twice", operate_node(word, {tree_of(node), right}));
            add("a factor inverted", as(word == "*" ? "/" : "*"));
            if (word == "*") {
                add("a factor left out", right);
                add("a factor twice", operate_node(word, {tree_of(node), left}));
            }
        } else if (word == "+" || word == "-") {
            add("an addend left out", left);
            add("an addend twice", operate_node(word, {tree_of(node), right}));
            add("a sign turned", as(word == "+" ? "-" : "+"));
            if (word == "+") add("an addend left out", right);
        } else if (word == "and" || word == "or") {
            add("a condition left out", left);
            add("a condition left out", right);
            add("the other connection", as(word == "and" ? "or" : "and"));
        } else if (word == "^") {
            add("a function left out", left);
        } else {
            const RuleTree one = number_node(1);
            add("an offset of one", operate_node(word, {left, operate_node("+", {right, one})}));
            add("an offset of one", operate_node(word, {left, operate_node("-", {right, one})}));
            add("a condition turned round", operate_node("not", {tree_of(node)}));
        }
    }

    template <class Add>
    void change_reduction(const RuleNode& node, const Add& add) {
        for (const std::string& index : rule_.indices) {
            if (node.parts.size() != 1 || !are_alike(*node.parts[0], node.index, index, read_))
                continue;
            add("a sum along another axis",
                with_part(node, 0, exchanged(node.parts[0], node.index, index)));
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
    std::vector<Mutation> found_;
};

/// The rule of a step read back to the tensors that are there.
std::optional<Rule> readable(const PlannedStep& of, const Ledger& read) {
    const std::optional<Rule> rule = rule_of(of);
    if (!rule) return std::nullopt;
    const Rule whole = inlined(*rule, [&](const std::string& name) -> std::optional<Rule> {
        if (read.has(name)) return std::nullopt;
        return rule_of({of.plan, of.table, find_step(of.table, name)});
    });
    const std::vector<std::string> names = tensors_read(whole);
    if (!std::ranges::all_of(names, [&](const auto& name) { return read.has(name); })) return {};
    return whole;
}

/// The step and the one before it in the other order, where both change scores cell by cell.
std::optional<Rule> in_other_order(const PlannedStep& of) {
    if (of.step.chain != Chain::scores || of.step.name == "scores") return std::nullopt;
    const Step& before = find_step(of.table, of.latest(Chain::scores));
    const std::optional<Rule> last = rule_of({of.plan, of.table, before});
    std::optional<Rule> first = rule_of(of);
    if (before.name == "scores" || !last || !first) return std::nullopt;
    const std::string start = PlannedStep{of.plan, of.table, before}.latest(Chain::scores);
    first->value = read_from(first->value, before.name, start);
    Rule swapped = inlined(*last, [&, is_inner = false](const std::string& name) mutable {
        const bool is_read = name == start && !std::exchange(is_inner, true);
        return is_read ? first : std::nullopt;
    });
    swapped.step = of.step.name;
    return swapped;
}

}  // namespace

std::optional<Mutation> mutation_behind(const Tensor& tensor, const PlannedStep& of,
                                        const Ledger& read,
                                        const std::function<bool(const Tensor&)>& is_theirs) {
    constexpr std::size_t most_cells = 100'000;
    const std::optional<Rule> right = readable(of, read);
    if (!right || tensor.size() > most_cells) return std::nullopt;
    std::vector<Mutation> all = Mutator(*right, read).all();
    if (const std::optional<Rule> swapped = in_other_order(of)) {
        all.push_back({"two steps in the other order", *swapped});
    }
    const RuleScope scope{[&](const std::string& name) -> const Tensor& { return read[name]; }, {}};
    std::optional<Mutation> found;
    for (Mutation& each : all) {
        try {
            const Tensor made = evaluate_rule(each.rule, tensor.axes(), tensor.shape(),
                                              of.plan.compute_dtype, scope);
            if (!is_theirs(made)) continue;
        } catch (const ConfigError&) {
            continue;  // it reads beyond an axis, or a tensor that is not there
        }
        if (found && found->kind != each.kind) return std::nullopt;
        if (!found) found = std::move(each);
    }
    return found;
}

}  // namespace attn
