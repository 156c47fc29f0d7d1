#include "attn/models/tokenizer.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>
#include <utility>

#include "attn/tensor/error.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

constexpr std::int64_t begin_of_text = 1;
constexpr std::size_t first_byte = 3;  // behind unknown, beginning and end

/// The byte that a piece like `<0x0A>` stands for, or -1.
int byte_of(std::string_view piece) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
    const std::size_t high = digits.find(piece[3]);
    const std::size_t low = digits.find(piece[4]);
    if (high == digits.npos || low == digits.npos) return -1;
    return static_cast<int>(high * 16 + low);
}

class ScoredTokenizer : public Tokenizer {
public:
    struct Piece {
        std::string text;
        float score = 0;
    };

    explicit ScoredTokenizer(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {
        for (std::size_t id = 0; id < pieces_.size(); ++id) {
            ids_.try_emplace(pieces_[id].text, static_cast<std::int64_t>(id));
        }
    }

    std::vector<std::int64_t> encode(std::string_view text) const override {
        std::vector<std::int64_t> ids{begin_of_text};
        if (text.empty()) return ids;
        for (const std::string_view character : characters(text)) append(character, ids);
        while (join_the_best(ids)) {
        }
        return ids;
    }

    std::string piece(std::int64_t id, std::int64_t previous) const override {
        const std::string& text = pieces_[static_cast<std::size_t>(id)].text;
        if (const int byte = byte_of(text); byte >= 0) return {static_cast<char>(byte)};
        if (id < static_cast<std::int64_t>(first_byte)) return {};
        const bool first = previous < 0 || previous == begin_of_text;
        return first && text.starts_with(' ') ? text.substr(1) : text;
    }

    std::string label(std::int64_t id) const override {
        if (id == begin_of_text) return "<s>";
        const std::string& text = pieces_[static_cast<std::size_t>(id)].text;
        const int byte = byte_of(text);
        const std::string shown = byte >= 0 ? std::string{static_cast<char>(byte)} : text;
        return visible(shown);
    }

    std::string as_json() const override {
        // Every way to make a piece of two others is a merge; those of high scores come first.
        struct Merge {
            float score;
            std::string left, right;
        };
        std::vector<Merge> merges;
        std::string vocabulary;
        for (std::size_t id = 0; id < pieces_.size(); ++id) {
            const std::string& text = pieces_[id].text;
            vocabulary +=
                (id == 0 ? "" : ", ") + json_string(written(id)) + ": " + std::to_string(id);
            if (id < first_byte + 256) continue;
            for (std::size_t i = 1; i < text.size(); ++i) {
                const std::string left = text.substr(0, i);
                const std::string right = text.substr(i);
                if (!ids_.contains(left) || !ids_.contains(right)) continue;
                merges.push_back({pieces_[id].score, left, right});
            }
        }
        std::stable_sort(merges.begin(), merges.end(), [](const Merge& one, const Merge& other) {
            return one.score > other.score;
        });
        std::string pairs;
        for (const Merge& merge : merges) {
            pairs += (pairs.empty() ? "" : ", ") + std::string("[") +
                     json_string(with_marks(merge.left)) + ", " +
                     json_string(with_marks(merge.right)) + "]";
        }
        std::string added;
        for (const char* token : {"<unk>", "<s>", "</s>"}) {
            const std::string id = std::to_string(added.empty() ? 0 : token[1] == 's' ? 1 : 2);
            added += (added.empty() ? "" : ", ") + std::string("{\"id\": ") + id +
                     ", \"content\": " + json_string(token) +
                     ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                     "\"normalized\": false, \"special\": true}";
        }
        return "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null,\n"
               " \"added_tokens\": [" +
               added +
               "],\n"
               " \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
               "\"Prepend\", \"prepend\": \"\u2581\"}, {\"type\": \"Replace\", \"pattern\": "
               "{\"String\": \" \"}, \"content\": \"\u2581\"}]},\n"
               " \"pre_tokenizer\": null,\n"
               " \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
               "[{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}, {\"Sequence\": "
               "{\"id\": \"A\", \"type_id\": 0}}], \"pair\": [{\"Sequence\": {\"id\": "
               "\"A\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}], "
               "\"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [1], \"tokens\": "
               "[\"<s>\"]}}},\n"
               " \"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", "
               "\"pattern\": {\"String\": \"\u2581\"}, \"content\": \" \"}, {\"type\": "
               "\"ByteFallback\"}, {\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": "
               "\" \", \"start\": 1, \"stop\": 0}]},\n"
               " \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": \"<unk>\", "
               "\"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": "
               "true, \"byte_fallback\": true,\n  \"vocab\": {" +
               vocabulary + "},\n  \"merges\": [" + pairs + "]}}\n";
    }

private:
    /// A piece as sentencepiece writes it, its blanks as marks.
    static std::string with_marks(const std::string& text) {
        std::string marked;
        for (const char letter : text) marked += letter == ' ' ? "\u2581" : std::string{letter};
        return marked;
    }
    std::string written(std::size_t id) const {
        if (id == 0) return "<unk>";
        if (id < first_byte) return id == 1 ? "<s>" : "</s>";
        return byte_of(pieces_[id].text) >= 0 ? pieces_[id].text : with_marks(pieces_[id].text);
    }

    /// The characters of a text behind the blank that every text begins with.
    static std::vector<std::string_view> characters(std::string_view text) {
        std::vector<std::string_view> all{" "};
        for (std::size_t i = 0; i < text.size();) {
            const std::size_t ones =
                static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(text[i])));
            const std::size_t bytes = ones == 0 ? 1 : ones;
            const auto continues = [&](std::size_t at) {
                return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
            };
            bool whole = ones == 0 || (ones >= 2 && ones <= 4);
            for (std::size_t k = 1; k < bytes && whole; ++k) whole = continues(i + k);
            if (!whole) {
                throw InputError("the text is not UTF-8 at byte " + std::to_string(i) +
                                 ": save it as UTF-8");
            }
            all.push_back(text.substr(i, bytes));
            i += bytes;
        }
        return all;
    }

    void append(std::string_view character, std::vector<std::int64_t>& ids) const {
        if (const auto found = ids_.find(std::string(character)); found != ids_.end()) {
            ids.push_back(found->second);
            return;
        }
        for (const char byte : character) {
            ids.push_back(static_cast<std::int64_t>(first_byte + static_cast<unsigned char>(byte)));
        }
    }

    /// Joins the two neighbours whose joined piece has the highest score, the first of equals.
    bool join_the_best(std::vector<std::int64_t>& ids) const {
        float best = -std::numeric_limits<float>::infinity();
        std::size_t place = 0;
        std::int64_t joined = -1;
        for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
            const auto found = ids_.find(pieces_[static_cast<std::size_t>(ids[i])].text +
                                         pieces_[static_cast<std::size_t>(ids[i + 1])].text);
            if (found == ids_.end()) continue;
            const float score = pieces_[static_cast<std::size_t>(found->second)].score;
            if (joined >= 0 && !(score > best)) continue;
            best = score;
            place = i;
            joined = found->second;
        }
        if (joined < 0) return false;
        ids[place] = joined;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
        return true;
    }

    std::vector<Piece> pieces_;
    std::unordered_map<std::string, std::int64_t> ids_;
};

