#include "attn/rules/complete.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "attn/rules/rule.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

void add_indices(const RuleNode& node, std::vector<std::string>& indices) {
    if (node.kind == Kind::reduce) indices.push_back(node.index);
    for (const RuleTree& part : node.parts) add_indices(*part, indices);
}

class Completer {
public:
    Completer(const Rule& rule, const Outline& made, const RuleNames& names)
        : rule_(rule), made_(made), names_(names), bound_(rule.indices) {
        if (rule.indices.size() > made.axes.size()) {
            refuse(0, rule.step + " has " + described(made.axes, made.shape) + ": " +
                          std::to_string(rule.indices.size()) + " indices are too many");
        }
        add_indices(*rule.value, bound_);
        const std::size_t left_out = made.axes.size() - rule.indices.size();
        for (std::size_t axis = 0; axis < left_out; ++axis) {
            first_.push_back(free_letter(made.axes[axis]));
        }
    }

    Rule rule() {
        Rule whole = rule_;
        whole.indices.insert(whole.indices.begin(), first_.begin(), first_.end());
        whole.value = tree(*rule_.value);
        return whole;
    }

private:
    /// The first letters of an axis that no index of the rule has.
    std::string free_letter(const std::string& axis) {
        std::string letters = axis.substr(0, 1);
        while (std::ranges::find(bound_, letters) != bound_.end()) letters += axis.front();
        bound_.push_back(letters);
        return letters;
    }

    RuleTree tree(const RuleNode& node) {
        RuleNode made = node;
        made.parts.clear();
        for (const RuleTree& part : node.parts) made.parts.push_back(tree(*part));
        if (node.kind == Kind::name && std::ranges::find(bound_, node.word) == bound_.end()) {
            const auto setting = names_.settings.find(node.word);
            if (setting != names_.settings.end()) {
                made = {.kind = Kind::number, .number = setting->second, .at = node.at};
            }
        }
        if (node.kind == Kind::cell) complete(made);
        return tree_of(std::move(made));
    }

    void complete(RuleNode& cell) {
        Outline outline;
        try {
            cell.word = names_.step(cell.word);
            outline = names_.outline(cell.word);
        } catch (const ConfigError& error) {
            refuse(cell.at, error.what());
        }
        if (cell.parts.size() > outline.axes.size()) {
            refuse(cell.at, cell.word + " has " + described(outline.axes, outline.shape) + ": " +
                                std::to_string(cell.parts.size()) + " indices are too many");
        }
        const std::size_t left_out = outline.axes.size() - cell.parts.size();
        for (std::size_t i = 0; i < cell.parts.size(); ++i) {
            // One row may serve all queries, as of a mask of padding.
            const RuleNode& index = *cell.parts[i];
            const bool is_own = std::ranges::find(rule_.indices, index.word) != rule_.indices.end();
            if (index.kind == Kind::name && is_own && outline.shape[left_out + i] == 1) {
                cell.parts[i] = zero(cell.at);
            }
        }
        std::vector<RuleTree> first;
        for (std::size_t axis = 0; axis < left_out; ++axis) {
            first.push_back(shared_index(cell, outline, axis, left_out));
        }
        cell.parts.insert(cell.parts.begin(), first.begin(), first.end());
    }

    /// The index of the result's axis of that name.
    RuleTree shared_index(const RuleNode& cell, const Outline& outline, std::size_t axis,
                          std::size_t left_out) const {
        const std::string& name = outline.axes[axis];
        const std::size_t length = outline.shape[axis];
        for (std::size_t i = 0; i < first_.size(); ++i) {
            if (made_.axes[i] != name) continue;
            if (length == made_.shape[i]) {
                return tree_of({.kind = Kind::name, .word = first_[i], .at = cell.at});
            }
            if (length == 1) break;
            refuse(cell.at, "there are " + std::to_string(length) + " of axis " + name + " in " +
                                cell.word + " and " + std::to_string(made_.shape[i]) + " in " +
                                rule_.step + ": write all indices, as in " + cell.word + "[" +
                                name.substr(0, 1) + " / 2, ...]");
        }
        if (length == 1) {
            return zero(cell.at);
        }
        refuse(cell.at, cell.word + " has " + described(outline.axes, outline.shape) + ": " +
                            std::to_string(outline.axes.size() - left_out) + " indices leave " +
                            name + " open, which nothing binds");
    }

    static RuleTree zero(std::size_t at) { return tree_of({.kind = Kind::number, .at = at}); }

    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        refuse_rule(rule_.text, at, message);
    }

    const Rule& rule_;
    const Outline& made_;
    const RuleNames& names_;
    std::vector<std::string> bound_;  ///< all indices that the rule names
    std::vector<std::string> first_;  ///< those of the axes that it leaves out
};

}  // namespace

Rule completed(const Rule& rule, const Outline& made, const RuleNames& names) {
    return Completer(rule, made, names).rule();
}

namespace {

using Kind = RuleNode::Kind;
/// The replacement of an index.
using Indices = std::map<std::string, RuleTree>;

void add_names(const RuleNode& node, std::set<std::string>& names) {
    if (node.kind == Kind::name) names.insert(node.word);
    if (node.kind == Kind::reduce) names.insert(node.index);
    for (const RuleTree& part : node.parts) add_names(*part, names);
}

class Inliner {
public:
    Inliner(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made)
        : made_(made), taken_(rule.indices.begin(), rule.indices.end()) {
        add_names(*rule.value, taken_);
    }

    RuleTree tree(const RuleNode& node, const Indices& indices) {
        if (node.kind == Kind::name) {
            const auto meant = indices.find(node.word);
            if (meant != indices.end()) return meant->second;
        }
        RuleNode copy = node;
        Indices inside = indices;
        if (node.kind == Kind::reduce && !indices.empty()) {
            copy.index = free_index(node.index);
            inside[node.index] = tree_of({.kind = Kind::name, .word = copy.index, .at = node.at});
        }
        for (std::size_t i = 0; i < copy.parts.size(); ++i) {
            const bool in_body = i + 1 == copy.parts.size();
            copy.parts[i] = tree(*node.parts[i], in_body ? inside : indices);
        }
        if (node.kind == Kind::cell) {
            if (const std::optional<Rule> rule = made_(node.word)) {
                Indices places;
                for (std::size_t i = 0; i < copy.parts.size(); ++i) {
                    places[rule->indices[i]] = copy.parts[i];
                }
                return tree(*rule->value, places);
            }
        }
        return tree_of(std::move(copy));
    }

private:
    std::string free_index(const std::string& index) {
        std::string name = index;
        for (int number = 2; !taken_.insert(name).second; ++number) {
            name = index + std::to_string(number);
        }
        return name;
    }

    const std::function<std::optional<Rule>(const std::string&)>& made_;
    std::set<std::string> taken_;
};

}  // namespace

Rule inlined(const Rule& rule, const std::function<std::optional<Rule>(const std::string&)>& made) {
    Rule whole = rule;
    whole.value = Inliner(rule, made).tree(*rule.value, {});
    return whole;
}

}  // namespace attn
