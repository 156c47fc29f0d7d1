#include "attn/core/plan/tokenize.hpp"

#include <algorithm>
#include <memory>

#include <utf8proc.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/pattern.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

std::vector<utf8proc_int32_t> codepoints_of(std::string_view text) {
    std::vector<utf8proc_int32_t> codepoints;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
    for (std::size_t at = 0; at < text.size();) {
        const auto [point, bytes] = first_point(text.substr(at));
        if (point < 0) {
            throw InputError("the text is not UTF-8: byte " + std::to_string(at) +
                             " cannot be read; save it as UTF-8");
        }
        codepoints.push_back(point);
        at += bytes.size();
    }
    return codepoints;
}

bool is_space(utf8proc_int32_t codepoint) {
    const auto category = utf8proc_category(codepoint);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP || (codepoint >= 0x09 && codepoint <= 0x0D) ||
           codepoint == 0x85;
}

/// True for punctuation, and control characters.
bool is_stripped(utf8proc_int32_t codepoint) {
    const auto category = utf8proc_category(codepoint);
    return (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO) ||
           category == UTF8PROC_CATEGORY_CC;
}

std::string encoded(const utf8proc_int32_t* begin, const utf8proc_int32_t* end, bool keep_case) {
    std::string text;
    for (; begin != end; ++begin) {
        text += utf8_of(keep_case ? *begin : utf8proc_tolower(*begin));
    }
    return text;
}

std::vector<std::string> matches_of(const std::string& text, const std::string& expression) {
    std::vector<std::string> matches;
    try {
        for (const auto& [begin, end] : Pattern(expression).matches(text)) {
            matches.push_back(text.substr(begin, end - begin));
        }
    } catch (const InputError& error) {
        throw ConfigError("$split: "_message + error.what() +
                          "; words and chars are others, or one such as [a-z]+");
    }
    return matches;
}

std::vector<std::string> tokens_of(const std::string& text, const Splitting& splitting) {
    if (splitting.by == "words") return words_of(text, splitting.keep_case);
    const std::vector<utf8proc_int32_t> codepoints = codepoints_of(text);
    const std::string plain = composed(
        encoded(codepoints.data(), codepoints.data() + codepoints.size(), splitting.keep_case));
    return splitting.by == "chars" ? visible_characters(plain) : matches_of(plain, splitting.by);
}

}  // namespace

bool lacks_blanks(std::string_view word) {
    std::size_t east = 0;
    std::size_t south_east = 0;
    for (const utf8proc_int32_t point : codepoints_of(word)) {
        const auto is_in = [point](utf8proc_int32_t first, utf8proc_int32_t last) {
            return point >= first && point <= last;
        };
        // Kana, the ideographs and their extensions; then Thai, Lao, Burmese and Khmer, in which a
        // letter and its vowels are several code points.
        if (is_in(0x3041, 0x30FF) || is_in(0x3400, 0x9FFF) || is_in(0x20000, 0x3FFFF)) ++east;
        if (is_in(0x0E01, 0x0EFF) || is_in(0x1000, 0x109F) || is_in(0x1780, 0x17FF)) ++south_east;
    }
    return east > 4 || south_east > 11;
}

std::string composed(const std::string& text) {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.c_str());
    // Not utf8proc_NFC, which ends at a NUL character.
    utf8proc_uint8_t* result = nullptr;
    constexpr auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t size =
        utf8proc_map(bytes, static_cast<utf8proc_ssize_t>(text.size()), &result, options);
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> form(result, &std::free);
    return size < 0 ? text : std::string(form.get(), form.get() + size);
}

std::vector<std::string> words_of(std::string_view text, bool keep_case) {
    const std::vector<utf8proc_int32_t> codepoints = codepoints_of(text);
    std::vector<std::string> words;
    for (auto at = codepoints.begin(); at != codepoints.end();) {
        const auto start = std::find_if_not(at, codepoints.end(), is_space);
        const auto end = std::find_if(start, codepoints.end(), is_space);
        at = end;
        const auto first = std::find_if_not(start, end, is_stripped);
        auto last = end;
        while (last != first && is_stripped(*(last - 1))) --last;
        if (first != last)
            words.push_back(composed(encoded(&*first, &*first + (last - first), keep_case)));
    }
    return words;
}

