#include "attn/explain/backward/backward.hpp"

#include <algorithm>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/gradient.hpp"
#include "attn/explain/backward/graph.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/explain/notes/attention_rows.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

/// Appends the backward pass to a table that ends with the loss.
class Backward {
public:
    Backward(StepTable& table, const Plan& plan)
        : forward_(table), table_(table), plan_(plan), graph_(forward_, plan) {}

    void write() {
        const std::vector<std::string> order = graph_.order();
        table_.reserve(table_.size() + order.size() + 1);
        for (const std::string& name : order) {
            const bool inside = softmax_stands() && is_inside_softmax(name);
            if (!inside) add_gradient(name);
            if (name == "weights" && softmax_stands()) add_row_dot();
        }
        let_torch_backpropagate();
    }

private:
    static bool is_inside_softmax(const std::string& name) {
        return name == "row_max" || name == "exponentials" || name == "row_sum";
    }

    /// Uses PyTorch's autograd: the loss calls backward(), and each gradient is a tensor's .grad.
    /// With user rules a tensor may not need gradients, or the loss may not depend on it.
    void let_torch_backpropagate() {
        const bool is_sure = plan_.config.rules.empty() && plan_.config.attentions.empty();
        const DrawList drawn = draw_list(plan_);
        std::string tensors;
        for (Step& step : table_) {
            if (!step.name.starts_with("d_")) continue;
            const DrawnTensor* const row = find_drawn(drawn, step.gradient_of);
            const std::string tensor = python_name(step.gradient_of);
            tensors += (tensors.empty() ? "" : ", ") + tensor;
            std::string line = step.name + " = " + tensor + ".grad";
            if (!is_sure) {
                line = step.name + " = (torch.zeros_like(" + tensor + ") if " + tensor +
                       ".grad is None else " + tensor + ".grad)";
            }
            const std::optional<Rule> rule = graph_.has_gradient(step.gradient_of)
                                                 ? graph_[step.gradient_of].rule
                                                 : std::nullopt;
            const std::optional<RuleOrder> order = rule ? order_of(*rule) : std::nullopt;
            if (order) line = step.name + " = " + rows_gradient(tensor, *order);
            if (row != nullptr && row->zero_row) {
                line += ".index_fill(0, torch.tensor([" + std::to_string(*row->zero_row) +
                        "]), 0)  # Embedding learns nothing for padding";
            }
            step.code = [line](const StepLines& of) {
                return uses_autograd(of.table, of.language) ? line : card_lines(of);
            };
        }
        Step& loss = *std::ranges::find(table_, "loss", &Step::name);
        loss.code = [tensors, line = loss.code](const StepLines& of) {
            if (!uses_autograd(of.table, of.language)) return line(of);
            if (tensors.empty()) return line(of);
            return line(of) + "\nfor tensor in (" + tensors +
                   ",):\n    tensor.retain_grad()\nloss.backward()";
        };
    }

    /// Returns the gradient of a tensor that is computed row by row, from each row's version at
    /// that time: that version's .grad includes the later rows that read it.
    static std::string rows_gradient(const std::string& tensor, const RuleOrder& order) {
        const std::string axis = std::to_string(order.axis), rows = tensor + "_rows";
        return "(torch.zeros_like(" + tensor + ") if " + tensor +
               ".grad is None else torch.stack([each.grad.select(" + axis +
               ", place) for place, each in enumerate(" + rows + ")], dim=" + axis + "))";
    }

    /// True if softmax is the standard one, and no other step reads its intermediate tensors: then
    /// it is differentiated in one step, as is usual.
    bool softmax_stands() const {
        if (!graph_.has_gradient("weights")) return false;
        for (const char* name : {"row_max", "exponentials", "row_sum", "weights"}) {
            const auto step = std::ranges::find(forward_, name, &Step::name);
            const bool stands = step != forward_.end() && step->applies(plan_) &&
                                step->mistake.empty() && !step->of_user();
            if (!stands) return false;
        }
        return std::ranges::all_of(graph_.nodes(), [](const BackwardNode& node) {
            const std::string& name = node.step->name;
            return name == "weights" || name == "sink_weight" || is_inside_softmax(name) ||
                   std::ranges::none_of(node.reads, is_inside_softmax);
        });
    }

