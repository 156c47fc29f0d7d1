#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/files/io/json.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/pattern.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/text_cuts.hpp"
#include "attn/models/tokenizer.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<std::int64_t>;

/// Decodes the letters of a piece to bytes; a piece with other letters stays as it is.
std::string bytes_of(const std::string& piece) {
    static const std::unordered_map<std::string, char> bytes = [] {
        std::unordered_map<std::string, char> all;
        for (int byte = 0; byte < 256; ++byte) {
            all[letter_of_byte(static_cast<unsigned char>(byte))] = static_cast<char>(byte);
        }
        return all;
    }();
    std::string text;
    for (const auto& [point, character] : points_of(piece)) {
        const auto found = bytes.find(std::string(character));
        if (found == bytes.end()) return piece;
        text += found->second;
    }
    return text;
}

std::string with_blanks(std::string text) { return replaced_all(std::move(text), word_mark, " "); }

/// An added token.
struct Added {
    std::string pattern;  ///< the text that it matches
    std::int64_t id = 0;
    bool lstrip = false, rstrip = false;  ///< it includes the spaces before, or after, it
    bool single_word = false;             ///< not within a word
    bool normalized = false;              ///< it is searched for after normalization
};

/// The tokenizer of a tokenizer.json: normalizes a text, splits it into words, and makes each word
/// from pieces, by merges (BPE) or by the longest piece that fits (WordPiece).
class JsonTokenizer : public Tokenizer {
public:
    std::vector<std::string> pieces;  ///< text by id
    std::unordered_map<std::string, std::int64_t> ids;
    std::unordered_map<std::string, std::size_t> ranks;  ///< of two pieces joined by a space
    Ids first, last;                                     ///< ids around every text
    std::vector<Added> added;                            ///< tokens that are never split
    std::vector<bool> special;                           ///< by id: it has no text
    TextCuts cuts;
    bool longest_first = false;  ///< WordPiece
    bool whole_first = false;    ///< a word that is a piece needs no merges
    bool falls_into_bytes = false, joins_unknown = false;  ///< characters without a piece
    std::string in_word = "##";  ///< prefix of WordPiece's pieces, except the first of a word
    std::string unknown;         ///< the piece for unknown text; may be empty
    std::size_t longest_word = 100, longest_piece = 0;
    TokenizerSource source;

    Ids encode(std::string_view text) const override {
        if (!cuts.unknown.empty()) {
            throw InputError("tokenizer.json splits text in an unknown way (" +
                             quoted_text(cuts.unknown) + "): pass $ids"_message);
        }
        Ids all = first;
        for (const Stretch& outer : around_added(std::string(text), false)) {
            if (outer.token != nullptr) all.push_back(outer.token->id);
            if (outer.token != nullptr || outer.text.empty()) continue;
            for (const Stretch& inner : around_added(cuts.normalized(outer.text), true)) {
                if (inner.token != nullptr) all.push_back(inner.token->id);
                if (inner.token != nullptr) continue;
                const bool begins = outer.begins && inner.begins;
                for (const std::string& word : cuts.words(inner.text, begins)) append(word, all);
            }
        }
        all.insert(all.end(), last.begin(), last.end());
        for (const std::int64_t id : all) {
            if (static_cast<std::size_t>(id) < pieces.size()) continue;
            throw InputError("the text contains token " + std::to_string(id) +
                             " of tokenizer.json, but the model has " +
                             std::to_string(pieces.size()) + ": leave it out");
        }
        return all;
    }

    std::string piece(std::int64_t id, std::int64_t previous) const override {
        if (special[place_of_token(id, special.size())]) return {};
        const std::string text = text_of_piece(id);
        const bool begins = previous < 0 || std::ranges::count(first, previous) > 0;
        if (longest_first && text.starts_with(in_word)) return text.substr(in_word.size());
        if (longest_first) return (begins ? "" : " ") + text;
        return cuts.begins_with_blank && begins && text.starts_with(' ') ? text.substr(1) : text;
    }

