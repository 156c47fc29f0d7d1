#include "attn/learn/quiz/question.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "attn/core/rules/rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Is = Judgement::Is;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

Judgement verdict(bool is_right) { return {is_right ? Is::right : Is::wrong}; }

/// Returns the text from `at` on without separators; a decimal point belongs to its number.
std::string_view after(std::string_view text, std::size_t at) {
    constexpr std::string_view between = " ).:,=]'\"`";
    while (at < text.size() && between.find(text[at]) != between.npos &&
           !(text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
        ++at;
    }
    return text.substr(std::min(at, text.size()));
}

/// Returns the answer in lower case, without introductory words: `it is 0.5`.
std::string answer_in(std::string_view typed) {
    std::string text = lower(trimmed(typed));
    if (text.ends_with('.')) text.pop_back();
    for (const std::string_view words :
         {"the answer is ", "answer", "it is ", "it's ", "choice ", "option ", "letter "}) {
        if (text.starts_with(words)) text = after(text, words.size());
    }
    return text;
}

/// Returns the text after the last `=`, with special characters as they are typed.
std::string typed_plainly(std::string_view typed) {
    std::string text(trimmed(typed.substr(typed.rfind('=') + 1)));
    static const std::vector<std::pair<std::string, std::string>> signs{
        {"−", "-"},          {"×", "*"},  {"·", "*"},   {"÷", "/"}, {"√", "sqrt "},
        {"∞", "inf"},        {"π", "pi"}, {"≈", ""},    {"~", ""},  {"½", "1/2"},
        {"infinity", "inf"}, {"**", "^"}, {"ln", "log"}};
    return std::string(trimmed(replaced_all(text, signs)));
}

/// Adds brackets to `log 2` and `sqrt2`.
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

/// Computes an expression of numbers.  Errors  ConfigError if it contains anything else.
double value_of(const RuleNode& node) {
    const auto part = [&](std::size_t i) { return value_of(*node.parts.at(i)); };
    if (node.kind == RuleNode::Kind::number) return node.number;
    if (node.kind == RuleNode::Kind::name && node.word == "pi") return std::numbers::pi;
    if (node.kind == RuleNode::Kind::name && node.word == "e") return std::numbers::e;
    const bool is_computed_step =
        node.kind == RuleNode::Kind::call || node.kind == RuleNode::Kind::operate;
    const RuleFunction* const function =
        is_computed_step ? find_rule_function(node.word, node.parts.size()) : nullptr;
    if (function == nullptr || gives_truth(node)) throw ConfigError("");
    return function->value(part(0), part(node.parts.size() - 1));
}

/// A typed number: its value, its precision, and its significant digits.
struct TypedNumber {
    double value = 0;
    double half_unit = 0;
    std::size_t digits = 99;  ///< a computed number is exact enough
};

/// Parses a plain number, without arithmetic.
std::optional<TypedNumber> read_decimal(std::string text) {
    const bool is_share = text.ends_with('%');
    if (is_share) text = trimmed(text.substr(0, text.size() - 1));
    const std::optional<double> value = parse_number(text);
    if (!value) return std::nullopt;
    const std::size_t end = std::min(text.find('e'), text.size());
    const std::optional<double> power = end < text.size()
                                            ? parse_number(std::string_view(text).substr(end + 1))
                                            : std::optional(0.0);
    const std::size_t point = std::min(text.find('.'), end);
    const double decimals = point < end ? static_cast<double>(end - point - 1) : 0;
    const double unit = std::pow(10.0, power.value_or(0) - decimals - (is_share ? 2 : 0));
    TypedNumber number{is_share ? *value / 100 : *value, unit / 2, 0};
    for (std::size_t i = 0; i < end; ++i) {
        if (is_digit(text[i]) && (number.digits > 0 || text[i] != '0')) ++number.digits;
    }
    return number;
}

/// Parses a number or arithmetic; nullopt for any other text.
std::optional<TypedNumber> read_number(std::string_view typed) {
    const std::string text = typed_plainly(typed);
    if (const auto decimal = read_decimal(text)) return decimal;
    try {
        const double value = value_of(*parse_rule("answer[] = " + with_brackets(text)).value);
        return TypedNumber{value, std::abs(value) / 1000};
    } catch (const ConfigError&) {
        return std::nullopt;
    }
}

/// True if the typed number is this one: to its last digit, or exactly.
bool is_within(const TypedNumber& typed, double number, bool exactly) {
    if (!std::isfinite(number) || !std::isfinite(typed.value)) {
        return number == typed.value || (std::isnan(number) && std::isnan(typed.value));
    }
    const double rounding = 1e-6 * std::abs(number) + 1e-12;
    return std::abs(typed.value - number) <= rounding + (exactly ? 0 : typed.half_unit);
}

Judgement check_number(double right, std::string_view typed) {
    const std::optional<TypedNumber> number = read_number(typed);
    if (!number && typed.find(',') != std::string_view::npos) {
        return {Is::unread, "write one number, with a decimal point: 1.5"};
    }
    if (!number) return {Is::unread, "write a number, or arithmetic: 0.52, 31/60, ln 2, 1/sqrt(2)"};
    if (is_within(*number, right, true)) return verdict(true);
    if (!is_within(*number, right, false)) return verdict(false);
    if (number->digits < 2) return {Is::unread, "write two significant digits or more"};
    return verdict(true);
}

Judgement check_shape(const Shape& right, std::string_view typed) {
    constexpr std::size_t most = 1'000'000;
    Shape specified;
    bool in_number = false, in_decimals = false, is_negative = false;
    char before = ' ';
    for (const char c : typed.substr(typed.rfind('=') + 1)) {
        if (is_digit(c) && !in_number) {
            specified.push_back(0);
            is_negative = is_negative || before == '-';
        }
        before = is_digit(before) && c == '-' ? ' ' : c;
        if (is_digit(c))
            specified.back() =
                std::min(specified.back() * 10 + static_cast<std::size_t>(c - '0'), most);
        in_decimals = in_decimals || (in_number && c == '.');
        in_number = is_digit(c);
    }
    const bool has_none = typed.find("()") != std::string_view::npos;
    if (in_decimals || is_negative || (specified.empty() && !has_none)) {
        return {Is::unread, "write whole numbers, as in (2, 3)"};
    }
    return verdict(specified == right);
}

/// Runs the walk with the typed numbers.
Judgement check_computed(const RightAnswer& right, std::string_view typed) {
    std::vector<double> numbers;
    const std::string text = replaced_all(std::string(typed.substr(typed.rfind('=') + 1)),
                                          {{"[", " "}, {"]", " "}, {",", " "}, {";", " "}});
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) < text.size();) {
        const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
        const auto number = read_number(std::string_view(text).substr(at, end - at));
        if (number) numbers.push_back(number->value);
        at = end;
    }
    if (numbers.size() != right.count) {
        return {Is::unread, "write " + std::to_string(right.count) + " numbers, row by row"};
    }
    return verdict(right.holds(numbers));
}

