#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "attn/core/rules/define.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/rules/rank.hpp"
#include "attn/core/rules/rule_reader.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::size_t deepest_rule = 256;

/// Common functions that rules express by others.
const std::map<std::string, const char*> names_in_torch{
    {"swish", "silu(x)"},        {"clip", "clamp(x, a, b)"}, {"pow", "x ^ y"},
    {"round", "floor(x + 0.5)"}, {"ceil", "-floor(-x)"},     {"softmax", "softmax k: scores[q,k]"}};

class Parser : RuleReader {
public:
    explicit Parser(std::string_view text, const Definitions& definitions = {})
        : RuleReader(text), definitions_(definitions) {}

    Rule rule() {
        Rule rule;
        rule.text = text_;
        rule.step = take_name("the name of a step, as in weights[q,k] = ...");
        expect("[", "the indices of its axes in square brackets");
        rule.indices = names("]", "an index, such as q");
        expect("=", "= and the expression");
        rule.value = alone();
        // Places are those of the expanded text.
        return is_expanded_ ? Parser(rule_text(rule)).rule() : rule;
    }

    Definition definition() {
        Definition result;
        result.name = take_name("a name, as in define unit(v)[f] = ...");
        const bool is_in_use =
            result.name == "clamp" || std::ranges::any_of(rule_functions(), [&](const auto& each) {
                return each.name == result.name;
            });
        if (is_in_use || definitions_.contains(result.name)) {
            refuse(0, "there is a function " + result.name + " already: choose another name");
        }
        expect("(", "the arguments in round brackets");
        result.arguments = names(")", "an argument, such as v");
        result.has_indices = word_ == "[";
        if (result.has_indices) {
            next();
            result.indices = names("]", "an index, such as f");
        }
        expect("=", "= and the expression");
        result.value = alone();
        return result;
    }

    RuleTree alone() {
        RuleTree value = expression();
        if (!word_.empty()) refuse_rest();
        return value;
    }

private:
    /// Parses different names up to the closing bracket, which it consumes.
    std::vector<std::string> names(const char* closing, const std::string& wanted) {
        std::vector<std::string> all;
        while (word_ != closing) {
            if (!all.empty()) expect(",", std::string("a comma or ") + closing);
            const std::size_t place = at_;
            all.push_back(take_name(wanted));
            if (std::ranges::count(all, all.back()) > 1) {
                refuse(place, "the name " + all.back() + " occurs twice here");
            }
        }
        next();
        return all;
    }

    /// Refuses text after the end, such as the index of a missing sum.
    [[noreturn]] void refuse_rest() {
        const std::size_t end = text_.find_last_not_of(' ', at_ == 0 ? 0 : at_ - 1);
        std::size_t begin = end + 1;
        while (begin > 0 && (is_letter(text_[begin - 1]) || is_digit(text_[begin - 1]))) --begin;
        const std::string before = text_.substr(begin, end + 1 - begin);
        if (!before.empty() && is_letter(before.front()) && is_letter(word_.front())) {
            refuse(begin, "no operation runs over an index as " + quoted(before) +
                              ": sum, mean, max, min, prod, argmax, rank and softmax do");
        }
        refuse(at_, "the expression ends before " + quoted(word_));
    }

    RuleTree expression() {
        return nested([&] { return either(); });
    }

    RuleTree either() {
        return chain({"or"}, [&] { return chain({"and"}, [&] { return negation(); }); });
    }

    RuleTree negation() {
        if (word_ != "not") return comparison();
        const std::size_t at = at_;
        next();
        return nested([&] { return operation("not", {negation()}, at); });
    }

    RuleTree comparison() {
        RuleTree left = sum();
        if (!is_among(word_, {"<", "<=", ">", ">=", "==", "!="})) return left;
        const auto [word, at] = take();
        return operation(word, {left, sum()}, at);
    }

    RuleTree sum() {
        return chain({"+", "-"}, [&] {
            return chain({"*", "/", "//", "%"}, [&] { return sign(); });
        });
    }

    RuleTree sign() {
        if (word_ != "-") return power();
        const std::size_t at = at_;
        next();
        return nested([&] { return operation("-", {sign()}, at); });
    }

