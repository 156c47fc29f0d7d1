#include "attn/files/io/document_names.hpp"

#include <algorithm>
#include <cctype>

#include "attn/ground/text/strings.hpp"

// Names of matrices in a document, from the words before them.

namespace attn {
namespace {

/// Returns the words of a label, without fillers.
std::vector<std::string> words_of(std::string_view label) {
    static constexpr std::string_view fillers[] = {
        "the", "matrix", "matrices", "vector", "vectors", "of",   "for",   "each",
        "all", "our",    "is",       "are",    "and",     "with", "after", "step",
        "a",   "an",     "per",      "shape",  "tensor",  "array"};
    std::vector<std::string> words;
    for (std::size_t at = 0; at < label.size();) {
        std::size_t end = at;
        const auto goes_on = [&](std::size_t i) {
            const bool is_dot = label[i] == '.' && i > at && i + 1 < label.size();
            return is_letter_of_name(label[i]) || (is_dot && is_letter_of_name(label[i + 1]));
        };
        while (end < label.size() && goes_on(end)) ++end;
        const std::string word(label.substr(at, end - at));
        const bool is_count = word.find_first_not_of("0123456789") == word.npos;
        const bool is_filler = std::ranges::find(fillers, lower(word)) != std::end(fillers);
        if (!is_count && !is_filler) words.push_back(word);
        at = end + 1;
    }
    return words;
}

/// True if a word is a symbol for a matrix: Q, W_q, Wk, α.
bool is_symbol(const std::string& word) {
    const std::string small = lower(word);
    if (small.starts_with("w_") || word.size() == 1) return true;
    if (small.size() == 2 && small[0] == 'w') return true;
    return word.size() == 2 && static_cast<unsigned char>(word[0]) >= 0x80;
}

}  // namespace

bool is_letter_of_name(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

std::string without_marks(std::string_view text) {
    std::string line(trimmed(text));
    for (const char* const cell : {"Out[", "In [", "In["}) {
        if (line.starts_with(cell)) line.erase(0, std::min(line.find(']'), line.size() - 1) + 1);
    }
    for (bool has_call = true; has_call;) {
        line = trimmed(line);
        has_call = line.ends_with('(');
        if (has_call) line.pop_back();
        while (has_call && !line.empty() &&
               (is_letter_of_name(line.back()) || line.back() == '.')) {
            line.pop_back();
        }
    }
    for (const char* const command : {"\\text", "\\mathbf", "\\mathrm", "\\bm", "\\boldsymbol",
                                      "\\mathit", "\\quad", "\\displaystyle"}) {
        line = replaced_all(line, {{command, ""}});
    }
    line = replaced_all(line, {{">>>", ""}, {"^", "_"}, {"==", ""}});
    std::erase_if(line, [](char c) {
        return std::string_view("*#`$|{}\\\"'>").find(c) != std::string_view::npos;
    });
    return std::string(trimmed(line));
}

std::vector<std::string> names_of_label(std::string_view whole) {
    if (const std::size_t arrow = whole.rfind("->"); arrow != whole.npos) {
        whole = whole.substr(arrow + 2);
    }
    std::string label = without_marks(whole), aside;
    // A formula in place of a name: softmax(QK^T / sqrt(d)), QK^T / sqrt(d).
    const std::string formula = lower(label.substr(0, label.find('=')));
    const bool has_root =
        formula.find("sqrt") != formula.npos || formula.find("\u221a") != formula.npos;
    if (has_root) return {formula.find("softmax") != formula.npos ? "softmax" : "scaled_scores"};
    for (std::size_t open = 0; (open = label.find('(')) != label.npos;) {
        const std::size_t close = std::min(label.find(')', open), label.size() - 1);
        aside = label.substr(open + 1, close - open - 1);
        label.erase(open, close + 1 - open);
    }
    std::vector<std::string> names;
    const bool is_set = label.find('=') != label.npos;
    for (std::size_t at = 0; at <= label.size();) {
        const std::size_t end = std::min(label.find('=', at), label.size());
        std::string_view part = trimmed(std::string_view(label).substr(at, end - at));
        while (part.ends_with(':')) part = trimmed(part.substr(0, part.size() - 1));
        if (const std::size_t colon = part.rfind(':'); colon != part.npos) {
            part = trimmed(part.substr(colon + 1));
        }
        const bool is_formula =
            !names.empty() && part.find_first_of("@/*+ ") != part.npos;  // scores = Q @ K =
        if (is_formula || (part.empty() && !names.empty())) break;
        const std::vector<std::string> words = words_of(part);
        const auto symbol = std::ranges::find_if(words, is_symbol);
        if (words.size() > 5 || words.empty()) break;
        names.push_back(words.size() > 1 && symbol != words.end() ? *symbol : joined(words, "_"));
        if (!is_set) break;
        at = end + 1;
    }
    const std::vector<std::string> other = words_of(aside);
    if (other.size() == 1 && is_symbol(other[0])) names = other;
    return names;
}

std::optional<std::string> row_label(std::string_view line) {
    std::string label(trimmed(line));
    if (label.empty()) return "";
    if (label.size() > 2 && (label[0] == '"' || label[0] == '\'')) {
        return label.substr(1, label.find(label[0], 1) - 1);
    }
    if (label.find('=') != label.npos) return std::nullopt;
    while (label.ends_with(':')) label.pop_back();
    const bool is_numbered =
        !label.empty() && std::isdigit(static_cast<unsigned char>(label.back())) != 0;
    return is_numbered ? std::optional(label) : std::nullopt;
}

}  // namespace attn
