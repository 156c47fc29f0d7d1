#include <algorithm>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using NodeKind = RuleNode::Kind;
using Letters = std::vector<std::string>;

/// Steps that become rows of one.
class Together {
public:
    Together(AttentionFile& file, const AttentionGroup& group) : file_(file), group_(group) {
        for (const std::string& name : group.names) {
            const auto step = std::ranges::find_if(file.steps, [&](const AttentionStep& each) {
                return each.rule.step == name && each.form == group.form;
            });
            if (step == file.steps.end()) {
                refuse("together names " + name + ", which is not a step of this form");
            }
            rules_.push_back(step->rule);
            const Letters& own = step->rule.indices;
            if (own.size() > letters_.size()) letters_ = own;
        }
        for (const Rule& rule : rules_) {
            if (std::equal(rule.indices.begin(), rule.indices.end(), letters_.begin())) continue;
            refuse(rule.step + "[" + joined(rule.indices, ",") + "] has other indices than [" +
                   joined(letters_, ",") + "]: use the same letters, or fewer at the end");
        }
    }

    void join() {
        const std::size_t axis = row_axis();
        for (std::size_t i = 0; i < rules_.size(); ++i) put_in_row(i, axis);
        AttentionStep all{joint(), group_.line, group_.form};
        all.is_detail = true;
        all.title = "rows of " + joined(group_.names, " and ") + ", made together";
        file_.axes.push_back({part_, number_node(static_cast<double>(rules_.size())), group_.line});
        for (AttentionStep& step : file_.steps) {
            const auto place = std::ranges::find(group_.names, step.rule.step);
            if (place == group_.names.end() || step.form != group_.form) continue;
            step.rule.value = row(static_cast<std::size_t>(place - group_.names.begin()),
                                  names_of(step.rule.indices));
            step.rule.text = rule_text(step.rule);
        }
        const auto first = std::ranges::find_if(file_.steps, [&](const AttentionStep& step) {
            return std::ranges::count(group_.names, step.rule.step) > 0 && step.form == group_.form;
        });
        file_.steps.insert(first, std::move(all));
    }

private:
    [[noreturn]] void refuse(const std::string& why) const { file_.refuse(group_.line, why); }

    static std::vector<RuleTree> names_of(const Letters& letters) {
        std::vector<RuleTree> names;
        for (const std::string& each : letters) names.push_back(name_node(each));
        return names;
    }

    /// Returns the place of a step in the group; the number of steps for any other.
    std::size_t place_of(const RuleNode& node) const {
        const bool is_read = node.kind == NodeKind::cell;
        const auto found =
            is_read ? std::ranges::find(group_.names, node.word) : group_.names.end();
        return static_cast<std::size_t>(found - group_.names.begin());
    }

    template <class Use>
    void each_cell(const RuleNode& node, Use use) const {
        if (place_of(node) < rules_.size()) use(node);
        for (const RuleTree& part : node.parts) each_cell(*part, use);
    }

    bool is_same_row(const RuleNode& cell, std::size_t axis) const {
        const RuleNode& part = *cell.parts[axis];
        return part.kind == NodeKind::name && part.word == letters_[axis];
    }

    /// Returns the axis along which rows are computed: all cells are in other rows, or in earlier
    /// steps.
    std::size_t row_axis() const {
        for (std::size_t axis = 0; axis < letters_.size(); ++axis) {
            bool has_order = true, has_others = false;
            for (std::size_t i = 0; i < rules_.size(); ++i) {
                each_cell(*rules_[i].value, [&](const RuleNode& cell) {
                    const std::size_t read = place_of(cell);
                    const Letters& own = rules_[read].indices;
                    if (cell.parts.size() != own.size()) {
                        refuse("write all indices of " + cell.word + " in " + rules_[i].step +
                               ": " + cell.word + "[" + joined(own, ",") + "]");
                    }
                    if (axis >= own.size()) {
                        has_order = false;
                    } else if (is_same_row(cell, axis)) {
                        has_order = has_order && read < i;
                    } else {
                        has_others = true;
                    }
                });
            }
            if (has_order && has_others) return axis;
        }
        refuse(joined(group_.names, " and ") +
               " read each other in a circle: a step reads earlier rows, [t - 1], and of the same "
               "row the steps named before it");
    }

    /// Replaces the cells of the same row by the rules of their steps.
    void put_in_row(std::size_t i, std::size_t axis) {
        const std::string name_in_use = rule_text(rules_[i]) + " " + joined(letters_, " ");
        rules_[i].value = changed(rules_[i].value, [&](const RuleNode& node) -> RuleTree {
            const std::size_t read = place_of(node);
            if (read == rules_.size() || !is_same_row(node, axis)) return nullptr;
            const Definition rule{node.word, {}, rules_[read].indices, true, rules_[read].value};
            return file_.at(group_.line,
                            [&] { return expanded(rule, {}, node.parts, name_in_use, node.at); });
        });
    }

    RuleTree row(std::size_t place, std::vector<RuleTree> indices) const {
        indices.insert(indices.begin(), number_node(static_cast<double>(place)));
        indices.resize(letters_.size() + 1, number_node(0));
        return cell_node(name_, indices);
    }

    Rule joint() {
        name_ = joined(group_.names, "_");
        const auto is_axis = [&](const std::string& name) {
            return std::ranges::count(letters_, name) > 0 ||
                   std::ranges::count(file_.axes, name, &AttentionNumber::name) > 0;
        };
        while (is_axis(part_)) part_ += '_';
        RuleTree value;
        for (std::size_t i = rules_.size(); i-- > 0;) {
            const RuleTree own = changed(rules_[i].value, [&](const RuleNode& node) -> RuleTree {
                const std::size_t read = place_of(node);
                return read == rules_.size() ? nullptr : row(read, node.parts);
            });
            const RuleTree is_before =
                operate_node("<", {name_node(part_), number_node(static_cast<double>(i + 1))});
            value = value == nullptr ? own : choose_node(is_before, own, value);
        }
        Letters indices = letters_;
        indices.insert(indices.begin(), part_);
        const std::string text = rule_text(Rule("", name_, indices, value));
        return file_.at(group_.line, [&] { return parse_rule(text); });
    }

    AttentionFile& file_;
    const AttentionGroup& group_;
    std::vector<Rule> rules_;
    Letters letters_;  ///< of the step with the most
    std::string name_, part_ = "part";
};

}  // namespace

void join_together(AttentionFile& file, const AttentionGroup& group) {
    Together(file, group).join();
}

}  // namespace attn
