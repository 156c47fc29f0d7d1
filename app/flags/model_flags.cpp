#include "app/flags/model_flags.hpp"

#include "app/flags/flag.hpp"
#include "app/flags/parse.hpp"
#include "attn/models/open_model.hpp"

namespace app {
namespace {

/// The token that a word of several begins with.
std::string first_piece(const attn::models::Model& model, const std::string& word,
                        std::string asked) {
    if (model.tokenizer == nullptr) return {};
    const std::string text = " " + word;
    std::int64_t longest = -1;
    std::size_t size = 0;
    for (std::size_t id = 0; id < model.architecture.vocab_size; ++id) {
        const std::string label = model.tokenizer->label(static_cast<std::int64_t>(id));
        if (label.size() <= size || label == " " || !text.starts_with(label)) continue;
        longest = static_cast<std::int64_t>(id);
        size = label.size();
    }
    if (longest < 0) return {};
    asked.replace(asked.rfind(word), word.size(), std::to_string(longest));
    return "it is made of several, the first may be '" + model.tokenizer->label(longest) + "', " +
           asked + "; ";
}

}  // namespace

const std::vector<Flag>& model_flags() {
    static const std::vector<Flag> all = grouped(
        "Model and text",
        {
            Flag{"--model-file", "FILE",
                 "a trained model: stories or sorter, which the program holds, a folder of Hugging "
                 "Face (config.json and .safetensors files), or a file of llama2.c",
                 such_as(shipped_models, Takes::Kind::file)}
                .usually("stories"),
            Flag{"--tokenizer", "FILE", "tokenizer of the model", file()}.usually(
                "the one beside the model"),
            Flag{"--text", "TEXT", "text that the model is given"},
            Flag{"--ids", "IDS", "token ids that the model is given: 1,403,407"},
        });
    return all;
}

attn::models::Model model_of(const Arguments& arguments) {
    const std::string tokenizer = arguments.has("--tokenizer") ? arguments.text("--tokenizer") : "";
    return attn::models::open_model(arguments.text("--model-file"), tokenizer);
}

std::vector<std::int64_t> prompt_of(const Arguments& arguments, const attn::models::Model& model) {
    std::vector<std::int64_t> ids;
    if (arguments.has("--ids")) {
        if (arguments.has("--text")) {
            throw attn::ConfigError(
                "--text and --ids both say what the model is given: leave one "
                "out");
        }
        for (const std::string& id : split_ids(arguments.text("--ids"))) {
            ids.push_back(parse_integer("--ids", id));
        }
    } else {
        ids = model.encode(arguments.text("--text"));
    }
    model.check_ids(ids);
    return ids;
}

std::int64_t token_of(const attn::models::Model& model, const std::string& word,
                      const std::string& asked) {
    if (word.empty()) throw attn::ConfigError(asked + " names no token: give a word or an id");
    const auto vocab = static_cast<std::int64_t>(model.architecture.vocab_size);
    for (std::int64_t id = 0; model.tokenizer != nullptr && id < vocab; ++id) {
        const std::string label = model.tokenizer->label(id);
        if (label == word || (label.starts_with(' ') && label.substr(1) == word)) return id;
    }
    if (word.find_first_not_of("0123456789") != std::string::npos) {
        throw attn::ConfigError(asked + ": " + model.label +
                                " has no such token: " + first_piece(model, word, asked) +
                                "give an id, or a token as generate --top 5 shows it");
    }
    return parse_integer(asked, word, 0, vocab - 1);
}

}  // namespace app
