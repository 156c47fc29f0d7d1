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
        "the", "matrix", "matrices", "vector", "vectors", "of",    "for",   "each",
        "all", "our",    "is",       "are",    "and",     "with",  "after", "step",
        "a",   "an",     "per",      "shape",  "tensor",  "array", "word",  "words"};
    std::vector<std::string> words;
    for (std::size_t at = 0; at < label.size();) {
        std::size_t end = at;
        const auto goes_on = [&](std::size_t i) {
            const bool is_dot = label[i] == '.' && i > at && i + 1 < label.size();
            return is_letter_of_name(label[i]) || (is_dot && is_letter_of_name(label[i + 1]));
        };
        while (end < label.size() && goes_on(end)) ++end;
        const std::string word(label.substr(at, end - at));
        const bool is_of_head = !words.empty() && lower(words.back()) == "head";
        const bool is_count =
            word.find_first_not_of("0123456789") == word.npos && (word.empty() || !is_of_head);
        const std::string small = word.size() > 1 ? lower(word) : word;  // A is a matrix
        const bool is_filler = std::ranges::find(fillers, small) != std::end(fillers);
        if (!is_count && !is_filler) words.push_back(word);
        at = end + 1;
    }
    // Alone they are names.
    const std::string alone = lower(std::string(trimmed(label)));
    if (words.empty() && (alone == "words" || alone == "a")) words = {alone};
    return words;
}

/// Returns a name for `Q @ K.T`, `Q %*% t(K)` and `A . V`; empty for another product, and nullopt
/// for anything else.
std::optional<std::string> product_name(std::string_view whole) {
    std::optional<std::string> other;
    for (const std::string_view sign : {"^T ", "%*%", " @ ", " . ", "*"}) {
        const std::size_t at = whole.find(sign);
        if (at == whole.npos || whole.find('=') < at) continue;
        const std::string_view left = trimmed(whole.substr(0, at));
        const std::string_view right = trimmed(whole.substr(at + sign.size()));
        const auto end_of_name = [](std::string_view text) {
            std::size_t end = 0;
            while (end < text.size() && is_letter_of_name(text[end])) ++end;
            return end;
        };
        std::size_t begin = left.size();
        while (begin > 0 && is_letter_of_name(left[begin - 1])) --begin;
        const std::string first(left.substr(begin));
        std::string second(right.substr(0, end_of_name(right)));
        std::string_view rest = right.substr(second.size());
        bool is_transposed = rest.starts_with('\'') || rest.starts_with("^T") ||
                             rest.starts_with(".T") || rest.starts_with(".mT") ||
                             rest.starts_with(".transpose");
        if (const std::string call = lower(second); call == "t" || call == "transpose") {
            is_transposed = !rest.empty();
            rest.remove_prefix(is_transposed ? 1 : 0);
            second = rest.substr(0, end_of_name(rest));
        }
        if (first.empty() || second.empty()) continue;
        if (sign == "^T ") {  // k^T q
            const std::string both = lower(first.substr(0, 1) + second.substr(0, 1));
            if ((both == "kq" || both == "qk") && left.find('(') == left.npos) return "scores";
            continue;
        }
        if (is_transposed) return first + second + "_T";
        const auto is_one_of = [](const std::string& word, std::string_view all) {
            return all.find(" " + lower(word) + " ") != all.npos;
        };
        constexpr std::string_view values = " v value values ", of_columns = " a alpha weights α ";
        if (is_one_of(second, values) ||
            (is_one_of(first, values) && is_one_of(second, of_columns)))
            return "weighted_values";
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        if (!is_digit(first[0]) && !is_digit(second[0])) other = "";
    }
    return other;
}

/// Returns `q` for `q_1`.
std::string without_number(const std::string& word) {
    std::string stem = word.substr(0, word.find_last_not_of("0123456789") + 1);
    while (stem.ends_with('_')) stem.pop_back();
    return stem;
}

