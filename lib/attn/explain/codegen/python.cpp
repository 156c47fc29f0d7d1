#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/products.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/explain/codegen/python_writer.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::python {
namespace {

using Kind = RuleNode::Kind;
using Whole = std::int64_t;

/// True if gradients flow through an expression.
bool reads_numbers(const RuleNode& node) {
    if (node.kind == Kind::cell) return node.type == RuleType::number;
    return std::ranges::any_of(node.parts,
                               [](const RuleTree& part) { return reads_numbers(*part); });
}

}  // namespace

std::string Writer::line(const Rule& rule) {
    require_whole_rule(rule);
    if (rule.indices.size() != with_.result_shape.size()) {
        throw ConfigError(rule.step + " has " + std::to_string(with_.result_shape.size()) +
                          " axes, not " + std::to_string(rule.indices.size()));
    }
    if (const std::optional<RuleOrder> order = order_of(rule)) return loop(rule, *order);
    Frame frame;
    for (std::size_t axis = 0; axis < rule.indices.size(); ++axis) {
        frame.push_back({rule.indices[axis], static_cast<Whole>(with_.result_shape[axis])});
    }
    is_truth_ = gives_truth(*rule.value);
    is_loose_ = with_.type == "int64";
    effort_ = exchanged;
    Written text = filling(*rule.value, frame);
    if (!text) {
        effort_ = by_lookup;
        text = filling(*rule.value, frame);
    }
    if (!text) throw ConfigError("Python has no line for this rule: " + rule_text(rule));
    if (is_loose_ && !is_truth_) text->text = text->in_parentheses() + typed();
    if (torch_ && frame.empty() && text->is_number) text = array_of(*text);  // may need a gradient
    return python_name(rule.step) + " = " + text->text;
}

Written Writer::filling(const RuleNode& node, const Frame& frame, bool in_index) {
    fills_ = node.kind == Kind::choose;
    Written text = written(node, frame, in_index);
    fills_ = false;
    if (!text) return text;
    const bool is_unsure = text->may_be_number && !text->is_number;
    if (text->along == all_of(frame) && !is_unsure) return text;
    std::vector<std::string> missing;  // leading dimensions of the array
    bool only_ones = true;
    for (std::size_t place = 0; place < frame.size(); ++place) {
        const bool has = (text->along & bit(place)) != 0;
        only_ones = only_ones && (has || frame[place].length == 1);
        if (text->along >> place << place == text->along && !has) missing.emplace_back("None");
    }
    const std::string shape = "(" + sizes_text(frame) + (frame.size() == 1 ? ",)" : ")");
    if (text->is_number) {
        const bool is_typed = needs_type() && !in_index && node.type != RuleType::truth;
        is_loose_ = is_loose_ || !(in_index || needs_type());
        text->text =
            module_ + "full(" + shape + ", " + text->text + (is_typed ? of_type() : "") + ")";
    } else if (only_ones && text->along != 0 && !is_unsure) {
        text->text = text->in_parentheses() + subscript(missing);
    } else {
        if (torch_ && is_unsure) text = Text{"torch.as_tensor(" + text->text + of_type() + ")"};
        text->text = torch_ ? text->in_parentheses() + ".expand" + shape
                            : "np.broadcast_to(" + text->text + ", " + shape + ")";
    }
    return Text{text->text, Binds::single, all_of(frame)};
}

Written Writer::written(const RuleNode& node, const Frame& frame, bool in_index) {
    if (Written number = constant(node)) return number;
    if (node.type == RuleType::truth) {
        const std::optional<IndexSpan> span = bounds_of(node, frame);
        const bool is_known = span && span->first == span->last;
        if (is_known) return Text{span->first != 0 ? "True" : "False", Binds::single, 0, true};
    }
    if (Written count = counted(node, frame, in_index)) return count;
    const bool needed_type = std::exchange(needs_type_, needs_type_ || distinguishes_cells(node));
    Written line = by_kind(node, frame, in_index);
    needs_type_ = needed_type;
    return line;
}

