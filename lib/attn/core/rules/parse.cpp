#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "attn/core/rules/rank.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::size_t longest_rule = 4096;
constexpr std::size_t deepest_rule = 256;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_among(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

/// Common functions that rules express by others.
const std::map<std::string, const char*> said_otherwise{{"swish", "silu(x)"},
                                                        {"clip", "clamp(x, a, b)"},
                                                        {"pow", "x ^ y"},
                                                        {"round", "floor(x + 0.5)"},
                                                        {"ceil", "-floor(-x)"}};

/// True for keywords, which no index and no tensor may have as name.
bool is_reserved(std::string_view word) {
    return is_among(word,
                    {"if", "then", "else", "and", "or", "not", "sum", "mean", "in", "inf", "nan"});
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {
        // A rule is treated as one line.
        for (char& c : text_) c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
        if (text_.size() > longest_rule) {
            throw ConfigError("a rule is at most 4096 characters long, not " +
                              std::to_string(text_.size()) + ": make it several steps");
        }
        next();
    }

    Rule rule() {
        Rule rule;
        rule.text = text_;
        rule.step = take_name("the name of a step, as in weights[q,k] = ...");
        expect("[", "the indices of its axes in square brackets");
        while (word_ != "]") {
            if (!rule.indices.empty()) expect(",", "a comma or ]");
            const std::size_t place = at_;
            rule.indices.push_back(take_name("an index, such as q"));
            if (std::ranges::count(rule.indices, rule.indices.back()) > 1) {
                refuse(place, "the index " + rule.indices.back() + " stands here twice");
            }
        }
        next();
        expect("=", "= and the expression");
        rule.value = expression();
        if (!word_.empty()) refuse_rest();
        return rule;
    }

    RuleTree alone() {
        RuleTree value = expression();
        if (!word_.empty()) refuse_rest();
        return value;
    }

private:
    /// Refuses text after the end, such as the index of a missing sum.
    [[noreturn]] void refuse_rest() {
        const std::size_t end = text_.find_last_not_of(' ', at_ == 0 ? 0 : at_ - 1);
        std::size_t begin = end + 1;
        while (begin > 0 && (is_letter(text_[begin - 1]) || is_digit(text_[begin - 1]))) --begin;
        const std::string before = text_.substr(begin, end + 1 - begin);
        if (!before.empty() && is_letter(before.front()) && is_letter(word_.front())) {
            refuse(begin, "nothing goes over an index as " + quoted(before) +
                              ": sum, mean, max, min, prod, argmax and rank do");
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
        const bool reduces = is_among(word_, {"sum", "mean"}) ||
                             (is_among(word_, {"max", "min", "prod", "argmax", "rank"}) &&
                              is_letter(after_blanks()));
        if (reduces) return reduction();
        std::string name = take_name("a number, a name or a bracket");
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
        node.index = take_name("the index to go over, as in sum f: ...");
        if (word_ == "in") {
            next();
            node.parts.push_back(sum());
            expect("..", "two points, as in 0..4");
            node.parts.push_back(sum());
        }
        expect(":", "a colon");
        node.parts.push_back(expression());
        if (node.word != "rank") return make(std::move(node));
        // Counts the elements before this one, the largest first, of equal ones the first.
        std::string other = "j";
        while (text_.find(other) != text_.npos) other += 'j';
        return make(written_out_rank(std::move(node), other));
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
            const auto other = said_otherwise.find(name);
            refuse(at,
                   "there is no function " + quoted(name) +
                       (other == said_otherwise.end()
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
        refuse(at_, "a rule nests at most 256 deep: make it several steps");
    }

    static RuleTree make(RuleNode node) { return tree_of(std::move(node)); }
    static RuleTree operation(const std::string& word, std::vector<RuleTree> parts,
                              std::size_t at) {
        return make(
            {.kind = RuleNode::Kind::operate, .word = word, .parts = std::move(parts), .at = at});
    }

    std::pair<std::string, std::size_t> take() {
        std::pair<std::string, std::size_t> taken{word_, at_};
        next();
        return taken;
    }

    std::string take_name(const std::string& wanted) {
        if (word_.empty() || !is_letter(word_.front()) || is_reserved(word_)) refuse_here(wanted);
        return take().first;
    }

    void expect(std::string_view word, const std::string& wanted) {
        if (word_ != word) refuse_here(wanted);
        next();
    }

    [[noreturn]] void refuse_here(const std::string& wanted) const {
        refuse(at_, "expected " + wanted + ", not " + (word_.empty() ? "the end" : quoted(word_)));
    }

    [[noreturn]] void refuse(std::size_t at, const std::string& message) const {
        refuse_rule(text_, at, message);
    }

    /// Returns the next character after the current word and spaces.
    char after_blanks() const {
        const std::size_t place = text_.find_first_not_of(" \t", end_);
        return place == std::string::npos ? '\0' : text_[place];
    }

    /// Moves to the next word; empty at the end.
    void next() {
        at_ = std::min(text_.find_first_not_of(" \t\n\r", end_), text_.size());
        end_ = at_;
        const auto here = [&](std::size_t ahead) {
            return end_ + ahead < text_.size() ? text_[end_ + ahead] : '\0';
        };
        if (is_letter(here(0))) {
            while (is_letter(here(0)) || is_digit(here(0))) ++end_;
        } else if (is_digit(here(0)) || (here(0) == '.' && is_digit(here(1)))) {
            while (is_digit(here(0)) || (here(0) == '.' && here(1) != '.')) ++end_;
            const bool exponent = here(0) == 'e' || here(0) == 'E';
            const std::size_t sign = here(1) == '-' || here(1) == '+' ? 1 : 0;
            if (exponent && is_digit(here(1 + sign))) {
                end_ += 1 + sign;
                while (is_digit(here(0))) ++end_;
            }
        } else if (end_ < text_.size()) {
            const std::string_view two = std::string_view(text_).substr(end_, 2);
            const bool pair = is_among(two, {"<=", ">=", "==", "!=", "..", "**", "//"});
            if (!pair && std::string_view("[](),:=+-*/%^<>").find(here(0)) == std::string::npos) {
                refuse(at_, "no rule holds " + first_character());
            }
            end_ += pair ? 2 : 1;
        }
        word_ = text_.substr(at_, end_ - at_);
    }

    std::string first_character() const {
        std::size_t end = at_ + 1;
        while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
        return quoted(text_.substr(at_, end - at_));
    }

    static std::string quoted(const std::string& word) { return "'" + word + "'"; }

    std::string text_;
    std::string word_;     ///< the current word
    std::size_t at_ = 0;   ///< its begin
    std::size_t end_ = 0;  ///< and end
    std::size_t depth_ = 0;
};

void add_tensors(const RuleNode& node, std::vector<std::string>& names) {
    if (node.kind == RuleNode::Kind::cell && std::ranges::find(names, node.word) == names.end()) {
        names.push_back(node.word);
    }
    for (const RuleTree& part : node.parts) add_tensors(*part, names);
}

}  // namespace

Rule parse_rule(std::string_view text) {
    std::string line(trimmed(text));
    // A rule of several lines is shown in one, even in a program's comment.
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return Parser(line).rule();
}

RuleTree parse_expression(std::string_view text) { return Parser(trimmed(text)).alone(); }

Rule::Rule(const std::string& said) {
    if (said.empty()) return;
    // Cards parse the same rules repeatedly: cache them by text.
    constexpr std::size_t most_kept = 1024;
    thread_local std::map<std::string, Rule, std::less<>> read;
    if (read.size() > most_kept) read.clear();
    const auto found = read.find(said);
    *this =
        found != read.end() ? found->second : read.emplace(said, parse_rule(said)).first->second;
}

std::vector<std::string> tensors_read(const Rule& rule) {
    std::vector<std::string> names;
    if (rule.value != nullptr) add_tensors(*rule.value, names);
    return names;
}

}  // namespace attn
