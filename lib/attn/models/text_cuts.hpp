#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace attn::models {

/// The preprocessing of a tokenizer.json, before its model joins pieces.
struct TextCuts {
    using Normalizer = std::function<std::string(const std::string& text)>;
    using Cut = std::function<std::vector<std::string>(const std::string& text, bool first)>;

    Normalizer normalized;  ///< the text as in the vocabulary
    Cut words;  ///< splits into words, within which pieces are joined; `first`: at the start
    bool of_bytes = false;           ///< words have one letter per byte, as in GPT-2
    bool marks_blanks = false;       ///< words have U+2581 for spaces, as in sentencepiece
    bool begins_with_blank = false;  ///< a space is added before a text
    std::string label;               ///< name of the file in messages
    std::string unknown;             ///< an unsupported part of the file: texts are not split then
};

/// Reads the normalizer and the pre_tokenizer of a tokenizer.json.
///
///     normalizers     Sequence NFC NFD NFKC NFKD Lowercase StripAccents Prepend Replace
///                     BertNormalizer
///     pre_tokenizers  Sequence ByteLevel Split Digits Punctuation Whitespace WhitespaceSplit
///                     Metaspace BertPreTokenizer
///
/// Errors  InputError, starting with `label`, for an invalid pattern.
/// Source  the sources of Hugging Face's tokenizers.
TextCuts text_cuts_in(const nlohmann::json& file, const std::string& label);

// Parts of a tokenizer.json; null or `default_value` if they are missing or of another type.
nlohmann::json part_of(const nlohmann::json& whole, const char* key);
std::string word_in(const nlohmann::json& whole, const char* key,
                    const std::string& default_value = {});
bool flag_in(const nlohmann::json& whole, const char* key, bool default_value);

/// Returns GPT-2's letter for a byte: visible characters for themselves, others from U+0100 on.
const std::string& letter_of_byte(unsigned char byte);

// Shared by tokenizers that join pieces.

/// Stands for a space in sentencepiece's pieces.
constexpr std::string_view word_mark = "\u2581";

/// The class `\w` of Unicode and Rust. PCRE2's own leaves out marks and joiners, and includes
/// numbers such as superscript 2.
constexpr std::string_view word_letters = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}";

/// Returns the piece of a byte that is in no other piece: `<0x0A>`.
std::string byte_piece(unsigned char byte);
/// Returns the byte of such a piece, or -1 for others.
int byte_of(std::string_view piece);

/// The symbol that results from joining two neighbours.
template <class Symbol>
struct Joined {
    double rank = 0;
    Symbol symbol{};
};

/// Joins neighbours, always the two with the lowest rank, the first of equals, until
/// `joined_of(left, right)`, an optional Joined, returns nullopt for all.
///
/// Why  takes n log n steps for n symbols, not n^2: candidates wait in a priority queue, and
///      outdated ones are skipped.
template <class Symbol, class JoinedOf>
std::vector<Symbol> join_best(std::vector<Symbol> symbols, const JoinedOf& joined_of) {
    struct Link {
        std::size_t before, after;
        std::size_t joins = 0;  // how often this place has changed
        bool gone = false;
    };
    struct Waiting {
        double rank;
        std::size_t left, right, joins;  // sum of `joins` of both when this was queued
        Symbol symbol;
        bool operator<(const Waiting& other) const {
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    const std::size_t count = symbols.size();
    std::vector<Link> places(count);
    std::priority_queue<Waiting> queue;
    const auto propose = [&](std::size_t left, std::size_t right) {
        auto joined = joined_of(symbols[left], symbols[right]);
        if (!joined) return;
        queue.push({joined->rank, left, right, places[left].joins + places[right].joins,
                    std::move(joined->symbol)});
    };
    for (std::size_t i = 0; i < count; ++i) places[i] = {i - 1, i + 1};
    for (std::size_t i = 0; i + 1 < count; ++i) propose(i, i + 1);
    while (!queue.empty()) {
        const Waiting best = queue.top();
        queue.pop();
        Link& left = places[best.left];
        Link& right = places[best.right];
        if (left.gone || right.gone || left.joins + right.joins != best.joins) continue;
        symbols[best.left] = best.symbol;
        ++left.joins;
        left.after = right.after;
        right.gone = true;
        if (left.after < count) places[left.after].before = best.left;
        if (best.left > 0) propose(left.before, best.left);
        if (left.after < count) propose(best.left, left.after);
    }
    std::vector<Symbol> result;
    for (std::size_t i = 0; i < count; ++i) {
        if (!places[i].gone) result.push_back(std::move(symbols[i]));
    }
    return result;
}

}  // namespace attn::models
