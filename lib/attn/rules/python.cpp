#include "attn/rules/print.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "attn/rules/nodes.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

std::size_t depth_of(const RuleNode& node) {
    std::size_t deepest = 0;
    for (const RuleTree& part : node.parts) deepest = std::max(deepest, depth_of(*part));
    return deepest + (node.kind == Kind::reduce ? 1 : 0);
}

bool is_plain_number(const RuleNode& node) {
    if (node.kind == Kind::cell || node.kind == Kind::reduce || node.kind == Kind::name)
        return false;
    return std::ranges::all_of(node.parts,
                               [&](const RuleTree& part) { return is_plain_number(*part); });
}

class Writer {
public:
    Writer(const Rule& rule, const RulePython& with)
        : rule_(rule),
          with_(with),
          module_(with.is_torch ? "torch" : "np"),
          keeps_(with.is_torch ? ", keepdim=True)" : ", keepdims=True)"),
          dimensions_(with.made.axes.size() + depth_of(*rule.value)) {
        for (std::size_t axis = 0; axis < with.made.axes.size(); ++axis) {
            const std::string& name = rule.indices[axis];
            const std::string count = std::to_string(with.made.shape[axis]);
            indices_.push_back({name, define(name, count, axis), count});
        }
    }

    std::string lines() {
        if (std::string line = without_indices(); !line.empty()) return line;
        const std::string value = written(*rule_.value, false);
        std::string grid;
        for (std::size_t axis = 0; axis < dimensions_; ++axis) {
            grid += (axis == 0 ? "" : ", ") +
                    std::to_string(axis < with_.made.shape.size() ? with_.made.shape[axis] : 1);
        }
        std::string shape;
        for (const std::size_t length : with_.made.shape) {
            shape += (shape.empty() ? "" : ", ") + std::to_string(length);
        }
        if (shape.empty()) return definitions_ + rule_.step + " = (" + value + ").reshape(())";
        const std::string whole = with_.is_torch
                                      ? "torch.as_tensor(" + value + ").expand(" + grid + ")"
                                      : "np.broadcast_to(" + value + ", (" + grid + ",))";
        const std::string type = with_.type.empty() ? ""
                                 : with_.is_torch   ? ".to(torch." + with_.type + ")"
                                                    : ".astype(np." + with_.type + ")";
        return definitions_ + rule_.step + " = " + whole + ".reshape(" + shape + ")" + type;
    }

private:
    struct Index {
        std::string name;
        std::string variable;
        std::string count{};  ///< how far it goes
    };

    /// `weights = exponentials / row_sum[..., None]`: a rule that reads every tensor at the place
    /// that it makes needs no indices. Empty where it does not.
    std::string without_indices() {
        if (is_plain_number(*rule_.value)) return {};
        fills_ = false;
        std::optional<std::string> value = plain(*rule_.value);
        if (!value) return {};
        value = without_brackets(*value);
        if (!fills_) {
            std::string shape;
            for (const std::size_t length : with_.made.shape)
                shape += std::to_string(length) + ", ";
            shape.resize(shape.size() - 2);
            value = with_.is_torch ? "(" + *value + ").expand(" + shape + ")"
                                   : "np.broadcast_to(" + *value + ", (" + shape + ",))";
        }
        return rule_.step + " = " + *value;
    }

