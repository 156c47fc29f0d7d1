#include "attn/show/render/page/page_files.hpp"

#include <algorithm>
#include <cctype>

namespace attn {
namespace {

/// True if the slash at `at` of `line` is a division: neither a pattern nor a comment begins there.
bool divides(std::string_view line, std::size_t at) {
    const std::string_view before = line.substr(0, at);
    return before.size() > 1 && before.back() == ' ' && line.substr(at).starts_with("/ ") &&
           std::string_view("=(,:?&|!;{}[").find(before[before.size() - 2]) == before.npos;
}

/// A keyword with a shorter equivalent: `let`, if the variable is never reassigned.
struct ShortWord {
    std::string_view word, instead;
};
constexpr ShortWord short_words[]{
    {"const", "let"}, {"undefined", "void 0"}, {"true", "!0"}, {"false", "!1"}};

/// Returns the keyword that begins at `at`, unless it is part of a name or a member.
const ShortWord* shorter_at(std::string_view line, std::size_t at) {
    const auto is_of_word = [](char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
    if (at > 0 && is_of_word(line[at - 1])) return nullptr;
    for (const ShortWord& each : short_words) {
        if (!line.substr(at).starts_with(each.word)) continue;
        const std::size_t end = at + each.word.size();
        if (end == line.size() || (!is_of_word(line[end]) && line[end] != ':')) return &each;
    }
    return nullptr;
}

/// Removes the parentheses of a single parameter before an arrow: `(one)=` becomes `one=`.
void bare_parameter(std::string& tight) {
    const auto is_of_word = [](char c) { return std::isalnum(c) != 0 || c == '_'; };
    const std::size_t end = tight.ends_with(")=") ? tight.size() - 2 : 0;
    std::size_t begin = end;
    while (begin > 0 && is_of_word(tight[begin - 1])) --begin;
    const bool is_one = begin < end && begin > 0 && tight[begin - 1] == '(';
    if (!is_one || (begin > 1 && is_of_word(tight[begin - 2]))) return;
    tight.erase(end, 1).erase(begin - 1, 1);
}

/// Returns a line of a script without spaces around operators, type annotations and comments.
std::string tight_script(std::string_view line) {
    constexpr std::string_view signs = "=<>?:&|(){}[],;*/!+-";
    std::string tight;
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        const std::size_t end =
            line.substr(i).starts_with("/** ") ? line.find("*/ ", i) : line.npos;
        if (quote == 0 && end != line.npos) {
            i = end + 2;
            continue;
        }
        if (quote == 0 && line.substr(i).starts_with("// ")) break;
        if (quote == 0 && c == '/' && !divides(line, i)) return tight.append(line.substr(i));
        if (const ShortWord* shorter = quote == 0 ? shorter_at(line, i) : nullptr) {
            tight += shorter->instead;
            i += shorter->word.size() - 1;
            continue;
        }
        const bool is_quote = c == '"' || c == '\'' || c == '`';
        if (is_quote && (quote == 0 || quote == c) && (i == 0 || line[i - 1] != '\\')) {
            quote = quote == 0 ? c : 0;
        }
        const bool is_inner = c == ' ' && i > 0 && i + 1 < line.size();
        // `a - -b` and `a + +b` have another meaning without the space.
        const bool beside_sign =
            is_inner && line[i - 1] != line[i + 1] &&
            (signs.find(line[i - 1]) != signs.npos || signs.find(line[i + 1]) != signs.npos);
        if (quote == 0 && c == '>') bare_parameter(tight);
        if (quote != 0 || !beside_sign) tight += c;
    }
    while (tight.ends_with(' ')) tight.pop_back();
    return tight;
}

/// Returns a line of a style sheet without spaces before its bracket and its value and after
/// commas.
std::string tight_style(std::string_view line) {
    std::string tight(line);
    for (std::size_t at = 0; (at = tight.find(", ", at)) != tight.npos;) tight.erase(at + 1, 1);
    if (line.ends_with(" {")) return tight.erase(tight.size() - 2, 1);
    const std::size_t value = line.ends_with(';') ? tight.find(": ") : line.npos;
    if (value != line.npos) tight.erase(value + 1, 1);
    for (std::size_t at = 0; (at = tight.find("0.", at)) != tight.npos;) {
        const bool begins = at > 0 && std::string_view(": (,").find(tight[at - 1]) != line.npos;
        begins ? static_cast<void>(tight.erase(at, 1)) : static_cast<void>(at += 2);
    }
    return tight;
}

bool is_declaration(std::string_view line) {
    return line.starts_with("let ") && line.ends_with(';');
}

template <class Tight>
std::string squeezed(std::string_view text, Tight&& tight) {
    std::string result, tight_before;
    bool in_comment = false;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        in_comment |= line.starts_with("/*");
        if (!line.empty() && !in_comment && !line.starts_with("//")) {
            if (line.starts_with('}') && result.ends_with(';')) result.pop_back();
            const std::string tight_line = tight(line);
            // Merge consecutive `let` lines into one declaration.
            const bool goes_with = is_declaration(tight_before) && is_declaration(tight_line);
            if (goes_with) result.back() = ',';
            result += goes_with ? tight_line.substr(4) : tight_line;
            tight_before = tight_line;
            // A line with such an end continues on the next one.
            if (std::string_view("{(,[;}").find(result.back()) == line.npos) result += '\n';
        }
        if (line.ends_with("*/")) in_comment = false;
    }
    return result;
}

}  // namespace

std::string squeezed_script(std::string_view text) { return squeezed(text, tight_script); }
std::string squeezed_style(std::string_view text) { return squeezed(text, tight_style); }

}  // namespace attn