    Outline outline(const std::string& name) const {
        return find_step(table_, name).outline(plan_);
    }

    /// Returns a cell of a tensor, with the given index letters.
    RuleTree cell(const std::string& name, const std::vector<std::string>& letters) const {
        std::vector<RuleTree> indices;
        for (const std::string& letter : letters) indices.push_back(name_node(letter));
        return cell_node(name, indices);
    }

    std::vector<std::string> letters(const std::string& name) const {
        return BackwardGraph::indices_of(outline(name));
    }

    void add_row_dot() {
        const std::vector<std::string> all = letters("weights");
        const std::vector<std::string> row = letters("row_max");
        RuleNode sum{.kind = RuleNode::Kind::reduce, .word = "sum"};
        for (const std::string& letter : all) {
            if (std::ranges::find(row, letter) == row.end()) sum.index = letter;
        }
        sum.parts = {operate_node("*", {cell("weights", all), cell("d_weights", all)})};
        RuleTree value = tree_of(std::move(sum));
        if (graph_.has_gradient("sink_weight")) {
            value = operate_node(
                "+",
                {value, operate_node("*", {cell("sink_weight", row), cell("d_sink_weight", row)})});
        }
        Step card;
        card.name = "row_dot";
        card.title = "the mean of d_weights in each row, by the weights";
        card.shown = false;
        card.outline = find_step(table_, "row_max").outline;
        add(std::move(card), row, value);
        table_.back().note = [](const notes::Subject&) -> std::string {
            return "Softmax subtracts this from each gradient of the row, because its weights "
                   "always sum to 1.";
        };
    }

    void add_gradient(const std::string& name) {
        const BackwardNode& node = graph_[name];
        const std::vector<std::string> indices = letters(name);
        std::vector<RuleTree> shares;
        if (softmax_stands() && softmax_reads(name)) {
            add_softmax_shares(name, indices, shares);
        }
        for (const std::string& reader : node.readers) {
            const bool inside =
                is_inside_softmax(reader) || reader == "weights" || reader == "sink_weight";
            if (softmax_stands() && inside && softmax_reads(name)) continue;
            const RuleTree tree = gradient_of(*graph_[reader].rule, name, indices,
                                              [&](const std::string& of) { return outline(of); });
            if (tree != nullptr) shares.push_back(tree);
        }
        if (node.rule) {
            // Earlier rows that the step itself reads.
            const RuleTree tree = gradient_of(*node.rule, name, indices,
                                              [&](const std::string& of) { return outline(of); });
            if (tree != nullptr) shares.push_back(tree);
        }
        // Integer division has no gradient.
        if (shares.empty()) shares.push_back(number_node(0));
        RuleTree all = shares.front();
        for (std::size_t i = 1; i < shares.size(); ++i) all = operate_node("+", {all, shares[i]});
        const DrawList drawn = draw_list(plan_);
        const DrawnTensor* const row = find_drawn(drawn, name);
        const bool has_zero = row != nullptr && row->zero_row.has_value();
        if (has_zero) {
            // PyTorch's Embedding has no gradient for padding.
            const double padding = static_cast<double>(*row->zero_row);
            const RuleTree is = operate_node("==", {name_node(indices[0]), number_node(padding)});
            all = choose_node(is, number_node(0), all);
        }
        Step card;
        card.name = "d_" + name;
        card.title = "the gradient of " + name;
        card.shown = node.step->kind != Step::Kind::detail;
        card.tokens = node.step->tokens;
        card.outline = node.step->outline;
        const bool is_softmax = softmax_stands() && name != "sink" && softmax_reads(name);
        if (is_softmax) card.rounds = [](const Plan&) { return RoundedAt::result; };
        std::string how = derivation_of(node);
        add(std::move(card), indices, all);
        table_.back().note = [is_softmax, how](const notes::Subject& subject) {
            return is_softmax ? notes::softmax_gradient_note(subject)
                              : notes::gradient_note(subject, how);
        };
    }

