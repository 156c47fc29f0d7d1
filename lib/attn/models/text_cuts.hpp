#pragma once
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace attn::models {

/// What a tokenizer.json does with a text before its model joins pieces.
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

/// The letter that GPT-2's vocabulary writes for a byte: visible ones for themselves, the others
/// from U+0100 on.
const std::string& letter_of_byte(unsigned char byte);

}  // namespace attn::models