    std::string label(std::int64_t id) const override { return visible(text_of_piece(id)); }
    std::string as_json() const override { return source.as_json ? source.as_json() : ""; }
    Json as_gguf() const override { return source.as_gguf ? source.as_gguf() : Json::object(); }

private:
    // An added token, or the text before one.
    struct Stretch {
        const Added* token = nullptr;
        std::string text;
        bool begins = false;  ///< at the beginning of the whole text
    };

    /// Splits a text at its added tokens, before or after normalization.
    std::vector<Stretch> around_added(const std::string& text, bool normalized) const {
        static const Pattern blanks("\\s+"), letters("[" + std::string(word_letters) + "]");
        std::vector<Stretch> all;
        std::size_t done = 0;
        const auto add_text = [&](std::size_t end) {
            if (end > done) all.push_back({nullptr, text.substr(done, end - done), done == 0});
        };
        for (std::size_t at = 0; at < text.size();) {
            const auto [place, token] = next_added(text, at, normalized);
            if (token == nullptr) break;
            std::size_t begin = place;
            std::size_t end = place + token->pattern.size();
            at = end;
            const auto touches = [&](const auto& match) {
                return match.second == begin || match.first == end;
            };
            if (token->single_word && std::ranges::any_of(letters.matches(text), touches)) continue;
            if (token->lstrip || token->rstrip) {
                for (const auto& [from, to] : blanks.matches(text)) {
                    if (token->lstrip && from < begin && to >= begin) begin = std::max(from, done);
                    if (token->rstrip && from <= end && to > end) end = to;
                }
            }
            add_text(begin), all.push_back({token, "", false});
            done = at = end;
        }
        add_text(text.size());
        return all;
    }

    /// Returns the first added token from `at` on, the longest if several begin there.
    std::pair<std::size_t, const Added*> next_added(const std::string& text, std::size_t at,
                                                    bool normalized) const {
        std::pair<std::size_t, const Added*> found{text.size(), nullptr};
        for (const Added& token : added) {
            if (token.normalized != normalized || token.pattern.empty()) continue;
            const std::size_t place = text.find(token.pattern, at);
            const bool longer = found.second != nullptr && place == found.first &&
                                token.pattern.size() > found.second->pattern.size();
            if (place != text.npos && (place < found.first || longer)) found = {place, &token};
        }
        return found;
    }

    std::string text_of_piece(std::int64_t id) const {
        const std::string& stored = pieces[place_of_token(id, pieces.size())];
        if (cuts.of_bytes) return bytes_of(stored);
        if (!cuts.marks_blanks) return stored;
        if (const int byte = byte_of(stored); byte >= 0) return {static_cast<char>(byte)};
        return with_blanks(stored);
    }

    void append(const std::string& word, Ids& all) const {
        const auto whole = ids.find(word);
        if (whole_first && whole != ids.end()) {
            all.push_back(whole->second);
            return;
        }
        std::vector<std::string> symbols;
        for (const auto& [point, character] : points_of(word)) symbols.emplace_back(character);
        longest_first ? append_longest(symbols, all) : append_merged(std::move(symbols), all);
    }

    /// Appends the longest piece that the word begins with, then that of the rest, marked as such;
    /// a word without such pieces is unknown as a whole.
    void append_longest(const std::vector<std::string>& characters, Ids& all) const {
        Ids result;
        std::size_t done = 0;
        while (done < characters.size() && characters.size() <= longest_word) {
            std::size_t count = std::min(characters.size() - done, longest_piece);
            for (; count > 0; --count) {
                std::string piece = done > 0 ? in_word : "";
                for (std::size_t i = 0; i < count; ++i) piece += characters[done + i];
                const auto found = ids.find(piece);
                if (found == ids.end()) continue;
                result.push_back(found->second);
                break;
            }
            if (count == 0) break;
            done += count;
        }
        if (done < characters.size()) result = {unknown_id(characters.front())};
        all.insert(all.end(), result.begin(), result.end());
    }