/// True if a word is a symbol for a matrix: Q, W_q, Wk, α.
bool is_symbol(const std::string& word) {
    const std::string small = lower(word);
    if (small.starts_with("w_")) return true;
    if (word.size() == 1) return std::isalpha(static_cast<unsigned char>(word[0])) != 0;
    if (small.size() == 2 && small[0] == 'w') return true;
    if (word.size() > 2 && word[1] == '_') return true;  // q_1, x_i
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
        if (!line.starts_with(cell)) continue;
        line.erase(0, std::min(line.find(']'), line.size() - 1) + 1);
        while (line.starts_with(':') || line.starts_with('=')) line.erase(0, 1);
    }
    if (const std::size_t call = line.find("Tensor(shape"); call != line.npos) line.erase(call);
    while (line.starts_with("==") || line.starts_with("--")) line.erase(0, 1);
    if (line.starts_with("= ") || line.starts_with("- ")) line.erase(0, 1);
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
    line = replaced_all(line, {{">>>", ""}, {"julia>", ""}, {"^", "_"}, {"==", ""}});
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
    bool is_printed = false;
    for (const char* const call :
         {"print(", "disp(", "display(", "round(", "np.round(", "numpy.round(", "torch.round("}) {
        if (!label.starts_with(call) || !label.ends_with(')')) continue;
        label = label.substr(label.find('(') + 1);
        label.pop_back();
        is_printed = true;
    }
    if (is_printed) label = label.substr(0, label.find(','));
    // Methods that keep the numbers: V.round(3), V.detach().numpy().
    for (const char* const method : {".detach(", ".cpu(", ".numpy(", ".tolist(", ".round(",
                                     ".squeeze(", ".float(", ".double(", ".copy(", ".clone("}) {
        const std::size_t at = label.find(method), close = label.find(')', at);
        const std::string_view before = std::string_view(label).substr(0, at);
        const bool is_module = before.ends_with("np") || before.ends_with("torch");
        if (at != label.npos && close != label.npos && !is_module) label.erase(at, close + 1 - at);
    }
    const std::string formula_text = replaced_all(std::string(whole), {{":=", ":"}});
    if (const auto product = product_name(formula_text)) {
        return product->empty() ? std::vector<std::string>() : std::vector{*product};
    }
    for (const std::string_view call : {".tolist", ".numpy", ".print", ".round"}) {
        const std::size_t at = label.find(call);
        if (at != label.npos) label.erase(at);
    }
    // A formula instead of a name: softmax(QK^T / sqrt(d)), QK^T / sqrt(d).
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
    const std::string unmarked = replaced_all(std::string(whole), {{"**", ""}});
    const std::size_t set = unmarked.find('=');
    const bool is_product = set != unmarked.npos && unmarked.find('*', set) != unmarked.npos;
    const bool is_set = label.find('=') != label.npos;
    const bool is_call = whole.find('(') != whole.npos && whole.find('(') > whole.find('=');
    for (std::size_t at = 0; at <= label.size();) {
        const std::size_t end = std::min(label.find('=', at), label.size());
        std::string_view part = trimmed(std::string_view(label).substr(at, end - at));
        while (part.ends_with(':')) part = trimmed(part.substr(0, part.size() - 1));
        if (const std::size_t colon = part.rfind(':'); colon != part.npos) {
            part = trimmed(part.substr(colon + 1));
        }
        const bool is_formula =
            !names.empty() &&
            (is_product || part.find_first_of("@/*+ [") != part.npos);  // scores = Q @ K =
        if (is_formula || (part.empty() && !names.empty())) break;
        const std::vector<std::string> words = words_of(part);
        const auto symbol = std::ranges::find_if(words, is_symbol);
        if (words.size() > 5 || words.empty()) break;
        names.push_back(words.size() > 1 && symbol != words.end() ? *symbol : joined(words, "_"));
        if (!is_set || is_call) break;
        at = end + 1;
    }
    const std::vector<std::string> other = words_of(aside);
    if (other.size() == 1 && is_symbol(other[0]) && !is_call) names = other;
    return names;
}

bool names_type(std::string_view line) {
    line = trimmed(line);
    return line == "Parameter containing:" || line == "Tensor" || line.starts_with("shape: (") ||
           line.find(" Matrix{") != line.npos;
}

std::optional<RowLabel> row_label(std::string_view line, bool has_title) {
    std::string label(trimmed(line));
    if (label.empty()) return RowLabel{};
    const std::size_t quote = label.find_first_of("\"'");
    const std::size_t close = quote == label.npos ? quote : label.find(label[quote], quote + 1);
    if (close != label.npos) {
        const std::vector<std::string> words = words_of(std::string_view(label).substr(0, quote));
        const bool is_named = words.size() == 1 && words[0] != "row" && words[0] != "token";
        const std::string stem = is_named ? without_number(words[0]) : "";
        return RowLabel{label.substr(quote + 1, close - quote - 1), stem};
    }
    const bool is_set = label.ends_with('='), is_arrow = label.ends_with("->");
    while (!label.empty() && std::string_view(":=-> ,").find(label.back()) != std::string::npos) {
        label.pop_back();
    }
    while (label.starts_with(',') || label.starts_with(' ')) label.erase(0, 1);
    if (label.find('=') != label.npos) return std::nullopt;
    std::erase_if(label, [](char c) { return c == '$' || c == '{' || c == '}'; });
    if (is_set) label = label.substr(label.rfind(' ') + 1);
    if (const std::size_t open = label.find(" ("); open != label.npos && label.ends_with(')')) {
        return RowLabel{label.substr(open + 2, label.size() - open - 3), label.substr(0, open)};
    }
    const std::size_t end = label.find_last_not_of("0123456789");
    const bool is_numbered = end != label.npos && end + 1 < label.size();
    const std::string stem = is_numbered ? without_number(label) : "";
    if (is_numbered && (is_set || is_symbol(stem)) && !has_title) return RowLabel{"", stem};
    const bool is_row = is_numbered || end == label.npos || is_arrow || has_title;
    return is_row ? std::optional(RowLabel{label}) : std::nullopt;
}

}  // namespace attn
