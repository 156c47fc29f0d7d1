#include "attn/core/rules/print.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// Operator precedence, lowest first, as in the parser.
enum Rank { open, either, both, negated, compared, added, multiplied, signed_, raised, single };

Rank rank_of(const RuleNode& node) {
    if (node.kind == Kind::choose || node.kind == Kind::reduce) return open;
    if (node.kind == Kind::number) return std::signbit(node.number) ? signed_ : single;
    if (node.kind != Kind::operate) return single;
    const std::string& word = node.word;
    if (word == "or") return either;
    if (word == "and") return both;
    if (word == "not") return negated;
    if (word == "+" || (word == "-" && node.parts.size() == 2)) return added;
    if (word == "*" || word == "/" || word == "%") return multiplied;
    if (word == "-") return signed_;
    return word == "^" ? raised : compared;
}

class Printer {
public:
    explicit Printer(bool in_index = false) : in_index_(in_index) {}

    /// Formats a node, with brackets if its precedence is lower than `least`.
    std::string text(const RuleNode& node, Rank least) const {
        if (node.word == "//") {
            const RuleTree quotient = operate_node("/", node.parts);
            return text(in_index_ ? *quotient : *call_node("floor", {quotient}), least);
        }
        const std::string bare = written(node);
        return rank_of(node) < least ? "(" + bare + ")" : bare;
    }

private:
    std::string written(const RuleNode& node) const {
        const auto part = [&](std::size_t i, Rank least = open) {
            return text(*node.parts[i], least);
        };
        switch (node.kind) {
            case Kind::number:
                return std::isinf(node.number)   ? (node.number < 0 ? "-inf" : "inf")
                       : std::isnan(node.number) ? "nan"
                                                 : fmt::format("{}", node.number);
            case Kind::name:
                return node.word;
            case Kind::cell:
                return node.word + "[" + Printer(true).list(node, ",") + "]";
            case Kind::call:
                return node.word + "(" +
                       Printer(in_index_ && node.word != "floor").list(node, ", ") + ")";
            case Kind::operate:
                return operation(node);
            case Kind::choose:
                return "if " + part(0, either) + " then " + part(1, either) + " else " + part(2);
            case Kind::reduce:
                return node.word + " " + node.index + range(node) + ": " +
                       text(*node.parts.back(), open);
        }
        return {};
    }

    /// Formats the range of a sum if no axis implies it.
    static std::string range(const RuleNode& node) {
        if (node.parts.size() < 3) return {};
        const std::optional<std::size_t> length = specified_length(*node.parts[2], node.index);
        const bool is_specified = length && is_number(*node.parts[0], 0) &&
                                  is_number(*node.parts[1], static_cast<double>(*length));
        if (is_specified) return {};
        const Printer index(true);
        return " in " + index.text(*node.parts[0], added) + ".." +
               index.text(*node.parts[1], added);
    }

    std::string operation(const RuleNode& node) const {
        const Rank rank = rank_of(node);
        if (node.parts.size() == 1) {
            return node.word + (node.word == "not" ? " " : "") + text(*node.parts[0], rank);
        }
        // Most operators chain from left to right; comparisons and powers do not.
        const bool chains = rank != compared && rank != raised;
        const Rank left = chains ? rank : static_cast<Rank>(rank + 1);
        const Rank right = rank == raised ? signed_ : static_cast<Rank>(rank + 1);
        const char* const blank = rank == raised ? "" : " ";
        return text(*node.parts[0], left) + blank + node.word + blank + text(*node.parts[1], right);
    }

    std::string list(const RuleNode& node, const char* comma) const {
        std::string all;
        for (const RuleTree& each : node.parts)
            all += (all.empty() ? "" : comma) + text(*each, open);
        return all;
    }

    bool in_index_;  ///< `/` rounds down there
};

}  // namespace

std::string expression_text(const RuleNode& node) {
    require_whole_node(node);
    return Printer().text(node, open);
}

std::string rule_text(const Rule& rule) {
    require_whole_rule(rule);
    std::string indices;
    for (const std::string& index : rule.indices) indices += (indices.empty() ? "" : ",") + index;
    return rule.step + "[" + indices + "] = " + expression_text(*rule.value);
}

void refuse_rule(const std::string& text, std::size_t at, const std::string& message) {
    constexpr std::size_t around = 200;  // characters on each side
    std::vector<std::string> left = visible_characters(text.substr(0, at));
    std::vector<std::string> right = visible_characters(text.substr(at));
    const bool begins = left.size() <= around, ends = right.size() <= around;
    if (!begins) left.erase(left.begin(), left.end() - around);
    if (!ends) right.resize(around);
    const std::string before = (begins ? "" : "...") + joined(left, "");
    throw ConfigError(message + "\n  " + before + joined(right, "") + (ends ? "" : "...") + "\n  " +
                      std::string(before.size(), ' ') + "^");
}

}  // namespace attn