Written Writer::by_kind(const RuleNode& node, const Frame& frame, bool in_index) {
    switch (node.kind) {
        case Kind::cell:
            return cell(node, frame, in_index);
        case Kind::reduce: {
            Written line = reduction(node, frame);
            const bool counts = line && node.word == "argmax" && has_type(in_index);
            if (line && in_index && node.word != "argmax" && !line->is_number) {
                const char* const whole = torch_ ? ".long()" : ".astype(np.int64)";
                return Text{line->in_parentheses() + whole, Binds::single, line->along};
            }
            return counts ? Text{line->in_parentheses() + typed(), Binds::single, line->along}
                          : line;
        }
        case Kind::choose:
            return choice(node, frame, in_index);
        case Kind::call:
            return call(node, frame, in_index);
        case Kind::operate:
            return operation(node, frame, in_index);
        default:
            throw ConfigError("nothing binds '" + node.word + "' in a rule for Python");
    }
}

Written Writer::cell(const RuleNode& node, const Frame& frame, bool in_index) {
    if (node.outline == nullptr || node.outline->shape.size() != node.parts.size()) {
        throw ConfigError("a rule for Python needs all indices of " + node.word);
    }
    if (loop_ && node.parts.empty() && node.word == loop_->index) {
        return Text{variable_name(node.word), Binds::single, 0, true};
    }
    Written array = cell_array(node, node.outline->shape, frame,
                               {effort_, torch_, [&](const RuleNode& part, const Frame& own) {
                                    const auto requested = std::exchange(requested_, {});
                                    Written index = written(part, own, true);
                                    requested_ = requested;
                                    return index;
                                }});
    const bool counts = node.type == RuleType::whole && with_.type != "int64";
    if (!array || !counts || !has_type(in_index)) return array;
    return Text{array->in_parentheses() + typed(), Binds::single, array->along};
}

std::optional<Writer::Texts> Writer::parts_of(const RuleNode& node, const Frame& frame,
                                              bool in_index) {
    Texts parts;
    for (const RuleTree& each : node.parts) {
        const Written part = written(*each, frame, in_index);
        if (!part) return std::nullopt;
        parts.push_back(*part);
    }
    return parts;
}

Written Writer::operation(const RuleNode& node, const Frame& frame, bool in_index) {
    const bool is_floor = node.word == "//" && reads_numbers(node);
    if (with_.records && (is_floor || (node.word == "%" && reads_numbers(*node.parts[1])))) {
        // PyTorch's floor_divide and remainder have no gradients here.
        const RuleTree times = call_node("floor", {operate_node("/", node.parts)});
        if (is_floor) return call(*times, frame, in_index);
        return operation(
            *operate_node("-", {node.parts[0], operate_node("*", {times, node.parts[1]})}), frame,
            in_index);
    }
    std::optional<Texts> parts = parts_of(node, frame, in_index);
    if (!parts) return std::nullopt;
    const bool is_and = node.word == "and";
    for (std::size_t i = 0; i < 2 && (is_and || node.word == "or"); ++i) {
        const Text& part = (*parts)[i];
        if (part.is_number && known_text(part))
            return (part.text == "True") == is_and ? (*parts)[1 - i] : part;
    }
    const bool raises = node.word == "^";
    if (node.word == "/" || raises) {
        const std::size_t place = raises ? 0 : 1;
        Text& part = (*parts)[place];
        if (!guard(part, *node.parts[place], frame)) return std::nullopt;
        const bool is_whole = part.text.find_first_not_of("0123456789") == part.text.npos;
        if (raises && is_whole && !has_type(in_index)) part.text += ".0";
    }
    return operated(node, *parts);
}