Tokens tokenize(const std::vector<std::string>& texts, const Splitting& splitting) {
    std::vector<std::vector<std::string>> sequences;
    Tokens tokens;
    tokens.pad_id = 0;
    tokens.by_word = true;
    for (const std::string& text : texts) {
        sequences.push_back(tokens_of(text, splitting));
        if (sequences.back().empty()) {
            const bool words = splitting.by == "words";
            throw InputError("'" + text + "' has no " +
                             (words ? "words" : "tokens by $split "_message + splitting.by) +
                             ": give at least one");
        }
        tokens.vocabulary.insert(tokens.vocabulary.end(), sequences.back().begin(),
                                 sequences.back().end());
    }
    std::vector<std::string>& vocabulary = tokens.vocabulary;
    std::sort(vocabulary.begin(), vocabulary.end());
    vocabulary.erase(std::unique(vocabulary.begin(), vocabulary.end()), vocabulary.end());
    vocabulary.insert(vocabulary.begin(), "<pad>");
    tokens.vocab_size = static_cast<std::int64_t>(vocabulary.size());
    for (const auto& words : sequences) {
        std::vector<std::int64_t>& ids = tokens.sequences.emplace_back();
        for (const std::string& word : words) {
            const auto place = std::lower_bound(vocabulary.begin() + 1, vocabulary.end(), word);
            ids.push_back(place - vocabulary.begin());
        }
    }
    return tokens;
}

std::vector<std::string> words_of_rows(const Tokens& tokens) {
    std::vector<std::string> words = tokens.vocabulary;
    if (words.empty()) return words;
    const auto rows = static_cast<std::size_t>(tokens.vocab_size.value_or(0));
    for (std::size_t id = words.size(); id < rows; ++id) words.push_back(std::to_string(id));
    return words;
}

std::vector<std::size_t> places_of(const std::vector<std::string>& tokens, std::string_view word) {
    std::vector<std::size_t> places;
    const auto find = [&](auto&& is_meant) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (is_meant(tokens[i])) places.push_back(i);
        }
    };
    find([&](const std::string& token) { return token == word; });
    if (!places.empty()) return places;
    const std::vector<std::string> words = words_of(word);
    if (words.size() == 1)
        find([&](const std::string& token) { return words_of(visible(token)) == words; });
    return places;
}

namespace {

std::vector<std::vector<std::string>> usual_labels(const Source& source) {
    std::vector<std::vector<std::string>> labels;
    const auto* tokens = std::get_if<Tokens>(&source);
    if (tokens == nullptr) return labels;
    if (!tokens->labels.empty()) return tokens->labels;
    for (const auto& sequence : tokens->sequences) {
        std::vector<std::string>& row = labels.emplace_back();
        for (const std::int64_t id : sequence) {
            const auto index = static_cast<std::size_t>(id);
            row.push_back(index < tokens->vocabulary.size() ? tokens->vocabulary[index]
                                                            : std::to_string(id));
        }
    }
    return labels;
}

void require_names(bool fine, const std::string& message) {
    if (!fine) throw ConfigError(message);
}

}  // namespace

std::vector<std::vector<std::string>> token_names(
    const Source& source, const std::vector<std::vector<std::string>>& names, std::size_t batch,
    std::size_t length) {
    std::vector<std::vector<std::string>> labels = usual_labels(source);
    if (names.empty()) return labels;
    require_names(names.size() == 1 || names.size() == batch,
                  "$tokens has "_message + std::to_string(names.size()) + " lists for " +
                      std::to_string(batch) + " sequences: give one for each, or one for all");
    const auto* tokens = std::get_if<Tokens>(&source);
    labels.resize(batch, labels.empty() ? std::vector<std::string>() : labels.back());
    for (std::size_t b = 0; b < batch; ++b) {
        const std::vector<std::string>& row = names[std::min(b, names.size() - 1)];
        for (std::size_t i = labels[b].size(); i < length; ++i)
            labels[b].push_back(std::to_string(i));
        // Padding needs no name.
        std::size_t needed = length;
        while (tokens != nullptr && tokens->pad_id && needed > row.size() &&
               tokens->sequences[std::min(b, tokens->sequences.size() - 1)][needed - 1] ==
                   *tokens->pad_id) {
            --needed;
        }
        require_names(row.size() >= needed && row.size() <= length,
                      "$tokens gives "_message + std::to_string(row.size()) + " names for the " +
                          std::to_string(length) +
                          " tokens of x: give one for each, and _ for what needs none");
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row[i] != "_") labels[b][i] = row[i];
        }
    }
    return labels;
}

}  // namespace attn
