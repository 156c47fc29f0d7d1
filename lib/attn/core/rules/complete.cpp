#include "attn/core/rules/complete.hpp"

#include <algorithm>

#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

bool is_complete(const RuleNode& node) {
    return node.outline != nullptr ||
           std::ranges::any_of(node.parts, [](const RuleTree& part) { return is_complete(*part); });
}

void add_axes(const RuleNode& node, const std::string& index, bool is_requested,
              std::vector<RuleAxis>& found) {
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
        const RuleNode& part = *node.parts[i];
        const bool is_read = node.kind == Kind::cell && node.outline != nullptr;
        if (is_read && part.kind == Kind::name && part.word == index) {
            found.push_back({&node, i, is_requested});
        }
        add_axes(part, index, is_requested || (node.kind == Kind::choose && i > 0), found);
    }
}

/// Returns `1 index leaves`, `2 indices leave`.
std::string counted(std::size_t count, const std::string& one, const std::string& more) {
    return std::to_string(count) + (count == 1 ? " index " + one : " indices " + more);
}

class Completer {
public:
    Completer(const Rule& rule, const Outline& result_outline, const RuleNames& names)
        : rule_(rule),
          outline_(result_outline),
          names_(names),
          scope_(rule.indices),
          is_new_(!is_complete(*rule.value)) {
        if (rule.indices.size() > result_outline.axes.size()) {
            refuse(0, rule.step + " has " + described(result_outline.axes, result_outline.shape) +
                          ": " + counted(rule.indices.size(), "is", "are") + " too many");
        }
        bound_ = rule.indices;
        add_indices(*rule.value);
        const std::size_t left_out = result_outline.axes.size() - rule.indices.size();
        for (std::size_t axis = 0; axis < left_out; ++axis) {
            first_.push_back(free_letter(result_outline.axes[axis]));
        }
        scope_.insert(scope_.begin(), first_.begin(), first_.end());
    }

    Rule rule() {
        Rule whole = rule_;
        whole.indices = scope_;
        whole.value = tree(rule_.value);
        for (std::size_t axis = 0; axis < scope_.size(); ++axis) {
            require_length(*whole.value, scope_[axis], outline_.shape[axis], rule_.step);
        }
        return whole;
    }

private:
    void add_indices(const RuleNode& node) {
        if (node.kind == Kind::reduce) bound_.push_back(node.index);
        for (const RuleTree& part : node.parts) add_indices(*part);
    }

    /// Returns a name for an axis, made of its first letter, that no index of the rule has.
    std::string free_letter(const std::string& axis) {
        std::string letters = axis.substr(0, 1);
        while (std::ranges::find(bound_, letters) != bound_.end()) letters += axis.front();
        bound_.push_back(letters);
        return letters;
    }

    bool is_bound(const std::string& name) const {
        return std::ranges::find(scope_, name) != scope_.end();
    }

    RuleTree tree(const RuleTree& tree, bool in_index = false) {
        RuleNode node = *tree;
        switch (node.kind) {
            case Kind::number:
                return tree;
            case Kind::name:
                return name(tree);
            case Kind::reduce:
                return reduction(std::move(node));
            case Kind::cell:
                return node.outline != nullptr ? tree : cell(std::move(node));
            default:
                break;
        }
        const bool inside = in_index && !(node.kind == Kind::call && node.word == "floor");
        if (inside && is_operation(node, "/")) node.word = "//";
        for (RuleTree& part : node.parts) part = this->tree(part, inside);
        require_types(node, inside);
        return tree_of(std::move(node));
    }

    /// Completes an index, or the end of a range.
    RuleTree index(const RuleTree& part) {
        RuleTree whole = tree(part, true);
        require_whole(*whole);
        return whole;
    }

    RuleTree name(const RuleTree& tree) {
        if (is_bound(tree->word)) return tree;
        const auto setting = names_.settings.find(tree->word);
        if (setting != names_.settings.end()) {
            RuleNode number = *setting_node(setting->second);
            number.at = tree->at;
            return tree_of(std::move(number));
        }
        refuse_name(*tree);
    }

    [[noreturn]] void refuse_name(const RuleNode& node) const {
        std::optional<Outline> tensor;
        try {
            tensor = names_.outline(names_.step(node.word));
        } catch (const Error&) {
            // It is not a tensor's name, either.
        }
        if (tensor) {
            refuse(node.at, node.word + " is a tensor, which has " +
                                described(tensor->axes, tensor->shape) +
                                ": write the indices of a cell, " + node.word + "[...]");
        }
        std::vector<std::string> known;
        for (const auto& [name, number] : names_.settings) known.push_back(name);
        const std::string meant = known_name_for(node.word, known);
        refuse(node.at, "nothing binds '" + node.word + "': it is not an index of " + rule_.step +
                            " nor of a sum around it" +
                            (known.empty() ? "" : ", and the settings are " + joined(known, " ")) +
                            (meant.empty() ? "" : "; did you mean " + meant + "?"));
    }