    /// Joins the neighbours whose merge is first in the list, until there is none; characters
    /// without a piece become bytes or unknown, as the file sets.
    void append_merged(std::vector<std::string> symbols, Ids& all) const {
        const auto merged = [this](const std::string& left, const std::string& right) {
            const auto found = ranks.find(left + " " + right);
            std::optional<Joined<std::string>> joined;
            if (found != ranks.end()) joined = {static_cast<double>(found->second), left + right};
            return joined;
        };
        bool was_unknown = false;
        for (const std::string& symbol : join_best(std::move(symbols), merged)) {
            const bool joins = std::exchange(was_unknown, false) && joins_unknown;
            if (const auto found = ids.find(symbol); found != ids.end()) {
                all.push_back(found->second);
                continue;
            }
            Ids bytes;
            for (const char byte : falls_into_bytes ? symbol : std::string()) {
                const auto found = ids.find(byte_piece(static_cast<unsigned char>(byte)));
                if (found != ids.end()) bytes.push_back(found->second);
            }
            was_unknown = bytes.size() < symbol.size();
            if (was_unknown) bytes = joins ? Ids{} : Ids{unknown_id(symbol)};
            all.insert(all.end(), bytes.begin(), bytes.end());
        }
    }

    std::int64_t unknown_id(const std::string& symbol) const {
        const auto found = ids.find(unknown);
        if (found != ids.end()) return found->second;
        throw InputError("the tokenizer has no token for " + quoted_text(symbol) +
                         ": leave it out, or pass $ids"_message);
    }
};

/// Reads the parts of a tokenizer.json.
class Reader {
public:
    Reader(Json file, std::string label, std::size_t vocab_size, TokenizerSource source)
        : label_(std::move(label)),
          file_(std::move(file)),
          tokenizer_(std::make_shared<JsonTokenizer>()) {
        if (!file_.is_object() || !file_.contains("model") || !file_["model"].is_object()) {
            refuse("has no 'model'");
        }
        tokenizer_->source = std::move(source);
        tokenizer_->pieces.resize(vocab_size);
        tokenizer_->special.resize(vocab_size);
    }