/// Removes the characters around a word or a sentence.
std::string_view bare(std::string_view text) {
    constexpr std::string_view around = " \t,;:.!()[]{}'\"`";
    const std::size_t begin = std::min(text.find_first_not_of(around), text.size());
    return text.substr(begin, text.find_last_not_of(around) + 1 - begin);
}

bool is_called(const std::vector<std::string>& spellings, std::string_view word) {
    return std::ranges::any_of(
        spellings, [&](const std::string& each) { return lower(each) == word || each == word; });
}

/// Returns the words of an answer, with `1-3` and `1 to 3` as `1 2 3`; without fillers.
std::vector<std::string> words_in(const std::string& typed, const std::vector<std::string>& known) {
    static const std::set<std::string> fillers{
        "and", "the",  "key",  "keys",     "query", "token",  "tokens", "head",   "it",  "its",
        "is",  "line", "they", "position", "are",   "number", "word",   "answer", "step"};
    static const std::vector<std::pair<std::string, std::string>> ranges{
        {"–", "-"}, {" to ", "-"}, {" - ", "-"}, {"...", "-"}, {"..", "-"}};
    constexpr std::string_view between = " \t,;&+";
    const std::string text = replaced_all(typed, ranges);
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(between, at), text.size());
        const std::string word(bare(std::string_view(text).substr(at, end - at)));
        const std::size_t dash = word.find('-');
        at = end + 1;
        if (dash != word.npos && dash > 0 && dash + 1 < word.size() && word.size() < 8 &&
            word.find_first_not_of("0123456789-") == word.npos) {
            const int last = std::atoi(word.c_str() + dash + 1);
            for (int i = std::atoi(word.c_str()); i <= last; ++i)
                words.push_back(std::to_string(i));
        } else if (!word.empty() && (is_called(known, word) || !fillers.contains(word))) {
            words.push_back(word);
        }
    }
    return words;
}

