#include "attn/quiz/question.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "attn/rules/arithmetic.hpp"
#include "attn/rules/rule.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

using Is = Judgement::Is;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

Judgement verdict(bool is_right) { return {is_right ? Is::right : Is::wrong}; }

/// The text with each sign that keyboards lack as it is typed, behind the last `=`.
std::string typed_plainly(std::string_view typed) {
    std::string text = lower(trimmed(typed.substr(typed.rfind('=') + 1)));
    static const std::vector<std::pair<std::string, std::string>> signs{
        {"−", "-"},  {"×", "*"}, {"·", "*"},          {"÷", "/"},  {"√", "sqrt "}, {"∞", "inf"},
        {"π", "pi"}, {"≈", ""},  {"infinity", "inf"}, {"**", "^"}, {"ln", "log"}};
    return std::string(trimmed(replaced_all(text, signs)));
}

/// `log 2` and `sqrt2` with brackets.
std::string with_brackets(const std::string& text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t word = at;
        while (at < text.size() && is_letter(text[at])) ++at;
        result += text.substr(word, at - word);
        const bool is_function = at - word > 2 && text.compare(word, at - word, "inf") != 0;
        const std::size_t number = text.find_first_not_of(' ', at);
        if (is_function && number != std::string::npos && is_digit(text[number])) {
            at = std::min(text.find_first_not_of("0123456789.", number), text.size());
            result += "(" + text.substr(number, at - number) + ")";
        } else if (at == word) {
            result += text[at++];
        }
    }
    return result;
}

/// The number of an expression of numbers alone.  Errors  ConfigError where it holds more.
double value_of(const RuleNode& node) {
    const auto part = [&](std::size_t i) { return value_of(*node.parts.at(i)); };
    if (node.kind == RuleNode::Kind::number) return node.number;
    if (node.kind == RuleNode::Kind::name && node.word == "pi") return std::numbers::pi;
    if (node.kind == RuleNode::Kind::name && node.word == "e") return std::numbers::e;
    if (node.kind == RuleNode::Kind::call && node.parts.size() == 1) {
        return rule_arithmetic::called(node.word, part(0));
    }
    if (node.kind == RuleNode::Kind::operate && node.parts.size() == 1 && node.word == "-") {
        return -part(0);
    }
    const bool is_arithmetic = node.word.size() == 1 && std::string_view("+-*/^").find(
                                                            node.word[0]) != std::string_view::npos;
    if (node.kind != RuleNode::Kind::operate || !is_arithmetic) throw ConfigError("");
    return rule_arithmetic::operated(node.word, part(0), part(1));
}

/// A number as it was typed: how far it may be off, and how many of its digits count.
struct TypedNumber {
    double value = 0;
    double half_unit = 0;
    std::size_t digits = 0;
};

/// The number where the text is one, and no arithmetic.
bool read_decimal(std::string text, TypedNumber& number) {
    const bool is_share = text.ends_with('%');
    if (is_share) text = trimmed(text.substr(0, text.size() - 1));
    const std::optional<double> value = parse_number(text);
    if (!value) return false;
    const std::size_t end = std::min(text.find('e'), text.size());
    const std::optional<double> power = end < text.size()
                                            ? parse_number(std::string_view(text).substr(end + 1))
                                            : std::optional(0.0);
    const std::size_t point = std::min(text.find('.'), end);
    const double decimals = point < end ? static_cast<double>(end - point - 1) : 0;
    const double unit = std::pow(10.0, power.value_or(0) - decimals - (is_share ? 2 : 0));
    bool counts = false;
    for (std::size_t i = 0; i < end; ++i) {
        counts = counts || (is_digit(text[i]) && text[i] != '0');
        if (counts && is_digit(text[i])) ++number.digits;
    }
    number.value = is_share ? *value / 100 : *value;
    number.half_unit = unit / 2;
    return true;
}