    /// Describes the origin of a gradient, before its numbers are known.
    std::string derivation_of(const BackwardNode& node) const {
        const std::string& name = node.step->name;
        const std::string& reader = node.readers.front();
        if (reader == "loss") return "The backward pass begins here.";
        if (find_drawn(draw_list(plan_), name) != nullptr && name.ends_with("embedding")) {
            return "A row gets the sum over all tokens that looked it up.";
        }
        if (node.step->kind == Step::Kind::parameter) {
            return "Summed over all tokens: training subtracts a small part of this gradient "
                   "from " +
                   name + ".";
        }
        if (node.readers.size() > 1) {
            std::string all;
            for (const std::string& each : node.readers) {
                all += (all.empty() ? "" : &each == &node.readers.back() ? " and " : ", ") + each;
            }
            return name + " is read by " + all + ": their gradients are added up.";
        }
        if (reader.starts_with("rotated_")) return "Rotated back, by the opposite angle.";
        if (reader.starts_with("repeated_")) return "The heads that share it are added up.";
        if (reader == "masked_scores") return "A hidden score has no effect: its gradient is 0.";
        return "The gradient flows back through " + reader + ".";
    }

    /// True if softmax reads this tensor.
    bool softmax_reads(const std::string& name) const {
        return name == "sink" || graph_["exponentials"].reads.contains(name);
    }

    void add_softmax_shares(const std::string& name, const std::vector<std::string>& indices,
                            std::vector<RuleTree>& shares) const {
        if (name != "sink") {
            const std::vector<std::string> all = letters("weights");
            const RuleTree more =
                operate_node("-", {cell("d_weights", all), cell("row_dot", letters("row_max"))});
            shares.push_back(operate_node("*", {cell("weights", all), more}));
            return;
        }
        // The sink is an additional key of every query, without a value.
        const std::vector<std::string> row = letters("sink_weight");
        RuleTree less = cell("row_dot", row);
        if (graph_.has_gradient("sink_weight")) {
            less = operate_node("-", {less, cell("d_sink_weight", row)});
        }
        RuleTree value = operate_node("*", {cell("sink_weight", row), less});
        const bool per_head = outline("sink_weight").axes.size() > 1 && indices[0] == "h" &&
                              std::ranges::find(row, "h") != row.end();
        for (auto letter = row.rbegin(); letter != row.rend(); ++letter) {
            if (per_head && *letter == "h") continue;
            value = tree_of({.kind = RuleNode::Kind::reduce,
                             .word = "sum",
                             .index = *letter,
                             .parts = {value}});
        }
        shares.push_back(operate_node("-", {value}));
    }

    void add(Step card, const std::vector<std::string>& indices, const RuleTree& value) {
        card.gradient_of = card.name.starts_with("d_") ? card.name.substr(2) : "weights";
        const Rule rule{"", card.name, indices, value};
        table_.push_back(std::move(card));
        Step& step = table_.back();
        follow_rule(step, {plan_, table_, step}, rule);
        step.replaces_given = false;
    }

    const StepTable forward_;  ///< including the loss
    StepTable& table_;
    const Plan& plan_;
    BackwardGraph graph_;
};

}  // namespace

StepTable with_gradients(StepTable table, const Plan& plan, const Loss& loss) {
    if (plan.fused()) {
        throw ConfigError(
            "the backward pass needs the weights, which fused does not store: choose another "
            "variant");
    }
    if (has_step(table, plan, "loss")) {
        throw ConfigError("this table already has gradients: give the one without them");
    }
    add_loss(table, plan, loss);
    Backward(table, plan).write();
    return table;
}

std::set<std::string> tensors_read_backward(const Plan& plan, const StepTable& table) {
    std::set<std::string> names;
    const StepTable back = with_gradients(table, plan, {Loss::Kind::sum});
    for (const Step& step : back) {
        if (step.gradient_of.empty()) continue;
        const std::optional<Rule> rule = rule_of({plan, back, step});
        const auto read = rule ? tensors_read(*rule) : std::vector<std::string>();
        names.insert(read.begin(), read.end());
    }
    return names;
}

}  // namespace attn
