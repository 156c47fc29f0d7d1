#include "attn/models/tokenizer.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/text_cuts.hpp"

namespace attn::models {
namespace {

constexpr std::string_view digits_of_bytes = "0123456789ABCDEF";

constexpr std::int64_t begin_of_text = 1;
constexpr std::size_t first_byte = 3;  // after unknown, beginning and end

/// An equivalent tokenizer.json, without its pieces.
constexpr std::string_view tokenizer_json =
    R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [%added],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
  {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
 "pre_tokenizer": null,
 "post_processor": {"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
  "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
 "decoder": {"type": "Sequence", "decoders": [
  {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
  {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
 "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
  "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true,
  "vocab": {%vocabulary},
  "merges": [%merges]}}
)";

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
        if (text.empty()) return {begin_of_text};
        std::vector<std::int64_t> ids;
        append(" ", ids);
        for (const auto& [point, character] : points_of(text)) append(character, ids);
        ids = join_best(std::move(ids), [this](std::int64_t left, std::int64_t right) {
            return joined(left, right);
        });
        ids.insert(ids.begin(), begin_of_text);
        return ids;
    }

    std::string piece(std::int64_t id, std::int64_t previous) const override {
        const std::string& text = pieces_[place_of_token(id, pieces_.size())].text;
        if (const int byte = byte_of(text); byte >= 0) return {static_cast<char>(byte)};
        if (id < static_cast<std::int64_t>(first_byte)) return {};
        const bool first = previous < 0 || previous == begin_of_text;
        return first && text.starts_with(' ') ? text.substr(1) : text;
    }

    std::string label(std::int64_t id) const override {
        if (id == begin_of_text) return "<s>";
        const std::string& text = pieces_[place_of_token(id, pieces_.size())].text;
        const int byte = byte_of(text);
        const std::string shown = byte >= 0 ? std::string{static_cast<char>(byte)} : text;
        return visible(shown);
    }

    std::string as_json() const override {
        // All pairs of pieces that form another piece are merges, highest scores first.
        struct Merge {
            float score;
            std::string left, right;
        };
        std::vector<Merge> merges;
        std::vector<std::string> vocabulary, pairs, added;
        for (std::size_t id = 0; id < pieces_.size(); ++id) {
            const std::string& text = pieces_[id].text;
            vocabulary.push_back(json_string(written(id)) + ": " + std::to_string(id));
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
        for (const Merge& merge : merges) {
            pairs.push_back("[" + json_string(with_marks(merge.left)) + ", " +
                            json_string(with_marks(merge.right)) + "]");
        }
        for (std::size_t id = 0; id < first_byte; ++id) {
            added.push_back("{\"id\": " + std::to_string(id) +
                            ", \"content\": " + json_string(written(id)) +
                            R"(, "single_word": false, "lstrip": false, "rstrip": false, )"
                            R"("normalized": false, "special": true})");
        }
        std::string json(tokenizer_json);
        const auto fill_in = [&json](std::string_view mark, const std::vector<std::string>& all) {
            json.replace(json.find(mark), mark.size(), attn::joined(all));
        };
        fill_in("%merges", pairs);
        fill_in("%vocabulary", vocabulary);
        fill_in("%added", added);
        return json;
    }

    nlohmann::json as_gguf() const override {
        nlohmann::json specified;
        for (std::size_t id = 0; id < pieces_.size(); ++id) {
            const int other = byte_of(pieces_[id].text) >= 0 ? 6 : 1;
            specified["tokenizer.ggml.tokens"].push_back(written(id));
            specified["tokenizer.ggml.scores"].push_back(static_cast<double>(pieces_[id].score));
            specified["tokenizer.ggml.token_type"].push_back(id == 0           ? 2
                                                             : id < first_byte ? 3
                                                                               : other);
        }
        specified["tokenizer.ggml.model"] = "llama";
        specified["tokenizer.ggml.unknown_token_id"] = 0U;
        specified["tokenizer.ggml.bos_token_id"] = 1U;
        specified["tokenizer.ggml.eos_token_id"] = 2U;
        specified["tokenizer.ggml.add_bos_token"] = true;
        return specified;
    }

private:
    /// Replaces spaces by marks, as sentencepiece does.
    static std::string with_marks(const std::string& text) {
        return replaced_all(text, " ", word_mark);
    }
    std::string written(std::size_t id) const {
        if (id == 0) return "<unk>";
        if (id < first_byte) return id == 1 ? "<s>" : "</s>";
        return byte_of(pieces_[id].text) >= 0 ? pieces_[id].text : with_marks(pieces_[id].text);
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

    /// Returns the token of two neighbours; those with high scores are joined first.
    std::optional<Joined<std::int64_t>> joined(std::int64_t left, std::int64_t right) const {
        const auto found = ids_.find(pieces_[static_cast<std::size_t>(left)].text +
                                     pieces_[static_cast<std::size_t>(right)].text);
        if (found == ids_.end()) return std::nullopt;
        const float score = pieces_[static_cast<std::size_t>(found->second)].score;
        return Joined<std::int64_t>{-static_cast<double>(score), found->second};
    }

    std::vector<Piece> pieces_;
    std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace

std::size_t place_of_token(std::int64_t id, std::size_t size) {
    const auto place = static_cast<std::size_t>(id);
    refuse_unless(place < size,
                  "there is no token " + std::to_string(id) + " among " + std::to_string(size));
    return place;
}

nlohmann::json Tokenizer::as_gguf() const { return nlohmann::json::object(); }

std::string byte_piece(unsigned char byte) {
    return std::string("<0x") + digits_of_bytes[byte >> 4U] + digits_of_bytes[byte & 15U] + ">";
}

int byte_of(std::string_view piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
    const std::size_t high = digits_of_bytes.find(piece[3]);
    const std::size_t low = digits_of_bytes.find(piece[4]);
    if (high == piece.npos || low == piece.npos) return -1;
    return static_cast<int>(high * 16 + low);
}

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
        if (head.size() < 8) refuse("is beyond the end of the file");
        const auto score = static_cast<std::uint32_t>(little_endian(head, 4));
        const std::uint64_t bytes = little_endian(std::string_view(head).substr(4), 4);
        if (bytes == 0 || bytes > 1024) refuse("has " + std::to_string(bytes) + " bytes");
        const std::string text = file.text(place + 8, bytes);
        if (text.size() < bytes) refuse("is beyond the end of the file");
        pieces.push_back({text, std::bit_cast<float>(score)});
        place += 8 + bytes;
    }
    if (place != file.size()) {
        throw InputError(file.label() + ": goes on after token " + std::to_string(vocab_size) +
                         ": it belongs to a model with more tokens");
    }
    if (pieces.size() < first_byte + 256) refuse("should be one of the 256 bytes");
    return std::make_shared<ScoredTokenizer>(std::move(pieces));
}

}  // namespace attn::models