bool Writer::guard(Text& part, const RuleNode& node, const Frame& frame) {
    const std::optional<IndexSpan> span = bounds_of(node, frame);
    if (requested_.empty() || (span && (span->first > 0 || span->last < 0))) return true;
    RuleTree all = requested_.front();
    for (std::size_t i = 1; i < requested_.size(); ++i)
        all = operate_node("and", {all, requested_[i]});
    const std::vector<RuleTree> requested = std::exchange(requested_, {});
    const Written holds = written(*all, frame);
    requested_ = requested;
    if (!holds || holds->is_number) return holds.has_value();
    part = Text{"torch.where(" + holds->text + ", " + part.text + ", 1.0)", Binds::single,
                part.along | holds->along};
    return true;
}

Written Writer::counted(const RuleNode& node, const Frame& frame, bool in_index) const {
    if (node.type != RuleType::whole) return std::nullopt;
    const std::optional<Affine> counts = affine(node, frame);
    const bool counts_one = counts && counts->terms.size() == 1;
    if (!counts_one || counts->terms[0].stride == 0) return std::nullopt;
    const auto& [index, stride, length] = counts->terms[0];
    std::string range = std::to_string(counts->first + stride * length);
    if (counts->first != 0 || stride != 1) range = std::to_string(counts->first) + ", " + range;
    if (stride != 1) range += ", " + std::to_string(stride);
    return laid(module_ + "arange(" + range + (has_type(in_index) ? of_type() : "") + ")", frame,
                bit(place_of(frame, index)));
}

Written Writer::call(const RuleNode& node, const Frame& frame, bool in_index) {
    const std::string& word = node.word;
    std::optional<Texts> parts = parts_of(node, frame, in_index && word != "floor");
    if (!parts) return std::nullopt;
    for (Text& part : *parts) {
        if (torch_ && part.may_be_number && !part.is_number) {
            part =
                Text{"torch.as_tensor(" + part.text + of_type() + ")", Binds::single, part.along};
        }
    }
    Text& first = parts->front();
    const bool is_bare = word == "log" || word == "sqrt";
    if (is_bare && !guard(first, *node.parts[0], frame)) return std::nullopt;
    const RuleFunction& function = *find_rule_function(word, parts->size());
    const char* const name = torch_ ? function.torch : function.numpy;
    const std::string_view specified = name == nullptr ? "" : name;
    Text result{std::string(specified) + "(" + first.text + ")", Binds::single, first.along};
    if (specified.find("{}") != specified.npos) {
        result.text = filled(specified, {{"", first.in_parentheses()}});
        if (!specified.starts_with("np.") && !specified.starts_with("torch."))
            result.binds = Binds::multiplied;
    }
    if (parts->size() == 2) {
        const Text& second = parts->back();
        const bool turned = first.is_number;
        result.along |= second.along;
        result.text = torch_ && (turned || second.is_number)
                          ? (turned ? second : first).in_parentheses() +
                                (word == "max" ? ".clamp(min=" : ".clamp(max=") +
                                (turned ? first : second).text + ")"
                          : std::string(specified) + "(" + first.text + ", " + second.text + ")";
    } else if (word == "half") {
        result.text = halved(first);
        result.binds = with_.records ? Binds::added : Binds::single;
    } else if (word == "floor" && in_index) {
        result.text += torch_ ? ".long()" : ".astype(np.int64)";
    }
    return result;
}

std::string Writer::halved(const Text& x) const {
    const std::string half =
        x.in_parentheses() + (torch_ ? ".half()" : ".astype(np.float16)") + typed();
    if (!with_.records) return half;
    const std::string infinite = ".nan_to_num(0, float(\"inf\"), -float(\"inf\"))";
    return x.in_parentheses(Binds::added) + " + (" + half + " - " +
           x.in_parentheses(Binds::multiplied) + ").detach()" + infinite;
}

