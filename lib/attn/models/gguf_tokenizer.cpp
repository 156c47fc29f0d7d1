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

/// A list of the metadata, which may be missing.
Json list_in(const Json& metadata, const std::string& name) {
    const Json list = metadata.value("tokenizer.ggml." + name, Json::array());
    return list.is_array() ? list : Json::array();
}

/// Every way to make a piece of two others, those of high scores first, as sentencepiece joins
/// them.
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
        if (kinds[id] != TokenKind::normal || id >= scores.size() || !scores[id].is_number())
            continue;
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

/// How a text falls into words in front of GPT-2's merges.
Json cuts_called(const std::string& word, const std::string& label) {
    const Json& facts = facts_of_gguf();
    const auto found = facts["cuts"].find(word);
    if (found == facts["cuts"].end()) {
        throw InputError(label + ": tokenizer.ggml.pre is " + shown(word) +
                         ", a way to cut text into words that is not known here: name the model's "
                         "tokenizer.json with $tokenizer"_told);
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

}  // namespace

Json tokenizer_of_gguf(const Json& metadata, const std::string& label) {
    const auto said = [&](const std::string& key) {
        return metadata.value("tokenizer.ggml." + key, Json());
    };
    const std::string kind = said("model").is_string() ? said("model").get<std::string>() : "";
    const bool joins_bytes = kind == "gpt2";
    if (!joins_bytes && kind != "llama") {
        throw InputError(label + ": tokenizer.ggml.model is " + shown(kind) +
                         ", and gpt2 and llama are read: name the model's tokenizer.json with "
                         "$tokenizer"_told);
    }
    const Json tokens = list_in(metadata, "tokens");
    const Json types = list_in(metadata, "token_type");
    std::vector<std::string> pieces;
    std::vector<int> kinds;
    Json vocab = Json::object(), added = Json::array();
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        if (!tokens[id].is_string()) {
            throw InputError(label + ": tokenizer.ggml.tokens holds what is no text: make it anew");
        }
        pieces.push_back(tokens[id]);
        const bool typed = id < types.size() && types[id].is_number_integer();
        kinds.push_back(typed ? types[id].get<int>() : TokenKind::normal);
        vocab[pieces.back()] = id;
        if (pieces.back().empty() ||
            (kinds.back() != TokenKind::control && kinds.back() != TokenKind::by_user))
            continue;
        added.push_back({{"id", id},
                         {"content", pieces.back()},
                         {"special", kinds.back() == TokenKind::control}});
    }
    const auto piece_of = [&](const char* key) {
        const Json id = said(key);
        return id.is_number_integer() && id >= 0 && id < pieces.size()
                   ? pieces[id.get<std::size_t>()]
                   : "";
    };
    Json file{{"added_tokens", added}};
    Json& model = file["model"] = {{"type", "BPE"}, {"vocab", vocab}};
    bool begins = !joins_bytes;
    if (joins_bytes) {
        const std::string cut = said("pre").is_string() ? said("pre").get<std::string>() : "";
        file["pre_tokenizer"] = cuts_called(cut, label);
        model["merges"] = list_in(metadata, "merges");
        model["ignore_merges"] = begins = facts_of_gguf()["cuts"][cut] == "llama3";
    } else {
        model["merges"] = merges_by_score(pieces, kinds, list_in(metadata, "scores"));
        model["byte_fallback"] = model["fuse_unk"] = true;
        model["unk_token"] = piece_of("unknown_token_id");
        Json steps = Json::array();
        if (said("add_space_prefix") != false) {
            steps.push_back({{"type", "Prepend"}, {"prepend", word_mark}});
        }
        steps.push_back(
            {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", word_mark}});
        file["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
    }
    Json around = Json::array();
    const auto add = [&](const char* flag, bool usual, const char* id) {
        const std::string piece = piece_of(id);
        const Json asked = said(flag);
        if (piece.empty() || !(asked.is_boolean() ? asked.get<bool>() : usual)) return;
        around.push_back({{"SpecialToken", {{"id", piece}}}});
    };
    add("add_bos_token", begins, "bos_token_id");
    around.push_back({{"Sequence", {{"id", "A"}}}});
    add("add_eos_token", false, "eos_token_id");
    file["post_processor"] = {{"type", "TemplateProcessing"}, {"single", around}};
    return file;
}

}  // namespace attn::models
