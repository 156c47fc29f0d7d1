#include "attn/models/text_cuts.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <utf8proc.h>
#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/pattern.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;
using Normalizer = TextCuts::Normalizer;
using Cut = TextCuts::Cut;

const std::string blank_mark(word_mark);
const std::string gpt2_words =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const std::string punctuation = "[!-/:-@\\[-`{-~\\p{P}]";
const std::string ideograph =
    "[\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F\U0002B740-\U0002B81F"
    "\U0002B920-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F]";

/// Returns the parts of a Sequence.
std::vector<Json> parts_in(const Json& part, const char* key) {
    const Json all = part_of(part, key);
    std::vector<Json> parts;
    for (const Json& each : all.is_array() ? all : Json::array()) {
        if (each.is_object()) parts.push_back(each);
    }
    return parts;
}

/// Returns the pattern of a part: {"Regex": ...} or {"String": ...}.
Pattern pattern_in(const Json& part, const TextCuts& cuts) {
    const Json pattern = part_of(part, "pattern");
    std::string text = word_in(pattern, "Regex");
    for (const char letter : word_in(pattern, "String")) {
        const bool means = std::string_view("\\^$.|?*+()[]{}").find(letter) != std::string::npos;
        text += (means ? "\\" : "") + std::string{letter};
    }
    if (text.empty()) {
        throw InputError(cuts.label +
                         ": has a part without a pattern: give the tokenizer.json of the model");
    }
    return Pattern(text, cuts.label);
}

/// A part of a text that matches a pattern, or that lies between matches.
struct Part {
    std::string text;
    bool fits;
};

std::vector<Part> parts_of(const std::string& text, const Pattern& pattern) {
    std::vector<Part> parts;
    std::size_t done = 0;
    const auto add = [&](std::size_t end, bool fits) {
        if (end > done) parts.push_back({text.substr(done, end - done), fits});
        done = end;
    };
    for (const auto& [begin, end] : pattern.matches(text)) {
        add(begin, false);
        add(end, true);
    }
    add(text.size(), false);
    return parts;
}

// Normalizers.

Normalizer mapping(int options) {
    return [options](const std::string& text) {
        utf8proc_uint8_t* result = nullptr;
        const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &result,
                                       static_cast<utf8proc_option_t>(options));
        const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(result, &std::free);
        if (size < 0) throw InputError("the text is not UTF-8: save it as UTF-8");
        return std::string(reinterpret_cast<const char*>(result), static_cast<std::size_t>(size));
    };
}

constexpr std::size_t most_bytes = 4U << 20U;
[[noreturn]] void refuse_length() {
    throw InputError(
        "tokenizer.json makes more than 4 MB of the text: give a shorter text, or the "
        "tokenizer.json of the model");
}

/// Rewrites each match as `before`, the match itself if it stays, and `after`.
Normalizer writing(const Pattern& pattern, const std::string& before, bool stays,
                   const std::string& after) {
    return [=](const std::string& text) {
        std::string result;
        for (const Part& part : parts_of(text, pattern)) {
            result += part.fits ? before + (stays ? part.text : "") + after : part.text;
            if (result.size() > most_bytes) refuse_length();
        }
        return result;
    };
}

Normalizer replacing(const std::string& pattern, const std::string& by) {
    return writing(Pattern(pattern), by, false, "");
}

Normalizer lower_case() {
    return [](const std::string& text) {
        std::string result;
        for (const auto& [point, character] : points_of(text)) {
            // The only capital letter that becomes two characters, in any context.
            result += point == 0x130 ? "i\u0307" : utf8_of(utf8proc_tolower(point));
        }
        return result;
    };
}

Normalizer one_after_another(const std::vector<Normalizer>& all) {
    return [all](const std::string& text) {
        std::string result = text;
        for (const Normalizer& each : all) result = each(result);
        return result;
    };
}

