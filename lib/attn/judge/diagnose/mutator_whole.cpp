#include <map>
#include <set>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/judge/diagnose/mutator.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// All changes that can be made to a step as a whole.
class WholeMutator {
public:
    WholeMutator(const Rule& rule, const Ledger& read, const Outline& result_outline,
                 std::vector<Mutation>& found)
        : rule_(rule), read_(read), outline_(result_outline), rare_(found) {}

    /// Adds the changes to the whole step, beyond those of its rule.
    void change() {
        const RuleTree& whole = rule_.value;
        if (gives_truth(*whole) || rule_.indices.empty()) return;
        std::vector<RuleTree> own;
        for (const std::string& index : rule_.indices) own.push_back(name_node(index));
        for (const Ledger::Entry& entry : read_.entries()) {
            if (entry.tensor.shape() != outline_.shape || !entry.tensor.is_floating()) continue;
            const RuleTree other = cell_node(entry.name, own);
            add_rare("another tensor in its place", other);
            for (const char* sign : {"+", "-"}) {
                add_rare("an addend more", operate_node(sign, {whole, other}));
            }
            add_rare("a factor more", operate_node("*", {whole, other}));
            do_twice(entry.name);
        }
        read_others();
        if (const std::size_t axes = own.size();
            axes > 1 && outline_.shape[axes - 2] == outline_.shape.back()) {
            const RuleTree is_own = operate_node("==", {own[axes - 2], own[axes - 1]});
            const RuleTree identity = choose_node(is_own, number_node(1), number_node(0));
            add_rare("an addend more", operate_node("+", {whole, identity}));
        }
        change_calls();
        add_exchanged();
        add_views();
        const auto turned = [&](const RuleTree& body, std::size_t axis, const RuleTree& index) {
            return changed(body, [&](const RuleNode& node) {
                const bool is_it = node.kind == Kind::name && node.word == rule_.indices[axis];
                return is_it ? index : nullptr;
            });
        };
        for (const Done& done : done_more(whole, outline_.shape, turned)) {
            add_rare(done.kind, done.tree);
        }
        change_inputs();
    }

private:
    /// Replaces the index of an axis by another index.
    using Turned =
        std::function<RuleTree(const RuleTree& body, std::size_t axis, const RuleTree& index)>;

    /// Applies the step a second time, to its own result in place of that tensor.
    void do_twice(const std::string& tensor) {
        const RuleTree& whole = rule_.value;
        Rule inner = rule_;
        const std::string mark = "before " + tensor;
        inner.value = read_from(whole, tensor, mark);
        const Rule twice = inlined(rule_, [&](const std::string& name) {
            return name == tensor ? std::optional(inner) : std::nullopt;
        });
        if (same_tree(*twice.value, *whole)) return;
        add_rare("the step done twice", read_from(twice.value, mark, tensor));
        // In the short form the step's own name stands for the right result.
        Rule displayed = rule_;
        displayed.value = read_from(whole, tensor, rule_.step);
        rare_.back().written_rule = rule_text(displayed);
    }

    /// Replaces each tensor that the rule reads by another of the same shape and type.
    void read_others() {
        for (const std::string& name : tensors_read(rule_)) {
            const Tensor* read = read_.find(name);
            for (const auto& [other, tensor] : read_.entries()) {
                const bool is_like = read != nullptr && other != name &&
                                     tensor.shape() == read->shape() &&
                                     tensor.dtype() == read->dtype();
                if (is_like) {
                    add_rare("another tensor read", read_from(rule_.value, name, other));
                }
            }
        }
    }

    /// Exchanges functions that are often confused.
    void change_calls() {
        add_rare("2 instead of e", changed(rule_.value, [](const RuleNode& node) {
                     return node.kind == Kind::call && node.word == "exp"
                                ? operate_node("^", {number_node(2), node.parts[0]})
                                : nullptr;
                 }));
        // The feature map of linear attention.
        add_rare("another function", changed(rule_.value, [](const RuleNode& node) -> RuleTree {
                     if (node.kind != Kind::call || node.word != "relu") return nullptr;
                     return operate_node("+", {call_node("elu", node.parts), number_node(1)});
                 }));
    }

    /// True if a tree sums over that index.
    static bool is_summed(const RuleNode& node, const std::string& index) {
        return (node.kind == Kind::reduce && node.index == index) ||
               std::ranges::any_of(node.parts,
                                   [&](const RuleTree& part) { return is_summed(*part, index); });
    }

    /// An operation that may have been applied in addition to the right ones.
    struct Done {
        const char* kind;
        RuleTree tree;
    };

