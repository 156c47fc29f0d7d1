#include "attn/explain/backward/graph.hpp"

#include <algorithm>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

bool compares(const RuleNode& node) {
    const char first = node.word.empty() ? ' ' : node.word.front();
    return node.kind == Kind::operate &&
           (first == '<' || first == '>' || first == '=' || first == '!');
}

/// Collects the tensors that a rule reads as numbers, not in indices or conditions.
void add_reads(const RuleNode& node, std::set<std::string>& names) {
    if (node.kind == Kind::cell) names.insert(node.word);
    if (node.kind == Kind::cell || compares(node)) return;
    const std::size_t first = node.kind == Kind::choose                             ? 1
                              : node.kind == Kind::reduce && node.parts.size() == 3 ? 2
                                                                                    : 0;
    for (std::size_t i = first; i < node.parts.size(); ++i) add_reads(*node.parts[i], names);
}

/// True if a step is an input of the walk that could have other numbers; a dropout mask cannot,
/// because it is random.
bool is_leaf(const Step& step, const DrawList& drawn) {
    const DrawnTensor* const row = find_drawn(drawn, step.name);
    if (row != nullptr && row->is_mask()) return false;
    return step.kind == Step::Kind::input || step.kind == Step::Kind::parameter || row != nullptr;
}

}  // namespace

BackwardGraph::BackwardGraph(const StepTable& table, const Plan& plan) {
    const DrawList drawn = draw_list(plan);
    std::set<std::string> depends;
    for (const Step& step : table) {
        if (!step.applies(plan) || !step.outline) continue;
        BackwardNode node{&step, step.outline(plan)};
        const auto is_learned_from = [&](const Input& input) {
            return input.step.empty() || depends.contains(input.step);
        };
        const bool is_input = find_drawn(drawn, step.name) != nullptr && !step.replaces_given;
        if (!is_input) node.rule = rule_of({plan, table, step});
        if (node.rule) {
            add_reads(*node.rule->value, node.reads);
            std::erase_if(node.reads, [&](const auto& name) { return !depends.contains(name); });
            if (!node.reads.empty()) depends.insert(step.name);
        } else if (!step.mistake.empty() &&
                   std::ranges::any_of(step.reads(plan), is_learned_from)) {
            throw ConfigError("gradients are derived from the rules of the steps, and " +
                              step.name +
                              " has none with this mistake: leave $backward out"_message);
        } else if (is_leaf(step, drawn)) {
            depends.insert(step.name);
        }
        places_[step.name] = nodes_.size();
        nodes_.push_back(std::move(node));
    }
    if (nodes_.empty()) throw ConfigError("a backward pass needs a loss, and this table is empty");
    nodes_.back().has_gradient = true;
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        if (!nodes_[i].has_gradient) continue;
        for (const std::string& name : nodes_[i].reads) {
            BackwardNode& read = nodes_[places_.at(name)];
            read.has_gradient = true;
            read.readers.push_back(nodes_[i].step->name);
        }
    }
}

const BackwardNode& BackwardGraph::operator[](const std::string& name) const {
    const auto place = places_.find(name);
    if (place == places_.end()) throw ConfigError("this walk has no step " + name);
    return nodes_[place->second];
}

bool BackwardGraph::has_gradient(const std::string& name) const {
    const auto place = places_.find(name);
    return place != places_.end() && nodes_[place->second].has_gradient;
}

std::vector<std::string> BackwardGraph::order() const {
    std::vector<std::string> order;
    std::set<std::string> done{nodes_.back().step->name};
    const auto is_ready = [&](const BackwardNode& node) {
        return node.has_gradient && !done.contains(node.step->name) &&
               std::ranges::all_of(node.readers,
                                   [&](const auto& reader) { return done.contains(reader); });
    };
    const auto add = [&](const BackwardNode& node) {
        order.push_back(node.step->name);
        done.insert(node.step->name);
        for (const std::string& name : node.reads) {
            const BackwardNode& read = (*this)[name];
            if (read.step->kind != Step::Kind::parameter || !is_ready(read)) continue;
            order.push_back(name);
            done.insert(name);
        }
    };
    // Keep pairs together: the weights and their values.
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        if (is_ready(nodes_[i])) add(nodes_[i]);
        if (!nodes_[i].rule) continue;
        for (const std::string& name : tensors_read(*nodes_[i].rule)) {
            if (!nodes_[i].reads.contains(name)) continue;
            const BackwardNode& read = (*this)[name];
            if (read.step->chain != Chain::none && is_ready(read)) add(read);
        }
    }
    return order;
}

std::vector<std::string> BackwardGraph::indices_of(const Outline& outline) {
    static const std::map<std::string, std::string> letters{
        {"in", "c"}, {"pair", "i"}, {"vocab", "v"}, {"bucket", "n"}, {"block", "j"}};
    std::vector<std::string> indices;
    for (const std::string& axis : outline.axes) {
        const auto known = letters.find(axis);
        std::string letter = known == letters.end() ? axis.substr(0, 1) : known->second;
        while (std::ranges::find(indices, letter) != indices.end()) letter += letter.front();
        indices.push_back(letter);
    }
    return indices;
}

}  // namespace attn