class LetterTokenizer : public Tokenizer {
public:
    explicit LetterTokenizer(std::size_t letters) : letters_(static_cast<std::int64_t>(letters)) {}

    std::vector<std::int64_t> encode(std::string_view text) const override {
        std::vector<std::int64_t> ids;
        for (const char letter : text) {
            if (letter == ' ' || letter == ',') continue;
            const char upper =
                letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
            if (upper < 'A' || upper >= 'A' + letters_) {
                throw InputError("the model knows the letters A to " + label(letters_ - 1) +
                                 ", not " + shown(std::string{letter}));
            }
            ids.push_back(upper - 'A');
        }
        if (ids.empty()) throw InputError("the text has no letter: try CBABBC");
        return ids;
    }
    std::string piece(std::int64_t id, std::int64_t) const override { return label(id); }
    std::string label(std::int64_t id) const override { return {static_cast<char>('A' + id)}; }

private:
    std::int64_t letters_;
};

}  // namespace

std::string text_of(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
    std::string text;
    std::int64_t previous = -1;
    for (const std::int64_t id : ids) {
        text += tokenizer.piece(id, previous);
        previous = id;
    }
    return text;
}

std::shared_ptr<const Tokenizer> read_scored_tokenizer(const InputFile& file,
                                                       std::size_t vocab_size) {
    std::vector<ScoredTokenizer::Piece> pieces;
    std::uint64_t place = 4;
    const auto refuse = [&](const std::string& what) {
        throw InputError(file.label() + ": token " + std::to_string(pieces.size()) + " " + what +
                         ": give the tokenizer of a model with " + std::to_string(vocab_size) +
                         " tokens");
    };
    while (pieces.size() < vocab_size) {
        const std::string head = file.text(place, 8);
        if (head.size() < 8) refuse("lies behind the end of the file");
        const auto score = static_cast<std::uint32_t>(little_endian(head, 4));
        const std::uint64_t bytes = little_endian(std::string_view(head).substr(4), 4);
        if (bytes == 0 || bytes > 1024) refuse("has " + std::to_string(bytes) + " bytes");
        const std::string text = file.text(place + 8, bytes);
        if (text.size() < bytes) refuse("lies behind the end of the file");
        pieces.push_back({text, std::bit_cast<float>(score)});
        place += 8 + bytes;
    }
    if (place != file.size()) {
        throw InputError(file.label() + ": goes on behind token " + std::to_string(vocab_size) +
                         ": it belongs to a model with more tokens");
    }
    if (pieces.size() < first_byte + 256) refuse("should be one of the 256 bytes");
    return std::make_shared<ScoredTokenizer>(std::move(pieces));
}

std::shared_ptr<const Tokenizer> letter_tokenizer(std::size_t vocab_size) {
    return std::make_shared<LetterTokenizer>(vocab_size);
}

}  // namespace attn::models
