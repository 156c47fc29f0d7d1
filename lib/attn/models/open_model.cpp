#include "attn/models/open_model.hpp"

#include <filesystem>
#include <utility>

#include "attn/models/hugging_face.hpp"
#include "attn/models/shipped.hpp"
#include "attn/tensor/error.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;

/// The tokenizer of a llama2.c model: the file that was named, or one that lies beside the model.
std::shared_ptr<const Tokenizer> tokenizer_beside(const std::string& path, const std::string& named,
                                                  std::size_t vocab) {
    if (!named.empty()) return read_scored_tokenizer(InputFile(named), vocab);
    const fs::path folder = fs::path(path).parent_path();
    std::error_code ignored;
    for (const std::string& name :
         {"tok" + std::to_string(vocab) + ".bin", std::string("tokenizer.bin")}) {
        const fs::path beside = folder / name;
        if (fs::is_regular_file(beside, ignored)) {
            return read_scored_tokenizer(InputFile(beside.string()), vocab);
        }
    }
    return nullptr;
}

Model stories(const std::string& tokenizer) {
    Model model = read_llama2c(std::make_shared<InputFile>(stories_bin, "stories"));
    const std::size_t vocab = model.architecture.vocab_size;
    model.tokenizer = read_scored_tokenizer(
        tokenizer.empty() ? InputFile(stories_tokenizer, "stories") : InputFile(tokenizer), vocab);
    return model;
}

/// A model of llm-viz, whose tokens are letters or have no names.
Model viz_model(std::string_view text, const std::string& label, const std::string& tokenizer) {
    if (!tokenizer.empty()) {
        throw ConfigError("--tokenizer: " + label +
                          " is a model of llm-viz, which takes no tokenizer: leave it out");
    }
    return read_llm_viz(text, label);
}

}  // namespace

Model open_model(const std::string& path, const std::string& tokenizer) {
    if (path == "stories") return stories(tokenizer);
    if (path == "sorter") return viz_model(sorter_json, "sorter", tokenizer);
    std::error_code ignored;
    const std::string ending = fs::path(path).extension().string();
    if (fs::is_directory(path, ignored) || ending == ".safetensors" ||
        path.ends_with(".index.json")) {
        return open_hugging_face(path, tokenizer);
    }
    auto file = std::make_shared<InputFile>(path);
    const std::string beginning = file->text(0, 64);
    const std::size_t first = beginning.find_first_not_of(" \t\r\n");
    if (first != beginning.npos && beginning[first] == '{') {
        constexpr std::uint64_t most = 64U << 20U;
        if (file->size() > most) {
            throw InputError(file->label() + ": is too large for a model of llm-viz");
        }
        return viz_model(file->all(), file->label(), tokenizer);
    }
    Model model = read_llama2c(std::move(file));
    model.tokenizer = tokenizer_beside(path, tokenizer, model.architecture.vocab_size);
    return model;
}

}  // namespace attn::models