Judgement check_number(double right, std::string_view typed) {
    const std::string text = typed_plainly(typed);
    if (text.find(',') != std::string::npos) {
        return {Is::unread, "write one number, with a decimal point: 1.5"};
    }
    TypedNumber number;
    const bool is_decimal = read_decimal(text, number);
    if (!is_decimal) {
        try {
            number.value = value_of(*parse_rule("answer[] = " + with_brackets(text)).value);
        } catch (const ConfigError&) {
            return {Is::unread, "write a number, or arithmetic: 0.52, 31/60, ln 2, 1/sqrt(2)"};
        }
    }
    if (!std::isfinite(right) || !std::isfinite(number.value)) {
        return verdict(right == number.value || (std::isnan(right) && std::isnan(number.value)));
    }
    const double away = std::abs(number.value - right);
    const double rounding = 1e-6 * std::abs(right) + 1e-12;
    if (away <= rounding) return verdict(true);
    if (!is_decimal) return verdict(away <= std::abs(right) / 1000);
    if (away > number.half_unit + rounding) return verdict(false);
    if (number.digits < 2) return {Is::unread, "write two significant digits or more"};
    return verdict(true);
}

Judgement check_shape(const Shape& right, std::string_view typed) {
    constexpr std::size_t most = 1'000'000;
    Shape said;
    bool in_number = false, in_decimals = false;
    for (const char c : typed.substr(typed.rfind('=') + 1)) {
        if (is_digit(c) && !in_number) said.push_back(0);
        if (is_digit(c))
            said.back() = std::min(said.back() * 10 + static_cast<std::size_t>(c - '0'), most);
        in_decimals = in_decimals || (in_number && c == '.');
        in_number = is_digit(c);
    }
    const bool has_none = typed.find("()") != std::string_view::npos;
    if (in_decimals || (said.empty() && !has_none)) {
        return {Is::unread, "write whole numbers, as in (2, 3)"};
    }
    return verdict(said == right);
}

/// The words between blanks, commas, quotes and brackets; none for what stands around names.
std::vector<std::string> words_in(const std::string& text) {
    static const std::set<std::string> around{"and",   "the",  "key",  "keys",    "query",
                                              "token", "head", "line", "position"};
    static constexpr std::string_view between = " \t,;:()[]{}'\"`.!";
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(between, at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!word.empty() && !around.contains(word)) words.push_back(word);
        at = end + 1;
    }
    return words;
}

Judgement check_names(const RightAnswer& right, std::string_view typed) {
    const std::string text = lower(trimmed(typed));
    const auto is_called = [](const std::vector<std::string>& spellings, const std::string& word) {
        return std::ranges::any_of(spellings,
                                   [&](const std::string& each) { return lower(each) == word; });
    };
    std::vector<std::string> words = words_in(text);
    const bool is_whole =
        is_called(right.others, text) ||
        std::ranges::any_of(right.names, [&](const auto& name) { return is_called(name, text); });
    if (is_whole) words = {text};
    std::set<std::size_t> said;
    bool is_right = true;
    for (const std::string& word : words) {
        const auto name = std::ranges::find_if(
            right.names, [&](const auto& spellings) { return is_called(spellings, word); });
        if (name != right.names.end()) {
            said.insert(static_cast<std::size_t>(name - right.names.begin()));
            continue;
        }
        is_right = false;
        if (!right.others.empty() && !is_called(right.others, word)) words.clear();
        if (words.empty()) break;
    }
    if (words.empty()) return {Is::unread, "write one of those that are asked for"};
    return verdict(is_right && said.size() == right.names.size());
}

}  // namespace

Judgement check_answer(const RightAnswer& right, std::string_view typed) {
    if (right.kind == RightAnswer::Kind::number) return check_number(right.number, typed);
    if (right.kind == RightAnswer::Kind::shape) return check_shape(right.shape, typed);
    return check_names(right, typed);
}

}  // namespace attn
