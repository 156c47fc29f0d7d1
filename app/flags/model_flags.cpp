#include "app/flags/model_flags.hpp"
#include "app/flags/known_words.hpp"

#include "app/flags/parse.hpp"
#include "attn/models/open_model.hpp"

namespace app {
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

}  // namespace app