    static std::vector<Done> done_more(const RuleTree& numbers, const Shape& shape,
                                       const Turned& turned) {
        std::vector<Done> all;
        for (const char* function : {"relu", "tanh", "sigmoid", "abs", "exp", "gelu", "silu"}) {
            all.push_back({"a function more", call_node(function, {numbers})});
        }
        const RuleTree two = number_node(2), square = operate_node("^", {numbers, two});
        all.push_back({"a function more", square});
        const auto over = [&](std::size_t axis, const char* word, const RuleTree& body) {
            const char* const index = is_summed(*body, "along") ? "within" : "along";
            return reduce_node(word, index, number_node(0),
                               number_node(static_cast<double>(shape[axis])),
                               turned(body, axis, name_node(index)));
        };
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            for (const char* word : {"mean", "sum", "max"}) {
                all.push_back({"one number along an axis", over(axis, word, numbers)});
            }
        }
        const std::size_t last = shape.size() - 1;
        const auto over_root = [](const RuleTree& left, const RuleTree& right) {
            return operate_node("/", {left, call_node("sqrt", {right})});
        };
        all.push_back(
            {"a scale more", over_root(numbers, number_node(static_cast<double>(shape.back())))});
        const RuleTree centred = operate_node("-", {numbers, over(last, "mean", numbers)});
        all.push_back({"divided by its length", over_root(numbers, over(last, "sum", square))});
        all.push_back(
            {"divided by its sum", operate_node("/", {numbers, over(last, "sum", numbers)})});
        all.push_back({"its mean subtracted", centred});
        const RuleTree variance = over(last, "mean", operate_node("^", {centred, two}));
        const RuleTree mean_square = over(last, "mean", square);
        for (const double eps : {0.0, 1e-5, 1e-6}) {
            const auto above = [&](const RuleTree& number) {
                return eps > 0 ? operate_node("+", {number, number_node(eps)}) : number;
            };
            all.push_back({"a norm more", over_root(centred, above(variance))});
            all.push_back({"a norm more", over_root(numbers, above(mean_square))});
        }
        return all;
    }

    /// The additional operations for each cell that a tree reads.
    using DoneToCells = std::map<const RuleNode*, std::vector<Done>>;
    void find_inputs(const RuleNode& tree, DoneToCells& inputs) const {
        const bool is_input = tree.kind == Kind::cell && tree.type == RuleType::number &&
                              !tree.parts.empty() && tree.word != rule_.step &&
                              read_.has(tree.word);
        for (const RuleTree& part : tree.parts) find_inputs(*part, inputs);
        if (!is_input) return;
        const auto turned = [&](const RuleTree& body, std::size_t axis, const RuleTree& index) {
            return changed(body, [&](const RuleNode& node) -> RuleTree {
                const bool is_it = node.kind == Kind::cell && node.word == tree.word &&
                                   same_tree(*node.parts[axis], *tree.parts[axis]);
                return is_it ? with_part(node, axis, index) : nullptr;
            });
        };
        inputs.emplace(&tree, done_more(tree_of(tree), tree.outline->shape, turned));
    }

    /// Applies an additional operation to one tensor that the rule reads, or to all of them.
    void change_inputs() {
        DoneToCells inputs;
        find_inputs(*rule_.value, inputs);
        std::map<std::string, const std::vector<Done>*> by_name;
        std::set<std::size_t> counts;
        for (const auto& [cell, all] : inputs) {
            by_name.emplace(cell->word, &all);
            counts.insert(all.size());
        }
        const auto add = [&](const char* kind, std::size_t which, const std::string& name) {
            add_rare(kind, changed(rule_.value, [&](const RuleNode& node) -> RuleTree {
                         const auto found = inputs.find(&node);
                         const bool is_it =
                             found != inputs.end() && (name.empty() || node.word == name);
                         return is_it ? found->second[which].tree : nullptr;
                     }));
        };
        for (const auto& [name, all] : by_name) {
            for (std::size_t i = 0; i < all->size(); ++i) {
                add((*all)[i].kind, i, name);
                // Tensors with the same number of axes have the same list of operations.
                const bool is_first = name == by_name.begin()->first && by_name.size() > 1;
                if (is_first && counts.size() == 1) add((*all)[i].kind, i, "");
            }
        }
    }

    /// Exchanges two tensors of one shape.
    void add_exchanged() {
        const std::vector<std::string> names = tensors_read(rule_);
        for (std::size_t a = 0; a < names.size(); ++a) {
            for (std::size_t b = a + 1; b < names.size(); ++b) {
                const bool are_like = read_.has(names[a]) && read_.has(names[b]) &&
                                      read_[names[a]].shape() == read_[names[b]].shape();
                if (!are_like) continue;
                add_rare("two tensors exchanged",
                         changed(rule_.value, [&](const RuleNode& node) -> RuleTree {
                             const bool is_a = node.word == names[a];
                             if (node.kind != Kind::cell || (!is_a && node.word != names[b])) {
                                 return nullptr;
                             }
                             return cell_node(is_a ? names[b] : names[a], node.parts);
                         }));
            }
        }
    }

    /// Reads a tensor with the same number of cells in memory order, as `view` does.
    void add_views() {
        RuleTree flat = name_node(rule_.indices[0]);
        for (std::size_t i = 1; i < rule_.indices.size(); ++i) {
            const RuleTree length = number_node(static_cast<double>(outline_.shape[i]));
            flat =
                operate_node("+", {operate_node("*", {flat, length}), name_node(rule_.indices[i])});
        }
        for (const Ledger::Entry& entry : read_.entries()) {
            const Shape shape = entry.tensor.shape();
            const bool is_like = shape != outline_.shape && entry.tensor.is_floating() &&
                                 shape.size() > 1 &&
                                 element_count(shape) == element_count(outline_.shape);
            if (!is_like) continue;
            std::vector<RuleTree> places;
            std::size_t stride = element_count(shape);
            for (const std::size_t length : shape) {
                stride /= length;
                const RuleTree row =
                    operate_node("//", {flat, number_node(static_cast<double>(stride))});
                places.push_back(
                    operate_node("%", {row, number_node(static_cast<double>(length))}));
            }
            add_rare("a view instead of a transpose", cell_node(entry.name, places));
            rare_.back().written_rule =
                rule_.step + " = " + entry.name + ".view" + shape_text(outline_.shape);
        }
    }

    void add_rare(const char* kind, RuleTree whole) {
        rare_.push_back({kind, rule_});
        rare_.back().rule.value = std::move(whole);
    }

    const Rule& rule_;
    const Ledger& read_;
    const Outline& outline_;
    std::vector<Mutation>& rare_;
};

}  // namespace

void mutate_whole(const Rule& rule, const Ledger& read, const Outline& result_outline,
                  std::vector<Mutation>& found) {
    WholeMutator(rule, read, result_outline, found).change();
}

}  // namespace attn
