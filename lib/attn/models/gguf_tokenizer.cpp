#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/gguf.hpp"
#include "attn/models/hf_config.hpp"
#include "attn/models/text_cuts.hpp"

namespace attn::models {
namespace {

using Json = nlohmann::json;

/// Kinds of tokens in tokenizer.ggml.token_type.
struct TokenKind {
    static constexpr int normal = 1, control = 3, by_user = 4;
};

/// Returns a list of the metadata; empty if it is missing.
Json list_in(const Json& metadata, const std::string& name) {
    const Json list = metadata.value("tokenizer.ggml." + name, Json::array());
    return list.is_array() ? list : Json::array();
}

/// Returns all pairs of pieces that form another piece, highest scores first, the order in which
/// sentencepiece joins them.
Json merges_by_score(const std::vector<std::string>& pieces, const std::vector<int>& kinds,
                     const Json& scores) {
    struct Merge {
        double score;
        std::string both;
    };
    std::unordered_set<std::string> known;
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        if (kinds[id] == TokenKind::normal) known.insert(pieces[id]);
    }
    std::vector<Merge> merges;
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        const std::string& piece = pieces[id];
        if (kinds[id] != TokenKind::normal || !scores[id].is_number()) continue;
        for (std::size_t i = 1; i < piece.size(); ++i) {
            const std::string left = piece.substr(0, i);
            const std::string right = piece.substr(i);
            if (!known.contains(left) || !known.contains(right)) continue;
            merges.push_back({scores[id].get<double>(), left + " " + right});
        }
    }
    std::ranges::stable_sort(merges, std::greater(), &Merge::score);
    Json all = Json::array();
    for (Merge& merge : merges) all.push_back(std::move(merge.both));
    return all;
}

/// Returns the splitting of a text into words before GPT-2's merges.
Json cuts_called(const std::string& word, const std::string& label) {
    const Json& facts = facts_of_gguf();
    const auto found = facts["cuts"].find(word);
    if (found == facts["cuts"].end()) {
        throw InputError(label + ": tokenizer.ggml.pre is " + quoted_text(word) +
                         ", an unknown way to split text: name the model's "
                         "tokenizer.json with $tokenizer"_message);
    }
    const std::string how = *found;
    Json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}};
    if (how == "gpt2") return bytes;
    Json first{{"type", "Digits"}, {"individual_digits", true}};
    if (how != "digits") {
        first = {{"type", "Split"},
                 {"pattern", {{"Regex", facts["patterns"][how]}}},
                 {"behavior", "Isolated"}};
        bytes["use_regex"] = false;
    }
    return {{"type", "Sequence"}, {"pretokenizers", {first, bytes}}};
}

/// The tokens in the metadata.
struct Tokens {
    std::vector<std::string> pieces;
    std::vector<int> kinds;
    Json ids = Json::object();   ///< by piece
    Json added = Json::array();  ///< tokens that are not parts of words
};

Tokens tokens_in(const Json& metadata, const std::string& label) {
    const Json list = list_in(metadata, "tokens");
    const Json types = list_in(metadata, "token_type");
    Tokens tokens;
    for (std::size_t id = 0; id < list.size(); ++id) {
        if (!list[id].is_string()) {
            throw InputError(
                label +
                ": tokenizer.ggml.tokens contains something other than text: create it again");
        }
        const std::string piece = list[id];
        const bool typed = id < types.size() && types[id].is_number_integer();
        const int kind = typed ? types[id].get<int>() : TokenKind::normal;
        tokens.pieces.push_back(piece);
        tokens.kinds.push_back(kind);
        tokens.ids[piece] = id;
        const bool is_control = kind == TokenKind::control;
        if (piece.empty() || (!is_control && kind != TokenKind::by_user)) continue;
        tokens.added.push_back({{"id", id}, {"content", piece}, {"special", is_control}});
    }
    return tokens;
}

/// Returns sentencepiece's preprocessing of spaces: each becomes a mark, and one is prepended.
Json marks_for_blanks(bool begins_with_mark) {
    Json steps = Json::array();
    if (begins_with_mark) steps.push_back({{"type", "Prepend"}, {"prepend", word_mark}});
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", word_mark}});
    return {{"type", "Sequence"}, {"normalizers", steps}};
}

}  // namespace

Json tokenizer_of_gguf(const Json& metadata, const std::string& label) {
    refuse_unless(metadata.is_object(), label + ": metadata of GGUF are an object");
    const auto specified = [&](const std::string& key) {
        return metadata.value("tokenizer.ggml." + key, Json());
    };
    const auto word = [&](const char* key) {
        return specified(key).is_string() ? specified(key).get<std::string>() : "";
    };
    const bool joins_bytes = word("model") == "gpt2";
    if (!joins_bytes && word("model") != "llama") {
        throw InputError(label + ": tokenizer.ggml.model is " + quoted_text(word("model")) +
                         ", but only gpt2 and llama are read: name the model's tokenizer.json with "
                         "$tokenizer"_message);
    }
    const Tokens tokens = tokens_in(metadata, label);
    const auto piece_of = [&](const char* key) {
        const Json id = specified(key);
        return id.is_number_integer() && id >= 0 && id < tokens.pieces.size()
                   ? tokens.pieces[id.get<std::size_t>()]
                   : "";
    };
    Json file{{"added_tokens", tokens.added}};
    Json& model = file["model"] = {{"type", "BPE"}, {"vocab", tokens.ids}};
    bool begins = !joins_bytes;
    if (joins_bytes) {
        file["pre_tokenizer"] = cuts_called(word("pre"), label);
        model["merges"] = list_in(metadata, "merges");
        model["ignore_merges"] = begins = facts_of_gguf()["cuts"][word("pre")] == "llama3";
    } else {
        const Json scores = list_in(metadata, "scores");
        if (scores.size() < tokens.pieces.size()) {
            throw InputError(label + ": tokenizer.ggml.scores are " +
                             std::to_string(scores.size()) + " for " +
                             std::to_string(tokens.pieces.size()) + " tokens: create it again");
        }
        model["merges"] = merges_by_score(tokens.pieces, tokens.kinds, scores);
        model["byte_fallback"] = model["fuse_unk"] = true;
        model["unk_token"] = piece_of("unknown_token_id");
        file["normalizer"] = marks_for_blanks(specified("add_space_prefix") != false);
    }
    Json around = Json::array();
    const auto add = [&](const char* flag, bool default_value, const char* id) {
        const std::string piece = piece_of(id);
        const Json requested = specified(flag);
        if (piece.empty() || !(requested.is_boolean() ? requested.get<bool>() : default_value))
            return;
        around.push_back({{"SpecialToken", {{"id", piece}}}});
    };
    add("add_bos_token", begins, "bos_token_id");
    around.push_back({{"Sequence", {{"id", "A"}}}});
    add("add_eos_token", false, "eos_token_id");
    file["post_processor"] = {{"type", "TemplateProcessing"}, {"single", around}};
    return file;
}

}  // namespace attn::models