Written Writer::choice(const RuleNode& node, const Frame& frame, bool in_index) {
    const bool fills = std::exchange(fills_, false) || sums_ > 0;
    if (Written side = choice_of_loop(node, frame, in_index, fills)) return side;
    if (Written pieces = in_pieces(node, frame, in_index)) return pieces;
    const Written condition = written(*node.parts[0], frame, in_index);
    if (condition && condition->is_number) {
        const std::optional<bool> known = known_truth(*node.parts[0]);
        // The loop variable decides, and one of the sides has no line.
        if (!known && !known_text(*condition)) return std::nullopt;
        const RuleNode& side = *node.parts[known.value_or(condition->text == "True") ? 1 : 2];
        const Written side_text = written(side, frame, in_index);
        return side_text && side_text->is_number && !in_index ? array_of(*side_text) : side_text;
    }
    const Written yes = asking(node.parts[0], *node.parts[1], frame, in_index);
    const Written no =
        asking(operate_node("not", {node.parts[0]}), *node.parts[2], frame, in_index);
    if (!condition || !yes || !no) return std::nullopt;
    const bool are_numbers = yes->is_number && no->is_number && !in_index;
    is_loose_ = is_loose_ || (are_numbers && !needs_type());
    Texts sides{*yes, *no};
    for (Text& side : sides) {
        const bool is_whole = side.text.find_first_not_of("-0123456789") == side.text.npos;
        if (is_whole && !in_index) side.text += ".0";  // in the type of the other side
    }
    if (are_numbers && needs_type()) {
        sides[0].text = "torch.tensor(" + sides[0].text + of_type() + ")";
    }
    return Text{
        module_ + "where(" + condition->text + ", " + sides[0].text + ", " + sides[1].text + ")",
        Binds::single, condition->along | yes->along | no->along};
}

Written Writer::asking(const RuleTree& condition, const RuleNode& side, const Frame& frame,
                       bool in_index) {
    if (!with_.records) return written(side, frame, in_index);
    requested_.push_back(condition);
    Written text = written(side, frame, in_index);
    requested_.pop_back();
    return text;
}

Written Writer::in_pieces(const RuleNode& node, const Frame& frame, bool in_index) {
    const RuleNode& where = *node.parts[0];
    const bool compares = is_operation(where, "<") && where.parts[0]->kind == Kind::name &&
                          whole_number(*where.parts[1]);
    if (!compares || !requested_.empty()) return std::nullopt;
    const std::string& index = where.parts[0]->word;
    const std::size_t place = place_of(frame, index);
    const Whole first = *whole_number(*where.parts[1]);
    if (place == frame.size() || first <= 0 || first >= frame[place].length) return {};
    Frame front = frame;
    front[place].length = first;
    Frame after = frame;
    after[place].length -= first;
    const RuleTree later = changed(node.parts[2], [&](const RuleNode& each) -> RuleTree {
        if (each.kind != Kind::name || each.word != index) return nullptr;
        return operate_node("+", {name_node(index), number_node(where.parts[1]->number)});
    });
    const Written one = filling(*node.parts[1], front, in_index);
    const Written other = filling(*later, after, in_index);
    if (!one || !other) return std::nullopt;
    return Text{(torch_ ? "torch.cat((" : "np.concatenate((") + one->text + ", " + other->text +
                    dimension(torch_ ? "), dim=" : "), axis=", place, frame.size()) + ")",
                Binds::single, all_of(frame)};
}

}  // namespace attn::python

namespace attn {

std::string python_name(const std::string& name) {
    static const std::set<std::string_view> side_text{
        // Python's keywords, which cannot be names,
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
        // and names that programs use, or assign to.
        "bool", "float", "getattr", "min", "print", "range", "F", "math", "np", "os", "sys",
        "torch", "attention", "bound", "causal", "chunk", "dilated", "documents", "first",
        "generator", "head", "hidden", "linear", "matmul", "new_row", "padding", "prefix", "second",
        "tensor", "time", "window"};
    const std::string_view stem(name.data(), name.find_last_not_of('_') + 1);
    return (name.size() == 1 && name != "x") || side_text.contains(stem) ? name + "_" : name;
}

std::string rule_python(const Rule& rule, const RulePython& with) {
    return python::Writer(with).line(rule);
}

}  // namespace attn