    RuleTree power() {
        RuleTree base = primary();
        if (word_ != "^" && word_ != "**") return base;
        const std::size_t at = take().second;
        return nested([&] { return operation("^", {base, sign()}, at); });
    }

    RuleTree primary() {
        const std::size_t at = at_;
        if (word_ == "(") {
            next();
            RuleTree inner = expression();
            expect(")", "a closing bracket");
            return inner;
        }
        if (word_ == "if") return choice();
        if (!word_.empty() && (is_digit(word_.front()) || word_.front() == '.')) return number();
        if (is_among(word_, {"inf", "nan"})) {
            const bool infinite = take().first == "inf";
            return make({.kind = RuleNode::Kind::number,
                         .number = infinite ? std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN(),
                         .at = at});
        }
        const bool reduces =
            is_among(word_, {"sum", "mean"}) ||
            (is_among(word_, {"max", "min", "prod", "argmax", "rank", "softmax"}) &&
             is_letter(after_blanks()));
        if (reduces) return reduction();
        std::string name = take_name("a number, a name or a bracket");
        const bool is_modified = is_among(name, {"latest", "exact"}) && is_letter(word_[0]);
        if (is_modified) name += " " + take_name("the name of a tensor");
        if (is_modified && text_.compare(at, name.size(), name) != 0) is_expanded_ = true;
        if (word_ == "(" && definitions_.contains(name)) return defined(name, at);
        if (word_ == "[") return cell(std::move(name), at);
        if (word_ == "(") return call(std::move(name), at);
        return make({.kind = RuleNode::Kind::name, .word = std::move(name), .at = at});
    }

    RuleTree choice() {
        const std::size_t at = take().second;
        RuleTree condition = expression();
        expect("then", "then");
        RuleTree yes = expression();
        expect("else", "else");
        return make(
            {.kind = RuleNode::Kind::choose, .parts = {condition, yes, expression()}, .at = at});
    }

    RuleTree reduction() {
        const auto [word, at] = take();
        RuleNode node{.kind = RuleNode::Kind::reduce, .word = word, .at = at};
        node.index = take_name("the index to run over, as in sum f: ...");
        if (word_ == "in") {
            next();
            node.parts.push_back(sum());
            expect("..", "two dots, as in 0..4");
            node.parts.push_back(sum());
        }
        expect(":", "a colon");
        const bool is_softmax = word == "softmax";
        if (word != "rank" && !is_softmax) {
            node.parts.push_back(expression());
            return make(std::move(node));
        }
        // Written out with more indices, which differ from those of others inside.
        std::string other = "j";
        while (text_.find(other) != text_.npos) other += 'j';
        other += std::string(written_out_, 'j');
        written_out_ += 2;
        node.parts.push_back(expression());
        written_out_ -= 2;
        // A rank counts the elements before this one in descending order; equal elements keep their
        // order.
        return is_softmax ? written_out_softmax(node, other)
                          : make(written_out_rank(std::move(node), other));
    }

    /// Expands a definition.
    RuleTree defined(const std::string& name, std::size_t at) {
        const std::vector<RuleTree> arguments = list(")");
        const std::vector<RuleTree> places = word_ == "[" ? list("]") : std::vector<RuleTree>();
        is_expanded_ = true;
        try {
            return expanded(definitions_.find(name)->second, arguments, places, text_, at);
        } catch (const ConfigError& error) {
            refuse(at, error.what());
        }
    }

    RuleTree cell(std::string name, std::size_t at) {
        return make(
            {.kind = RuleNode::Kind::cell, .word = std::move(name), .parts = list("]"), .at = at});
    }

