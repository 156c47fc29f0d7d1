#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/io/json.hpp"
#include "attn/models/pieces.hpp"
#include "attn/models/tokenizer.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

std::string utf8(std::int32_t point) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t count = utf8proc_encode_char(point, bytes.data());
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count)};
}

enum class Class { letter, number, blank, other };

Class class_of(std::int32_t point) {
    const utf8proc_category_t category = utf8proc_category(point);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return Class::letter;
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return Class::number;
    const bool blank = category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
                       category == UTF8PROC_CATEGORY_ZP || (point >= 9 && point <= 13) ||
                       point == 0x85 || (point >= 0x1C && point <= 0x1F);
    return blank ? Class::blank : Class::other;
}

/// The words of a text as GPT-2 cuts them: endings like 're, then runs of letters, of numbers and
/// of other marks, each with the blank in front of it, then what blanks are left.
std::vector<std::string> gpt2_words(std::string_view text) {
    const auto points = points_of(text);
    std::vector<std::string> words;
    const auto kind = [&](std::size_t i) { return class_of(points[i].first); };
    for (std::size_t i = 0; i < points.size();) {
        std::string word;
        for (const std::string ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
            std::string here;
            for (std::size_t k = i; k < std::min(i + ending.size(), points.size()); ++k) {
                here += points[k].second;
            }
            if (here == ending && word.empty()) word = ending;
        }
        if (!word.empty()) {
            i += word.size();
            words.push_back(word);
            continue;
        }
        std::size_t end = i + (points[i].first == ' ' ? 1 : 0);
        if (end < points.size() && kind(end) != Class::blank) {
            const Class same = kind(end);
            while (end < points.size() && kind(end) == same) ++end;
        } else {
            end = i;
            while (end < points.size() && kind(end) == Class::blank) ++end;
            // The last blank belongs to the word behind it.
            if (end < points.size() && end - i > 1) --end;
        }
        for (; i < end; ++i) word += points[i].second;
        words.push_back(word);
    }
    return words;
}

/// The letters that GPT-2's vocabulary writes for the 256 bytes: visible ones for themselves, the
/// others from U+0100 on.
const std::array<std::string, 256>& letters_of_bytes() {
    static const std::array<std::string, 256> letters = [] {
        std::array<std::string, 256> all;
        std::int32_t next = 0x100;
        for (std::int32_t byte = 0; byte < 256; ++byte) {
            const bool visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) ||
                                 (byte >= 174 && byte <= 255);
            all[static_cast<std::size_t>(byte)] = utf8(visible ? byte : next++);
        }
        return all;
    }();
    return letters;
}

/// How a text is cut before pieces are joined.
enum class Cut { gpt2, sentencepiece, unknown };

class MergeTokenizer : public Tokenizer {
public:
    std::vector<std::string> pieces;  ///< text of each id
    std::unordered_map<std::string, std::int64_t> ids;
    std::unordered_map<std::string, std::size_t> ranks;  ///< of two pieces with a blank between
    std::vector<std::int64_t> first;                     ///< ids in front of every text
    std::vector<bool> special;                           ///< of each id: it stands for no text
    Cut cut = Cut::unknown;

    std::vector<std::int64_t> encode(std::string_view text) const override {
        if (cut == Cut::unknown) {
            throw InputError(
                "tokenizer.json cuts text in a way that is not known here: pass --ids");
        }
        std::vector<std::int64_t> all = first;
        if (text.empty()) return all;
        if (cut == Cut::gpt2) {
            for (const std::string& word : gpt2_words(text)) {
                std::vector<std::string> symbols;
                for (const char byte : word) {
                    symbols.push_back(letters_of_bytes()[static_cast<unsigned char>(byte)]);
                }
                append(std::move(symbols), all);
            }
            return all;
        }
        std::vector<std::string> symbols{std::string(word_mark)};
        for (const auto& [point, character] : points_of(text)) {
            symbols.emplace_back(point == ' ' ? word_mark : character);
        }
        append(std::move(symbols), all);
        return all;
    }

    std::string piece(std::int64_t id, std::int64_t previous) const override {
        if (special[static_cast<std::size_t>(id)]) return {};
        const std::string text = text_of_piece(id);
        const bool at_the_beginning =
            previous < 0 || std::find(first.begin(), first.end(), previous) != first.end();
        const bool drops_blank = cut == Cut::sentencepiece && at_the_beginning;
        return drops_blank && text.starts_with(' ') ? text.substr(1) : text;
    }

    std::string label(std::int64_t id) const override { return visible(text_of_piece(id)); }

private:
    std::string text_of_piece(std::int64_t id) const {
        const std::string& stored = pieces[static_cast<std::size_t>(id)];
        if (cut != Cut::sentencepiece) return bytes_of(stored);
        if (const int byte = byte_of(stored); byte >= 0) return {static_cast<char>(byte)};
        std::string text = stored;
        for (std::size_t at = text.find(word_mark); at != text.npos; at = text.find(word_mark)) {
            text.replace(at, word_mark.size(), " ");
        }
        return text;
    }