    // Types.

    void require_number(const RuleNode& node) const {
        if (gives_truth(node)) refuse(node.at, "expected a number, not a boolean");
    }
    void require_truth(const RuleNode& node) const {
        if (gives_truth(node)) return;
        refuse(node.at, "expected a boolean, such as k > q, not a number");
    }
    void require_types(const RuleNode& node, bool in_index) const {
        if (node.kind == Kind::choose) {
            require_truth(*node.parts[0]);
            if (gives_truth(*node.parts[1]) == gives_truth(*node.parts[2])) return;
            refuse(node.at, "one side of this if is a number, the other a boolean");
        }
        const RuleFunction& function = *find_rule_function(node.word, node.parts.size());
        for (const RuleTree& part : node.parts) {
            if (function.kind == RuleFunction::Kind::logic) {
                require_truth(*part);
            } else {
                require_number(*part);
            }
            const bool compares = function.kind == RuleFunction::Kind::comparison;
            if (compares && in_index) require_whole(*part);
        }
    }
    void require_whole(const RuleNode& node) const {
        require_number(node);
        if (is_integer(node)) return;
        for (const RuleTree& part : node.parts) {
            const bool is_sum = node.kind == Kind::reduce || node.kind == Kind::cell;
            if (!is_sum && part->type == RuleType::number) require_whole(*part);
        }
        if (node.kind == Kind::number) {
            refuse(node.at, "an index must be an integer below 1e15");
        }
        refuse(
            node.at,
            "an index is made of integers, + - * / %, floor, abs, min, max, sums of them, argmax "
            "and integer cells such as ids[t]");
    }

    // Sums.