    /// The text without a bracket around all of it.
    static std::string without_brackets(const std::string& text) {
        int open = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
            if (open == 0) return i > 0 && i + 1 == text.size() ? text.substr(1, i - 1) : text;
        }
        return text;
    }

    std::optional<std::string> plain(const RuleNode& node) {
        if (is_plain_number(node)) return constant(node);
        if (node.kind == Kind::cell) return plain_cell(node);
        if (node.kind == Kind::name || node.kind == Kind::reduce) return std::nullopt;
        std::vector<std::string> parts;
        for (const RuleTree& part : node.parts) {
            std::optional<std::string> text = plain(*part);
            if (!text) return std::nullopt;
            parts.push_back(*std::move(text));
        }
        if (node.kind == Kind::choose) {
            for (std::size_t i = 1; i < 3; ++i) {
                const bool whole = parts[i].find_first_not_of("-0123456789") == parts[i].npos;
                if (whole) parts[i] += ".0";  // of the type of the other side
            }
            return module_ + ".where(" + parts[0] + ", " + parts[1] + ", " + parts[2] + ")";
        }
        if (node.kind == Kind::call) return plain_call(node.word, parts);
        if (parts.size() == 1) return (node.word == "not" ? "~" : "-") + parts[0];
        return "(" + parts[0] + " " + operator_of(node.word, false) + " " + parts[1] + ")";
    }

    std::optional<std::string> plain_call(const std::string& word,
                                          const std::vector<std::string>& parts) const {
        if (parts.size() > 1 || word == "relu" || (word == "sigmoid" && !with_.is_torch)) {
            return std::nullopt;
        }
        if (word == "half") return rounded(parts[0]);
        return module_ + "." + word + "(" + without_brackets(parts[0]) + ")";
    }

    /// To a 16-bit float, and back to the type of the walk.
    std::string rounded(const std::string& text) const {
        return text + (with_.is_torch ? ".half().to(torch." : ".astype(np.float16).astype(np.") +
               with_.type + ")";
    }

    /// Numbers alone: `math.sqrt(4)`.
    std::optional<std::string> constant(const RuleNode& node) const {
        if (node.kind == Kind::number) {
            if (std::isinf(node.number))
                return node.number < 0 ? "-float(\"inf\")" : "float(\"inf\")";
            return std::isnan(node.number) ? "float(\"nan\")" : fmt::format("{}", node.number);
        }
        if (node.kind == Kind::choose) return std::nullopt;
        std::vector<std::string> parts;
        for (const RuleTree& part : node.parts) {
            std::optional<std::string> text = constant(*part);
            if (!text) return std::nullopt;
            parts.push_back(*std::move(text));
        }
        if (node.kind == Kind::call) {
            if (node.word != "sqrt" && node.word != "exp" && node.word != "log")
                return std::nullopt;
            return "math." + node.word + "(" + without_brackets(parts[0]) + ")";
        }
        if (parts.size() == 1) {
            return node.word == "not" ? std::nullopt : std::optional("-" + parts[0]);
        }
        return "(" + parts[0] + " " + operator_of(node.word, false) + " " + parts[1] + ")";
    }

    /// A tensor by its name, with further dimensions where it lacks some.
    std::optional<std::string> plain_cell(const RuleNode& node) {
        const Outline outline = with_.outline(node.word);
        std::size_t left = node.parts.size();
        std::string places;
        bool lacks = false;
        for (std::size_t axis = rule_.indices.size(); axis-- > 0 && left > 0;) {
            const RuleNode& part = *node.parts[left - 1];
            const bool own = part.kind == Kind::name && part.word == rule_.indices[axis] &&
                             outline.shape[left - 1] == with_.made.shape[axis];
            const bool one =
                part.kind == Kind::number && part.number == 0 && outline.shape[left - 1] == 1;
            lacks = lacks || !(own || one);
            places = (own || one ? ":" : "None") + std::string(places.empty() ? "" : ", ") + places;
            if (own || one) --left;
        }
        if (left > 0) return std::nullopt;
        fills_ = fills_ || outline.shape == with_.made.shape;
        if (!lacks) return node.word;
        if (places.starts_with(":, :, N")) places = "..." + places.substr(4);
        return node.word + "[" + places + "]";
    }

    /// Writes the line of an index that counts along a dimension of its own.
    std::string define(const std::string& name, const std::string& count, std::size_t dimension) {
        std::string variable = "at_" + name;
        while (definitions_.find(variable + " =") != std::string::npos) variable += "_";
        std::string shape = "-1";
        for (std::size_t i = dimension + 1; i < dimensions_; ++i) shape += ", 1";
        definitions_ +=
            variable + " = " + module_ + ".arange(" + count + ").reshape(" + shape + ")\n";
        return variable;
    }

    const Index& index(const std::string& name) const {
        return *std::find_if(indices_.rbegin(), indices_.rend(),
                             [&](const Index& each) { return each.name == name; });
    }

    /// An expression in brackets where it needs them; `whole`: in an index.
    std::string written(const RuleNode& node, bool whole) {
        switch (node.kind) {
            case Kind::number:
                return number(node.number, whole);
            case Kind::name:
                return index(node.word).variable;
            case Kind::cell:
                return cell(node);
            case Kind::call:
                return call(node, whole);
            case Kind::operate:
                return operation(node, whole);
            case Kind::choose:
                return module_ + ".where(" + written(*node.parts[0], whole) + ", " +
                       written(*node.parts[1], whole) + ", " + written(*node.parts[2], whole) + ")";
            case Kind::reduce:
                return reduction(node);
        }
        return {};
    }

    static std::string number(double value, bool whole) {
        if (std::isnan(value)) return "float(\"nan\")";
        if (std::isinf(value)) return "float(\"inf\")";
        const bool integral = value == std::floor(value) && std::abs(value) < 1e15;
        return integral ? fmt::format("{:.0f}{}", value, whole ? "" : ".0")
                        : fmt::format("{}", value);
    }

    std::string cell(const RuleNode& node) {
        const Outline outline = with_.outline(node.word);
        std::string places;
        for (std::size_t axis = 0; axis < outline.axes.size(); ++axis) {
            const RuleNode& part = *node.parts[axis];
            const std::string length = std::to_string(outline.shape[axis]);
            const bool plain = part.kind == Kind::number ||
                               (part.kind == Kind::name && index(part.word).count == length);
            std::string place = outline.shape[axis] == 1 ? "0" : written(part, true);
            // A side of `where` that is not taken may lie outside.
            if (!plain && place != "0") {
                place = "(" + place + ").clip(0, " + std::to_string(outline.shape[axis] - 1) + ")";
            }
            places += (places.empty() ? "" : ", ") + place;
        }
        return node.word + "[" + places + "]";
    }

    std::string call(const RuleNode& node, bool whole) {
        const auto part = [&](std::size_t i) {
            const std::string text = written(*node.parts[i], whole);
            const bool wraps = with_.is_torch && is_plain_number(*node.parts[i]);
            return wraps ? "torch.as_tensor(" + text + ")" : text;
        };
        if (node.word == "max") return module_ + ".maximum(" + part(0) + ", " + part(1) + ")";
        if (node.word == "min") return module_ + ".minimum(" + part(0) + ", " + part(1) + ")";
        if (node.word == "relu") {
            return with_.is_torch ? "torch.relu(" + part(0) + ")"
                                  : "np.maximum(" + part(0) + ", 0)";
        }
        if (node.word == "half") return rounded("(" + part(0) + ")");
        if (node.word == "sigmoid" && !with_.is_torch) return "1 / (1 + np.exp(-" + part(0) + "))";
        if (node.word == "floor" && whole) {
            // Of a number, whose division does not round down.
            whole = false;
            return module_ + ".floor(" + part(0) + ")" +
                   (with_.is_torch ? ".long()" : ".astype(np.int64)");
        }
        return module_ + "." + node.word + "(" + part(0) + ")";
    }

    std::string operation(const RuleNode& node, bool whole) {
        const std::string& word = node.word;
        const std::string left = written(*node.parts[0], whole);
        if (node.parts.size() == 1) return (word == "not" ? "~(" : "-(") + left + ")";
        return "(" + left + " " + operator_of(word, whole) + " " + written(*node.parts[1], whole) +
               ")";
    }

    static std::string operator_of(const std::string& word, bool whole) {
        if (word == "and") return "&";
        if (word == "or") return "|";
        if (word == "^") return "**";
        return word == "/" && whole ? "//" : word;
    }

    std::string reduction(const RuleNode& node) {
        const std::size_t dimension = indices_.size();
        const RuleNode& body = *node.parts.back();
        std::string count;
        std::string first;
        std::string end;
        if (node.parts.size() == 3) {
            first = written(*node.parts[0], true);
            end = written(*node.parts[1], true);
            count = "int(" + module_ + (with_.is_torch ? ".as_tensor(" : ".asarray(") + end +
                    ").max())";
        } else {
            count = std::to_string(length_of(body, node.index));
        }
        const std::string variable = define(node.index, count, dimension);
        indices_.push_back({node.index, variable, count});
        std::string value = written(body, false);
        indices_.pop_back();
        if (!holds_index(body, node.index)) value = "(" + value + " + 0 * " + variable + ")";
        const bool adds = node.word == "sum";
        // Counted from the end, where every index has its place whatever stands before it.
        const std::string axis = "-" + std::to_string(dimensions_ - dimension) + keeps_;
        if (!first.empty()) {
            const std::string within =
                "((" + variable + " >= " + first + ") & (" + variable + " < " + end + "))";
            if (node.word == "mean") {
                return "(" + module_ + ".where(" + within + ", " + value + ", 0.0).sum(" + axis +
                       " / (" + within + ").sum(" + axis + ")";
            }
            value = module_ + ".where(" + within + ", " + value + ", " +
                    (adds                 ? "0.0"
                     : node.word == "max" ? "-float(\"inf\")"
                                          : "float(\"inf\")") +
                    ")";
        }
        const std::string method =
            adds || node.word == "mean" ? node.word : (with_.is_torch ? "a" : "") + node.word;
        return "(" + value + ")." + method + "(" + axis;
    }

    /// The length of the first axis that an index goes over by itself.
    std::size_t length_of(const RuleNode& node, const std::string& index) const {
        if (node.kind == Kind::cell) {
            const Outline outline = with_.outline(node.word);
            for (std::size_t i = 0; i < node.parts.size(); ++i) {
                const RuleNode& part = *node.parts[i];
                if (part.kind == Kind::name && part.word == index) return outline.shape[i];
            }
        }
        for (const RuleTree& part : node.parts) {
            if (const std::size_t length = length_of(*part, index)) return length;
        }
        return 0;
    }

    const Rule& rule_;
    const RulePython& with_;
    std::string module_;
    std::string keeps_;
    std::size_t dimensions_;  ///< of the result, and one for each sum within a sum
    std::string definitions_{};
    bool fills_ = false;  ///< whether a tensor of the result's shape is read
    std::vector<Index> indices_{};
};

}  // namespace

std::string rule_python(const Rule& rule, const RulePython& with) {
    return Writer(rule, with).lines();
}

}  // namespace attn