/// Removes control characters, separates ideographs, and strips accents in lower-case models.
Normalizer bert_normalizer(const Json& part) {
    const bool lower = flag_in(part, "lowercase", true);
    std::vector<Normalizer> all;
    if (flag_in(part, "clean_text", true)) {
        all.push_back(replacing("[\\t\\n\\r\\p{Z}]", " "));
        all.push_back(replacing("[\\p{Cc}\\p{Cf}\\p{Co}\uFFFD]", ""));
    }
    if (flag_in(part, "handle_chinese_chars", true)) {
        all.push_back(writing(Pattern(ideograph), " ", true, " "));
    }
    if (flag_in(part, "strip_accents", lower)) {
        all.push_back(mapping(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE));
        all.push_back(replacing("\\p{Mn}", ""));
    }
    if (lower) all.push_back(lower_case());
    return one_after_another(all);
}

Normalizer normalizer_of(const Json& part, TextCuts& cuts) {
    const std::string type = word_in(part, "type");
    const int composed = UTF8PROC_COMPOSE | UTF8PROC_STABLE;
    const int decomposed = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE;
    if (type == "NFC") return mapping(composed);
    if (type == "NFD") return mapping(decomposed);
    if (type == "NFKC") return mapping(composed | UTF8PROC_COMPAT);
    if (type == "NFKD") return mapping(decomposed | UTF8PROC_COMPAT);
    if (type == "Lowercase") return lower_case();
    if (type == "StripAccents") return replacing("\\p{M}", "");
    if (type == "BertNormalizer") return bert_normalizer(part);
    if (type == "Replace") {
        const std::string content = word_in(part, "content");
        cuts.marks_blanks = cuts.marks_blanks || content == blank_mark;
        return writing(pattern_in(part, cuts), content, false, "");
    }
    if (type == "Prepend") {
        cuts.begins_with_blank = true;
        return [front = word_in(part, "prepend")](const std::string& text) {
            if (front.size() + text.size() > most_bytes) refuse_length();
            return text.empty() ? text : front + text;
        };
    }
    if (type == "Sequence") {
        std::vector<Normalizer> all;
        for (const Json& each : parts_in(part, "normalizers")) {
            all.push_back(normalizer_of(each, cuts));
        }
        return one_after_another(all);
    }
    cuts.unknown = "the normalizer " + type;
    return {};
}

// Pre-tokenizers.

/// Splits at matches of a pattern, which are then Isolated, Removed, MergedWithPrevious,
/// MergedWithNext or Contiguous.
Cut splitting(const Pattern& pattern, const std::string& behavior, bool inverted = false) {
    const auto joins = [behavior](bool previous_fits, bool fits) {
        if (behavior == "MergedWithPrevious") return fits && !previous_fits;
        if (behavior == "MergedWithNext") return previous_fits && !fits;
        return behavior == "Contiguous" && previous_fits == fits;
    };
    return [=](const std::string& text, bool) {
        Words words;
        bool previous = false;
        for (const Part& part : parts_of(text, pattern)) {
            const bool fits = part.fits != inverted;
            if (fits && behavior == "Removed") continue;
            if (!words.empty() && joins(previous, fits)) {
                words.back() += part.text;
            } else {
                words.push_back(part.text);
            }
            previous = fits;
        }
        return words;
    };
}

/// Splits each word of the first splitting by the second.
Cut both(const Cut& one, const Cut& other) {
    return [=](const std::string& text, bool first) {
        Words words;
        std::size_t size = 0;
        for (const std::string& word : one(text, first)) {
            for (std::string& part : other(word, first && words.empty())) {
                if ((size += part.size()) > most_bytes) refuse_length();
                words.push_back(std::move(part));
            }
        }
        return words;
    };
}

Cut whole() {
    return [](const std::string& text, bool) { return Words{text}; };
}

Cut byte_level(const Json& part, TextCuts& cuts) {
    cuts.of_bytes = true;
    const bool blank = flag_in(part, "add_prefix_space", false);
    cuts.begins_with_blank = cuts.begins_with_blank || blank;
    const Cut in_front = [blank](const std::string& text, bool) {
        return Words{blank && !text.starts_with(' ') ? " " + text : text};
    };
    const Cut letters = [](const std::string& word, bool) {
        std::string original_names;
        for (const char byte : word)
            original_names += letter_of_byte(static_cast<unsigned char>(byte));
        return Words{original_names};
    };
    const bool cut = flag_in(part, "use_regex", true);
    return both(both(in_front, cut ? splitting(Pattern(gpt2_words), "Isolated") : whole()),
                letters);
}