    RuleTree call(std::string name, std::size_t at) {
        std::vector<std::string> functions{"clamp"};  // a min of a max
        std::size_t wanted = name == "clamp" ? 3 : 0;
        for (const RuleFunction& each : rule_functions()) {
            if (each.kind != RuleFunction::Kind::called) continue;
            functions.emplace_back(each.name);
            if (name == each.name) wanted = each.arity;
        }
        if (wanted == 0) {
            const auto other = names_in_torch.find(name);
            refuse(at,
                   "there is no function " + quoted(name) +
                       (other == names_in_torch.end()
                            ? did_you_mean(name, functions, ": there are " + joined(functions, " "))
                            : ": write " + std::string(other->second)));
        }
        std::vector<RuleTree> parts = list(")");
        if (parts.size() != wanted) {
            const char* const count[] = {"one number", "two numbers", "three numbers"};
            refuse(at,
                   name + " takes " + count[wanted - 1] + ", not " + std::to_string(parts.size()));
        }
        if (name == "clamp") {
            const RuleTree least = make({.kind = RuleNode::Kind::call,
                                         .word = "max",
                                         .parts = {parts[0], parts[1]},
                                         .at = at});
            parts = {least, parts[2]};
            name = "min";
        }
        return make({.kind = RuleNode::Kind::call,
                     .word = std::move(name),
                     .parts = std::move(parts),
                     .at = at});
    }

    /// Parses expressions up to the closing bracket, which it consumes.
    std::vector<RuleTree> list(const char* closing) {
        std::vector<RuleTree> parts;
        next();
        while (word_ != closing) {
            if (!parts.empty()) expect(",", std::string("a comma or ") + closing);
            parts.push_back(expression());
        }
        next();
        return parts;
    }

    RuleTree number() {
        RuleNode node{.kind = RuleNode::Kind::number, .at = at_};
        const auto [end, error] =
            std::from_chars(word_.data(), word_.data() + word_.size(), node.number);
        if (error == std::errc::result_out_of_range) refuse(at_, quoted(word_) + " is too large");
        if (error != std::errc() || end != word_.data() + word_.size()) {
            refuse(at_, quoted(word_) + " is not a number");
        }
        next();
        return make(std::move(node));
    }

    /// Parses operands joined by operators of one precedence, from left to right.
    template <class Operand>
    RuleTree chain(std::initializer_list<std::string_view> operators, Operand operand) {
        RuleTree left = operand();
        std::size_t length = 0;
        while (is_among(word_, operators)) {
            if (++length + depth_ > deepest_rule) refuse_depth();
            const auto [word, at] = take();
            left = operation(word, {left, operand()}, at);
        }
        return left;
    }

    template <class Inner>
    RuleTree nested(Inner inner) {
        if (++depth_ > deepest_rule) refuse_depth();
        RuleTree tree = inner();
        --depth_;
        return tree;
    }

    [[noreturn]] void refuse_depth() const {
        refuse(at_, "a rule is nested at most 256 levels deep: make it several steps");
    }

    static RuleTree make(RuleNode node) { return tree_of(std::move(node)); }
    static RuleTree operation(const std::string& word, std::vector<RuleTree> parts,
                              std::size_t at) {
        return make(
            {.kind = RuleNode::Kind::operate, .word = word, .parts = std::move(parts), .at = at});
    }

    const Definitions& definitions_;
    bool is_expanded_ = false;  ///< its text is not that of the tree
    std::size_t depth_ = 0;
    std::size_t written_out_ = 0;  ///< indices of the ranks and softmaxes around
};

}  // namespace

Rule parse_rule(std::string_view text, const Definitions& definitions) {
    std::string line(trimmed(text));
    // A rule of several lines is shown in one, even in a program's comment.
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return Parser(line, definitions).rule();
}

Rule parse_rule(std::string_view text) { return parse_rule(text, Definitions()); }

Definition parse_definition(std::string_view text, const Definitions& earlier) {
    return Parser(trimmed(text), earlier).definition();
}

RuleTree parse_expression(std::string_view text) { return Parser(trimmed(text)).alone(); }

Rule::Rule(const std::string& specified) {
    if (specified.empty()) return;
    // Cards parse the same rules repeatedly: cache them by text.
    constexpr std::size_t most_kept = 1024;
    thread_local std::map<std::string, Rule, std::less<>> read;
    if (read.size() > most_kept) read.clear();
    const auto found = read.find(specified);
    *this = found != read.end() ? found->second
                                : read.emplace(specified, parse_rule(specified)).first->second;
}

}  // namespace attn