    /// The bytes that the letters of a piece stand for; other letters stand for themselves.
    static std::string bytes_of(const std::string& stored) {
        static const std::unordered_map<std::string, char> bytes = [] {
            std::unordered_map<std::string, char> all;
            for (std::size_t i = 0; i < 256; ++i) {
                all[letters_of_bytes()[i]] = static_cast<char>(i);
            }
            return all;
        }();
        std::string text;
        for (const auto& [point, character] : points_of(stored)) {
            const auto found = bytes.find(std::string(character));
            if (found == bytes.end()) return stored;
            text += found->second;
        }
        return text;
    }

    /// Joins the neighbours whose merge stands first in the list, until there is none; what is no
    /// piece then falls into bytes.
    void append(std::vector<std::string> symbols, std::vector<std::int64_t>& all) const {
        const auto merged = [this](const std::string& left, const std::string& right) {
            const auto found = ranks.find(left + " " + right);
            std::optional<Joined<std::string>> joined;
            if (found != ranks.end()) joined = {static_cast<double>(found->second), left + right};
            return joined;
        };
        for (const std::string& symbol : join_best(std::move(symbols), merged)) {
            if (const auto found = ids.find(symbol); found != ids.end()) {
                all.push_back(found->second);
                continue;
            }
            for (const char byte : symbol) {
                const auto found_byte = ids.find(byte_piece(static_cast<unsigned char>(byte)));
                if (found_byte == ids.end()) {
                    throw InputError("the tokenizer has no token for " + shown(symbol) +
                                     ": leave it out, or pass --ids");
                }
                all.push_back(found_byte->second);
            }
        }
    }
};

/// How tokenizer.json says that a text is cut.
Cut cut_in(const Json& file) {
    const auto is = [&file](const char* key, const char* type) {
        const auto part = file.find(key);
        return part != file.end() && part->is_object() && part->value("type", "") == type;
    };
    const auto type_of = [](const Json& part) {
        const bool named = part.is_object() && part.contains("type") && part["type"].is_string();
        return named ? part["type"].get<std::string>() : std::string();
    };
    if (is("pre_tokenizer", "ByteLevel")) return Cut::gpt2;
    if (is("pre_tokenizer", "Metaspace")) return Cut::sentencepiece;
    const auto normalizer = file.find("normalizer");
    const bool sequence = is("normalizer", "Sequence") && normalizer->contains("normalizers") &&
                          (*normalizer)["normalizers"].is_array();
    if (!sequence) return Cut::unknown;
    for (const Json& part : (*normalizer)["normalizers"]) {
        if (type_of(part) == "Prepend") return Cut::sentencepiece;
    }
    return Cut::unknown;
}

}  // namespace

std::shared_ptr<const Tokenizer> read_json_tokenizer(std::string_view text,
                                                     const std::string& label,
                                                     std::size_t vocab_size) {
    const auto refuse = [&label](const std::string& what) {
        throw InputError(label + ": " + what + ": give the tokenizer.json of the model");
    };
    const Json file = parse_json(text, label);
    if (!file.is_object() || !file.contains("model") || !file["model"].is_object()) {
        refuse("has no 'model'");
    }
    const Json& model = file["model"];
    auto made = std::make_shared<MergeTokenizer>();
    made->pieces.resize(vocab_size);
    made->special.resize(vocab_size);
    const auto take = [&](const std::string& piece, const Json& id) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocab_size) {
            refuse("the id of " + shown(piece) + " is none of the model's " +
                   std::to_string(vocab_size) + " tokens");
        }
        made->pieces[id.get<std::size_t>()] = piece;
        made->ids[piece] = id.get<std::int64_t>();
    };
    if (!model.contains("vocab") || !model["vocab"].is_object()) refuse("'model' has no 'vocab'");
    for (const auto& [piece, id] : model["vocab"].items()) take(piece, id);
    const auto added = file.find("added_tokens");
    if (added != file.end() && added->is_array()) {
        for (const Json& token : *added) {
            if (!token.is_object() || !token.contains("content") || !token.contains("id") ||
                !token["content"].is_string()) {
                refuse("'added_tokens' holds what is no token");
            }
            take(token["content"], token["id"]);
            made->special[token["id"].get<std::size_t>()] = true;
        }
    }
    // WordPiece and Unigram pieces are known by name, but texts are not cut into them.
    const bool merges = model.contains("merges") && model["merges"].is_array();
    if (merges) made->cut = cut_in(file);
    const Json none = Json::array();
    for (const Json& merge : merges ? model["merges"] : none) {
        const bool pair =
            merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
        if (!pair && !merge.is_string()) refuse("'merges' holds what is no pair of pieces");
        const std::string both =
            pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                 : merge.get<std::string>();
        made->ranks.try_emplace(both, made->ranks.size());
    }
    // What stands in front of the text in its template: <s>.
    const auto post = file.find("post_processor");
    if (post != file.end() && post->is_object() && post->contains("single") &&
        (*post)["single"].is_array()) {
        for (const Json& part : (*post)["single"]) {
            if (!part.is_object() || !part.contains("SpecialToken")) break;
            const Json& token = part["SpecialToken"];
            const auto found = token.is_object() && token.contains("id") && token["id"].is_string()
                                   ? made->ids.find(token["id"].get<std::string>())
                                   : made->ids.end();
            if (found == made->ids.end()) refuse("'post_processor' names no token");
            made->first.push_back(found->second);
        }
    }
    return made;
}

}  // namespace attn::models
