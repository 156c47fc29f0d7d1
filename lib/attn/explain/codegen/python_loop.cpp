#include <algorithm>
#include <utility>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/explain/codegen/python_writer.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;

/// Returns the variable of a loop, which is written as its name.
RuleTree variable(const std::string& name) {
    return tree_of({.kind = Kind::cell,
                    .word = name,
                    .type = RuleType::whole,
                    .outline = std::make_shared<const Outline>()});
}

/// True if an expression contains only the loop's variable and numbers.
bool is_of_loop(const RuleNode& node, const std::string& name) {
    if (node.kind == Kind::number) return true;
    if (node.kind == Kind::cell) return node.word == name && node.parts.empty();
    return node.kind != Kind::name && node.kind != Kind::reduce &&
           std::ranges::all_of(node.parts,
                               [&](const RuleTree& part) { return is_of_loop(*part, name); });
}

}  // namespace

std::string variable_name(const std::string& index) {
    return index.size() == 1 && index != "x" ? index : index + "_";
}

RuleTree Writer::at_place(const RuleTree& tree) {
    if (tree->kind == Kind::name && tree->word == loop_->index) return variable(loop_->index);
    RuleNode node = *tree;
    for (RuleTree& part : node.parts) part = at_place(part);
    if (node.kind != Kind::cell || node.parts.empty()) return tree_of(std::move(node));
    std::vector<std::string> places;
    std::vector<RuleTree> left;
    Outline outline;
    for (std::size_t axis = 0; axis < node.parts.size(); ++axis) {
        const bool is_one = node.parts[axis]->kind != Kind::number &&
                            is_of_loop(*node.parts[axis], loop_->index) &&
                            node.outline->shape[axis] > 1;
        places.emplace_back(":");
        if (is_one) {
            places.back() = written(*node.parts[axis], {}, true)->text;
            // The unused side of a `where` is evaluated, too.
            const std::size_t last = node.outline->shape[axis] - 1;
            const auto span = bounds_in_loop(*node.parts[axis], {});
            if (span && span->last > static_cast<double>(last)) {
                places.back() = "min(" + places.back() + ", " + std::to_string(last) + ")";
            }
            continue;
        }
        left.push_back(node.parts[axis]);
        outline.axes.push_back(node.outline->axes[axis]);
        outline.shape.push_back(node.outline->shape[axis]);
    }
    if (left.size() == node.parts.size()) return tree_of(std::move(node));
    node.word = python_name(node.word) + subscript(places);
    node.parts = std::move(left);
    node.outline = std::make_shared<const Outline>(std::move(outline));
    return tree_of(std::move(node));
}

std::string Writer::loop(const Rule& rule, const RuleOrder& order) {
    Frame frame;
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        frame.push_back({rule.indices[axis], static_cast<std::int64_t>(with_.result_shape[axis])});
    }
    const std::string whole = sizes_text(frame) + (frame.size() == 1 ? "," : "");
    loop_ = frame[order.axis];
    frame.erase(frame.begin() + static_cast<std::ptrdiff_t>(order.axis));
    const RuleTree value = at_place(rule.value);
    effort_ = exchanged;
    Written text = written(*value, frame);
    if (!text) {
        effort_ = by_lookup;
        text = written(*value, frame);
    }
    if (!text) throw ConfigError("Python has no line for this rule: " + rule_text(rule));
    const std::string last = std::to_string(loop_->length - 1);
    const std::string range = order.backwards ? last + ", -1, -1" : std::to_string(loop_->length);
    std::vector<std::string> places(rule.indices.size(), ":");
    places[order.axis] = variable_name(loop_->index);
    const bool is_typed = torch_ ? needs_type() : with_.type != "float64";
    const std::string result = python_name(rule.step), counter = places[order.axis];
    // Rows that later rows read are differentiated through a copy of the tensor at that time.
    const std::string rows = result + "_rows";
    const std::string kept = with_.records
                                 ? "\n    " + rows + "[" + counter + "] = " + result +
                                       ".requires_grad_()\n    " + result + ".retain_grad()"
                                 : "";
    const std::string begin =
        with_.records ? rows + " = [None] * " + std::to_string(loop_->length) + "\n" : "";
    return begin + result + " = " + module_ + "zeros((" + whole + ")" +
           (is_typed ? of_type() : "") + ")\nfor " + counter + " in range(" + range + "):\n" +
           (with_.records
                ? "    new_row = " + text->text + "\n    " + result + " = " + result + ".clone()\n"
                : "") +
           "    " + result + subscript(places) + " = " + (with_.records ? "new_row" : text->text) +
           kept;
}

Written Writer::choice_of_loop(const RuleNode& node, const Frame& frame, bool in_index,
                               bool fills) {
    if (!loop_) return std::nullopt;
    const bool turns = node.parts[0]->word == "not";
    const RuleTree& requested = turns ? node.parts[0]->parts[0] : node.parts[0];
    const Written condition = written(*requested, frame, in_index);
    const bool decides = condition && condition->is_number && !known_text(*condition);
    if (!decides) return std::nullopt;
    const auto side = [&](std::size_t i) {
        // A plain number cannot be summed over, or broadcast.
        return fills ? filling(*node.parts[i], frame, in_index)
                     : written(*node.parts[i], frame, in_index);
    };
    const Written yes = side(turns ? 2 : 1), no = side(turns ? 1 : 2);
    if (!yes || !no) return std::nullopt;
    const auto is_number = [](const Text& of) { return of.is_number || of.may_be_number; };
    return Text{"(" + yes->text + " if " + condition->text + " else " + no->text + ")",
                Binds::single, yes->along | no->along, false, is_number(*yes) || is_number(*no)};
}

std::optional<IndexSpan> Writer::bounds_in_loop(const RuleNode& node, const Frame& frame) const {
    if (!loop_) return bounds_of(node, frame);
    Frame with_loop = frame;
    with_loop.push_back(*loop_);
    const RuleTree tree = changed(tree_of(node), [&](const RuleNode& each) -> RuleTree {
        const bool is_it = each.kind == Kind::cell && is_of_loop(each, loop_->index);
        return is_it ? name_node(loop_->index) : nullptr;
    });
    return bounds_of(*tree, with_loop);
}

}  // namespace attn::python