Cut metaspace(const Json& part, TextCuts& cuts) {
    cuts.marks_blanks = true;
    const bool legacy = flag_in(part, "add_prefix_space", true);
    const std::string scheme = word_in(part, "prepend_scheme", legacy ? "always" : "never");
    cuts.begins_with_blank = scheme != "never";
    const Cut marked = [=](const std::string& text, bool first) {
        const std::string result = replacing(" ", blank_mark)(text);
        const bool prepends = scheme == "always" || (scheme == "first" && first);
        return Words{prepends && !result.starts_with(blank_mark) ? blank_mark + result : result};
    };
    const bool split = flag_in(part, "split", true);
    return both(marked, split ? splitting(Pattern(blank_mark), "MergedWithNext") : whole());
}

Cut cut_of(const Json& part, TextCuts& cuts) {
    const std::string type = word_in(part, "type");
    if (type == "ByteLevel") return byte_level(part, cuts);
    if (type == "Metaspace") return metaspace(part, cuts);
    if (type == "Split") {
        return splitting(pattern_in(part, cuts), word_in(part, "behavior"),
                         flag_in(part, "invert", false));
    }
    if (type == "Digits") {
        const bool single = flag_in(part, "individual_digits", false);
        return splitting(Pattern("\\p{N}"), single ? "Isolated" : "Contiguous");
    }
    if (type == "Punctuation") {
        return splitting(Pattern(punctuation), word_in(part, "behavior", "Isolated"));
    }
    if (type == "Whitespace") {
        return splitting(Pattern(fmt::format("[{0}]+|[^{0}\\s]+", word_letters)), "Removed", true);
    }
    if (type == "WhitespaceSplit") return splitting(Pattern("\\s"), "Removed");
    if (type == "BertPreTokenizer") {
        return both(splitting(Pattern("\\s"), "Removed"),
                    splitting(Pattern(punctuation), "Isolated"));
    }
    if (type == "Sequence") {
        Cut all = whole();
        for (const Json& each : parts_in(part, "pretokenizers"))
            all = both(all, cut_of(each, cuts));
        return all;
    }
    cuts.unknown = "the pre_tokenizer " + type;
    return whole();
}

}  // namespace

Json part_of(const Json& whole, const char* key) {
    const auto found = whole.find(key);
    return found != whole.end() ? *found : Json();
}

std::string word_in(const Json& whole, const char* key, const std::string& default_value) {
    const Json found = part_of(whole, key);
    return found.is_string() ? found.get<std::string>() : default_value;
}

bool flag_in(const Json& whole, const char* key, bool default_value) {
    const Json found = part_of(whole, key);
    return found.is_boolean() ? found.get<bool>() : default_value;
}

TextCuts text_cuts_in(const Json& file, const std::string& label) {
    TextCuts cuts;
    cuts.label = label;
    const Json normalizer = part_of(file, "normalizer");
    const Json cut = part_of(file, "pre_tokenizer");
    cuts.normalized =
        normalizer.is_object() ? normalizer_of(normalizer, cuts) : one_after_another({});
    cuts.words = cut.is_object() ? cut_of(cut, cuts) : whole();
    return cuts;
}

const std::string& letter_of_byte(unsigned char byte) {
    static const std::array<std::string, 256> letters = [] {
        std::array<std::string, 256> all;
        utf8proc_int32_t next = 0x100;
        for (utf8proc_int32_t each = 0; each < 256; ++each) {
            const bool visible =
                (each >= 33 && each <= 126) || (each >= 161 && each <= 172) || each >= 174;
            all[static_cast<std::size_t>(each)] = utf8_of(visible ? each : next++);
        }
        return all;
    }();
    return letters[byte];
}

}  // namespace attn::models
