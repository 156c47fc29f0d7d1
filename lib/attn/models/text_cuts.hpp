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

/// The steps of a tokenizer.json on a text before its model joins pieces.
struct TextCuts {
    using Normalizer = std::function<std::string(const std::string& text)>;
    using Cut = std::function<std::vector<std::string>(const std::string& text, bool first)>;

    Normalizer normalized;  ///< the text as the vocabulary writes it
    Cut words;  ///< cut into words, within which pieces are joined; `first`: the text begins here
    bool of_bytes = false;           ///< words have one letter for each byte, as GPT-2's have
    bool marks_blanks = false;       ///< words have U+2581 for blanks, as sentencepiece writes them
    bool begins_with_blank = false;  ///< a blank is put in front of a text
    std::string label;               ///< how messages call the file
    std::string unknown;  ///< a part of the file that is not known here: texts are not cut then
};

/// The normalizer and the pre_tokenizer of a tokenizer.json.
///
///     normalizers     Sequence NFC NFD NFKC NFKD Lowercase StripAccents Prepend Replace
///                     BertNormalizer
///     pre_tokenizers  Sequence ByteLevel Split Digits Punctuation Whitespace WhitespaceSplit
///                     Metaspace BertPreTokenizer
///
/// Errors  InputError, starting with `label`, for a pattern that is not understood.
/// Source  the sources of Hugging Face's tokenizers.
TextCuts text_cuts_in(const nlohmann::json& file, const std::string& label);

// Parts of a tokenizer.json, null or `usual` where they are not there or of another kind.
nlohmann::json part_of(const nlohmann::json& whole, const char* key);
std::string word_in(const nlohmann::json& whole, const char* key, const std::string& usual = {});
bool flag_in(const nlohmann::json& whole, const char* key, bool usual);

/// The letter that GPT-2's vocabulary writes for a byte: visible ones for themselves, the others
/// from U+0100 on.
const std::string& letter_of_byte(unsigned char byte);

// Shared by tokenizers that join pieces.

/// Stands for a blank in sentencepiece's pieces.
constexpr std::string_view word_mark = "\u2581";

/// The letters of words in a class of a pattern, `\w` as Unicode and Rust have it. PCRE2's own
/// leaves out marks and joiners, and takes numbers like a small 2.
constexpr std::string_view word_letters = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}";

/// The piece of a byte that no other piece holds: `<0x0A>`.
std::string byte_piece(unsigned char byte);
/// The byte of such a piece, or -1 for others.
int byte_of(std::string_view piece);

/// The symbol that two neighbours become when they are joined.
template <class Symbol>
struct Joined {
    double rank = 0;
    Symbol symbol{};
};

/// Joins neighbours until `joined_of(left, right)`, an optional Joined, gives nothing for any two:
/// always the two of the lowest rank, of equals the first.
///
/// Why  a text of n symbols takes n log n steps, not n^2: what can be joined waits in a queue, and
///      what has changed meanwhile is passed over.
template <class Symbol, class JoinedOf>
std::vector<Symbol> join_best(std::vector<Symbol> symbols, const JoinedOf& joined_of) {
    struct Link {
        std::size_t before, after;
        std::size_t joins = 0;  // how often this place has changed
        bool gone = false;
    };
    struct Waiting {
        double rank;
        std::size_t left, right, joins;  // joins of both together, when this was found
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