    RuleTree reduction(RuleNode node) {
        if (is_bound(node.index)) {
            refuse(node.at, "the index " + node.index + " is in use here: choose another letter");
        }
        const bool has_range = node.parts.size() == 3;
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i)
            node.parts[i] = index(node.parts[i]);
        scope_.push_back(node.index);
        RuleTree body = tree(node.parts.back());
        scope_.pop_back();
        require_number(*body);
        if (!has_range) {
            const std::vector<RuleAxis> axes = axes_of(*body, node.index);
            if (axes.empty()) {
                refuse(node.at, "the range of " + node.index + " is unknown: no tensor has " +
                                    node.index + " alone as an index; give it, as in " + node.word +
                                    " " + node.index + " in 0..4: ...");
            }
            const auto known =
                std::ranges::find_if(axes, [](const RuleAxis& axis) { return axis.length() != 1; });
            const RuleAxis& first = known == axes.end() ? axes.front() : *known;
            require_length(*body, node.index, first.length(), first.cell->word);
            const auto end = static_cast<double>(first.length());
            node.parts = {number_node(0), number_node(end), nullptr};
        }
        const bool is_one = is_number(*node.parts[0], 0) && is_number(*node.parts[1], 1);
        node.parts.back() = is_one ? body : with_shared(body, node.index);
        return tree_of(std::move(node));
    }

    /// Broadcasts an axis of length 1 to all places of an index.
    RuleTree with_shared(const RuleTree& body, const std::string& index) const {
        const std::vector<RuleAxis> axes = axes_of(*body, index);
        if (std::ranges::none_of(axes, [](const RuleAxis& axis) { return axis.length() == 1; })) {
            return body;
        }
        RuleNode node = *body;
        for (std::size_t i = 0; i < node.parts.size(); ++i) {
            const bool is_it = node.kind == Kind::cell && node.word != rule_.step &&
                               node.parts[i]->kind == Kind::name && node.parts[i]->word == index &&
                               node.outline->shape[i] == 1;
            node.parts[i] = is_it ? zero(node.at) : with_shared(node.parts[i], index);
        }
        return tree_of(std::move(node));
    }

    /// One branch of an `if` may restrict the index to the axis.
    void require_length(const RuleNode& node, const std::string& index, std::size_t length,
                        const std::string& known_from) const {
        if (!is_new_) return;
        for (const RuleAxis& axis : axes_of(node, index)) {
            if (axis.is_requested || axis.length() == length || axis.length() == 1) continue;
            refuse(axis.cell->parts[axis.axis]->at,
                   index + " is " + std::to_string(length) + " in " + known_from + " and " +
                       std::to_string(axis.length()) + " in " + axis.cell->word +
                       (axis.length() > length
                            ? ": " + index + " + 0 reads its first " + std::to_string(length)
                            : ""));
        }
    }

    // Cells.

    RuleTree cell(RuleNode cell) {
        Outline outline;
        try {
            cell.word = names_.step(cell.word);
            outline = names_.outline(cell.word);
            cell.type = names_.type           ? names_.type(cell.word)
                        : cell.word == "mask" ? RuleType::truth
                                              : RuleType::number;
        } catch (const ConfigError& error) {
            refuse(cell.at, error.what());
        }
        if (cell.parts.size() > outline.axes.size()) {
            refuse(cell.at, cell.word + " has " + described(outline.axes, outline.shape) + ": " +
                                counted(cell.parts.size(), "is", "are") + " too many");
        }
        const std::size_t left_out = outline.axes.size() - cell.parts.size();
        for (std::size_t i = 0; i < cell.parts.size(); ++i) {
            cell.parts[i] = index(cell.parts[i]);
            // An axis of length 1 may be shared by all queries, as in a padding mask.
            const RuleNode& index = *cell.parts[i];
            if (index.kind == Kind::name && is_many(index.word) &&
                outline.shape[left_out + i] == 1) {
                cell.parts[i] = zero(cell.at);
            }
        }
        std::vector<RuleTree> first;
        for (std::size_t axis = 0; axis < left_out; ++axis) {
            first.push_back(shared_index(cell, outline, axis, left_out));
        }
        cell.parts.insert(cell.parts.begin(), first.begin(), first.end());
        cell.outline = std::make_shared<const Outline>(std::move(outline));
        return tree_of(std::move(cell));
    }

    /// True if an index of the result has more than one place.
    bool is_many(const std::string& index) const {
        const auto from_end = rule_.indices.end() - std::ranges::find(rule_.indices, index);
        return from_end != 0 && *(outline_.shape.end() - from_end) != 1;
    }

    /// Returns the index of the result's axis with that name.
    RuleTree shared_index(const RuleNode& cell, const Outline& outline, std::size_t axis,
                          std::size_t left_out) const {
        const std::string& name = outline.axes[axis];
        const std::size_t length = outline.shape[axis];
        for (std::size_t i = 0; i < first_.size(); ++i) {
            if (outline_.axes[i] != name) continue;
            if (length == outline_.shape[i]) {
                return tree_of({.kind = Kind::name, .word = first_[i], .at = cell.at});
            }
            if (length == 1) break;
            refuse(cell.at, "there are " + std::to_string(length) + " of axis " + name + " in " +
                                cell.word + " and " + std::to_string(outline_.shape[i]) + " in " +
                                rule_.step + ": write all indices, as in " + cell.word + "[" +
                                name.substr(0, 1) + " / 2, ...]");
        }
        if (length == 1) {
            return zero(cell.at);
        }
        refuse(cell.at, cell.word + " has " + described(outline.axes, outline.shape) + ": " +
                            counted(outline.axes.size() - left_out, "leaves ", "leave ") + name +
                            " open, which nothing binds");
    }

    static RuleTree zero(std::size_t at) { return tree_of({.kind = Kind::number, .at = at}); }

    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        refuse_rule(rule_, at, message);
    }

    const Rule& rule_;
    const Outline& outline_;
    const RuleNames& names_;
    std::vector<std::string> scope_;  ///< the enclosing indices
    std::vector<std::string> bound_;  ///< all indices in the rule
    std::vector<std::string> first_;  ///< indices of the axes that it omits
    bool is_new_;                     ///< no part of it is complete yet
};

}  // namespace

std::vector<RuleAxis> axes_of(const RuleNode& node, const std::string& index) {
    std::vector<RuleAxis> found;
    add_axes(node, index, false, found);
    return found;
}

std::optional<std::size_t> specified_length(const RuleNode& body, const std::string& index) {
    const std::vector<RuleAxis> axes = axes_of(body, index);
    const auto is_other = [&](const RuleAxis& axis) {
        return axis.length() != axes.front().length();
    };
    if (axes.empty() || std::ranges::any_of(axes, is_other)) return std::nullopt;
    return axes.front().length();
}

Rule completed(const Rule& rule, const Outline& result_outline, const RuleNames& names) {
    require_whole_rule(rule);
    if (!names.step || !names.outline) {
        throw ConfigError("a rule is completed by names of steps and their outlines");
    }
    if (result_outline.axes.size() != result_outline.shape.size()) {
        throw ShapeError(rule.step + " has " + std::to_string(result_outline.axes.size()) +
                         " axes and " + std::to_string(result_outline.shape.size()) + " lengths");
    }
    return Completer(rule, result_outline, names).rule();
}

}  // namespace attn