    std::shared_ptr<const Tokenizer> tokenizer() {
        const Json& model = file_["model"];
        take_pieces(model);
        take_model(model);
        if (tokenizer_->cuts.unknown.empty()) tokenizer_->cuts = text_cuts_in(file_, label_);
        for (Added& each : tokenizer_->added) {
            if (each.normalized && tokenizer_->cuts.unknown.empty()) {
                each.pattern = tokenizer_->cuts.normalized(each.pattern);
            }
        }
        take_surroundings(part_of(file_, "post_processor"));
        return tokenizer_;
    }

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": give the tokenizer.json of the model");
    }
    /// Added tokens may lie beyond the model's vocabulary, as long as no text contains them.
    void take(const std::string& piece, const Json& id, bool is_added = false) {
        constexpr std::uint64_t most = 1U << 30U;
        const bool is_id = id.is_number_unsigned() && id.get<std::uint64_t>() < most;
        const bool has = is_id && id.get<std::uint64_t>() < tokenizer_->pieces.size();
        if (!is_id || (!has && !is_added)) {
            refuse("the id of " + quoted_text(piece) + " is not one of the model's " +
                   std::to_string(tokenizer_->pieces.size()) + " tokens");
        }
        if (has) tokenizer_->pieces[id.get<std::size_t>()] = piece;
        tokenizer_->ids[piece] = id.get<std::int64_t>();
        tokenizer_->longest_piece = std::max(tokenizer_->longest_piece, piece.size());
    }

    void take_pieces(const Json& model) {
        const Json vocab = part_of(model, "vocab");
        if (!vocab.is_object() && !vocab.is_array()) refuse("'model' has no 'vocab'");
        for (const auto& [place, entry] : vocab.items()) {
            if (vocab.is_object()) {
                take(place, entry);
            } else if (entry.is_array() && !entry.empty() && entry[0].is_string()) {
                take(entry[0], std::stoull(place));  // Unigram: a piece and its log-probability
            }
        }
        const Json added = part_of(file_, "added_tokens");
        for (const Json& token : added.is_array() ? added : Json::array()) {
            const std::string text = word_in(token, "content");
            if (text.empty() || !token.contains("id")) {
                refuse("'added_tokens' has entries that are not tokens");
            }
            take(text, token["id"], true);
            const auto is_set = [&token](const char* key) { return flag_in(token, key, false); };
            const auto id = token["id"].get<std::size_t>();
            tokenizer_->added.push_back({text, static_cast<std::int64_t>(id), is_set("lstrip"),
                                         is_set("rstrip"), is_set("single_word"),
                                         is_set("normalized")});
            if (id < tokenizer_->special.size() && flag_in(token, "special", true)) {
                tokenizer_->special[id] = true;
            }
        }
    }

    /// Reads the model that splits words. With unsupported models, pieces have only labels.
    void take_model(const Json& model) {
        const Json merges = part_of(model, "merges");
        const std::string type = word_in(model, "type");
        // Older files omit the type.
        tokenizer_->longest_first =
            type == "WordPiece" ||
            (type.empty() && !merges.is_array() && model.contains("continuing_subword_prefix"));
        tokenizer_->unknown = word_in(model, "unk_token");
        tokenizer_->whole_first = flag_in(model, "ignore_merges", false);
        tokenizer_->falls_into_bytes = flag_in(model, "byte_fallback", false);
        tokenizer_->joins_unknown = flag_in(model, "fuse_unk", false);
        if (tokenizer_->longest_first) {
            if (model.contains("continuing_subword_prefix")) {
                tokenizer_->in_word = word_in(model, "continuing_subword_prefix");
            }
            const Json longest = part_of(model, "max_input_chars_per_word");
            if (longest.is_number_unsigned()) {  // the time is quadratic in it
                tokenizer_->longest_word = std::min<std::size_t>(1000, longest.get<std::size_t>());
            }
        } else if (!merges.is_array()) {
            tokenizer_->cuts.unknown = "the model " + type;
            tokenizer_->cuts.marks_blanks = type == "Unigram";
        } else if (!word_in(model, "continuing_subword_prefix").empty() ||
                   !word_in(model, "end_of_word_suffix").empty()) {
            tokenizer_->cuts.unknown = "merges with marked ends of words";
        }
        for (const Json& merge : merges.is_array() ? merges : Json::array()) {
            const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                              merge[1].is_string();
            if (!pair && !merge.is_string()) refuse("'merges' has entries that are not pairs");
            const std::string both = pair ? joined(merge.get<std::vector<std::string>>(), " ")
                                          : merge.get<std::string>();
            tokenizer_->ranks.try_emplace(both, tokenizer_->ranks.size());
        }
    }

    std::int64_t token(const Json& name) const {
        const auto found = name.is_string() ? tokenizer_->ids.find(name.get<std::string>())
                                            : tokenizer_->ids.end();
        if (found == tokenizer_->ids.end()) refuse("'post_processor' names no token");
        return found->second;
    }

    /// Reads the tokens before and after a text: <s>, [CLS] and [SEP].
    void take_surroundings(const Json& post) {
        for (const Json& each : part_of(post, "processors")) take_surroundings(each);
        const std::string type = word_in(post, "type");
        if (type == "BertProcessing" || type == "RobertaProcessing") {
            const Json begin = part_of(post, "cls");
            const Json end = part_of(post, "sep");
            if (!begin.is_array() || begin.empty() || !end.is_array() || end.empty()) {
                refuse("'post_processor' names no token");
            }
            tokenizer_->first.push_back(token(begin[0]));
            tokenizer_->last.push_back(token(end[0]));
        }
        Ids* place = &tokenizer_->first;
        const Json single = part_of(post, "single");
        for (const Json& each : single.is_array() ? single : Json::array()) {
            if (each.is_object() && each.contains("SpecialToken")) {
                place->push_back(token(part_of(each["SpecialToken"], "id")));
            } else {
                place = &tokenizer_->last;
            }
        }
    }

    std::string label_;
    Json file_;
    std::shared_ptr<JsonTokenizer> tokenizer_;
};

}  // namespace

std::shared_ptr<const Tokenizer> read_json_tokenizer(std::string_view text,
                                                     const std::string& label,
                                                     std::size_t vocab_size,
                                                     TokenizerSource source) {
    return Reader(parse_json(text, label), label, vocab_size, std::move(source)).tokenizer();
}

std::shared_ptr<const Tokenizer> tokenizer_of_json(Json file, const std::string& label,
                                                   std::size_t vocab_size, TokenizerSource source) {
    return Reader(std::move(file), label, vocab_size, std::move(source)).tokenizer();
}

}  // namespace attn::models