Judgement check_names(const RightAnswer& right, std::string_view typed) {
    std::vector<std::string> known = right.others;
    for (const auto& spellings : right.names) {
        known.insert(known.end(), spellings.begin(), spellings.end());
    }
    std::ranges::sort(known);
    // `weights[q,k]` is the step; a list in brackets begins with the bracket.
    std::string text(typed);
    const std::size_t open = text.find('[');
    if (open != text.npos && open > 0 && is_letter(text[open - 1])) text.resize(open);
    std::vector<std::string> words = words_in(text, known);
    for (const std::string& whole : {std::string(bare(text)), text}) {
        if (is_called(known, whole)) words = {whole};
    }
    const auto is_strange = [&](const std::string& word) {
        return !right.others.empty() && !is_called(known, word);
    };
    const auto is_specified = [&](const std::vector<std::string>& spellings) {
        return std::ranges::any_of(
            words, [&](const std::string& word) { return is_called(spellings, word); });
    };
    const auto is_wrong = [&](const std::string& word) {
        return std::ranges::none_of(right.names,
                                    [&](const auto& each) { return is_called(each, word); });
    };
    if (words.empty() || std::ranges::any_of(words, is_strange)) {
        return {Is::unread, "write " + std::string(right.names.size() > 1 ? "some" : "one") +
                                " of " + joined(known, ", ")};
    }
    return verdict(std::ranges::all_of(right.names, is_specified) &&
                   std::ranges::none_of(words, is_wrong));
}

/// Normalizes the text of a choice for comparison: without spaces and surrounding characters.
std::string squeezed(std::string_view text) {
    std::string result = lower(bare(text));
    std::erase(result, ' ');
    return result;
}

/// Returns the choices for an answer without a letter: by number, exactly or to its last digit,
/// else by text, whole, after its `=` or in part.
std::vector<std::size_t> choices_with(const RightAnswer& right, std::string_view typed) {
    constexpr std::size_t least = 4;  // letters of a part
    const std::string text = squeezed(typed);
    const std::optional<TypedNumber> number = read_number(typed);
    const auto is_meant = [&](std::size_t i, int way) {
        const std::vector<std::string>& all = right.names[i];
        if (way < 2) {  // the number itself, or as printed
            const auto printed = read_number(all.front());
            return number && i < right.numbers.size() &&
                   (is_within(*number, right.numbers[i], way == 0) ||
                    (printed && is_within(*number, printed->value, true)));
        }
        return std::ranges::any_of(all, [&](const std::string& spelling) {
            const std::string one = squeezed(spelling);
            if (way == 2 || !right.numbers.empty()) return one == text;
            if (way == 3) return one.ends_with("=" + text);
            return text.size() >= least && one.find(text) != one.npos;
        });
    };
    std::vector<std::size_t> found;
    for (int way = 0; way < 5 && found.empty() && !text.empty(); ++way) {
        for (std::size_t i = 0; i < right.names.size(); ++i) {
            if (is_meant(i, way)) found.push_back(i);
        }
    }
    return found;
}

}  // namespace

std::optional<std::size_t> parse_choice(const RightAnswer& right, std::string_view typed) {
    const std::string text = answer_in(typed);
    std::vector<std::size_t> found = choices_with(right, text);
    // Or a letter, possibly followed by the text of that choice.
    const std::size_t at = std::min(text.find_first_not_of("([{'\"`"), text.size());
    const bool is_alone =
        at < text.size() &&
        (at + 1 == text.size() || (!is_letter(text[at + 1]) && !is_digit(text[at + 1])));
    const auto letter = static_cast<std::size_t>(is_alone ? text[at] - 'a' : -1);
    if (found.empty() && letter < right.names.size()) {
        const std::string_view rest = after(text, at + 1);
        found = choices_with(right, rest);
        const bool fits = std::ranges::find(found, letter) != found.end();
        found.assign(rest.empty() || fits ? 1 : 0, letter);
    }
    return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

Judgement check_answer(const RightAnswer& right, std::string_view typed) {
    const std::string text = answer_in(typed);
    if (right.kind == RightAnswer::Kind::number) return check_number(right.number, text);
    if (right.kind == RightAnswer::Kind::shape) return check_shape(right.shape, text);
    if (right.kind == RightAnswer::Kind::made) return check_computed(right, text);
    if (right.kind == RightAnswer::Kind::names) return check_names(right, text);
    if (const auto specified = parse_choice(right, typed))
        return verdict(*specified == right.choice);
    const std::string last(1, static_cast<char>('a' + right.names.size() - 1));
    return {Is::unread, "write the letter of one of them, a to " + last};
}

}  // namespace attn
