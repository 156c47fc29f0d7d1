#include "attn/models/open_model.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

#include <zlib.h>

#include "attn/files/io/array_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/gguf.hpp"
#include "attn/models/hugging_face.hpp"
#include "attn/models/model_path.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;

/// Returns the tokenizer of a llama2.c model: the named file, or one next to the model.
std::shared_ptr<const Tokenizer> tokenizer_beside(const std::string& path, const std::string& named,
                                                  std::size_t vocab) {
    if (!named.empty()) return read_scored_tokenizer(*open_model_file(named), vocab);
    const fs::path folder = fs::path(path).parent_path();
    std::error_code ignored;
    for (const std::string& name :
         {"tok" + std::to_string(vocab) + ".bin", std::string("tokenizer.bin")}) {
        const fs::path beside = folder / name;
        if (fs::is_regular_file(beside, ignored)) {
            return read_scored_tokenizer(*open_model_file(beside.string()), vocab);
        }
    }
    return nullptr;
}

Model stories(const std::string& tokenizer) {
    Model model = read_llama2c(std::make_shared<InputFile>(stories_bin, "stories"));
    const std::size_t vocab = model.architecture.vocab_size;
    model.tokenizer = tokenizer.empty()
                          ? read_scored_tokenizer(InputFile(stories_tokenizer, "stories"), vocab)
                          : read_scored_tokenizer(*open_model_file(tokenizer), vocab);
    return model;
}

}  // namespace

std::shared_ptr<InputFile> open_model_file(const std::string& path) {
    require_regular_file(path);
    auto file = std::make_shared<InputFile>(path);
    if (const std::string other = kind_of_file(path, true); !other.empty()) {
        throw InputError(other);
    }
    return file;
}

Model open_model(const std::string& path, const std::string& tokenizer) {
    if (path == "stories") return stories(tokenizer);
    if (path == "sorter" && !fs::exists(path)) {
        throw ConfigError(
            "the model sorter was removed in 2.0.0: use stories, or the folder of a GPT-2 of "
            "Hugging Face");
    }
    std::error_code ignored;
    const fs::path place = model_place(path);
    const auto of_hugging_face = [&] {
        Model model = open_hugging_face(place, tokenizer);
        model.label = file_label(path);
        return model;
    };
    if (fs::is_directory(place, ignored) || place.extension() == ".safetensors" ||
        path.ends_with(".index.json")) {
        return of_hugging_face();
    }
    auto file = open_model_file(path);
    if (const std::string other = kind_of_file(path); !other.empty()) throw InputError(other);
    if (looks_like_gguf(*file)) return open_gguf(std::move(file), path, tokenizer);
    if (looks_like_safetensors(*file)) return of_hugging_face();
    const std::string beginning = file->text(0, 64);
    const std::size_t first = beginning.find_first_not_of(" \t\r\n");
    if (first != beginning.npos && beginning[first] == '{') {
        throw InputError(file->label() +
                         ": is JSON, not a model: give the folder of config.json and its "
                         ".safetensors files");
    }
    Model model = read_llama2c(std::move(file));
    model.tokenizer = tokenizer_beside(path, tokenizer, model.architecture.vocab_size);
    return model;
}

extern "C" {
extern const char attn_stories_begin[], attn_stories_end[];
extern const char attn_stories_tokenizer_begin[], attn_stories_tokenizer_end[];
}

const std::string_view stories_bin(attn_stories_begin, attn_stories_end - attn_stories_begin);
const std::string_view stories_tokenizer(attn_stories_tokenizer_begin,
                                         attn_stories_tokenizer_end - attn_stories_tokenizer_begin);

std::string packed_stories() {
    constexpr std::size_t word = 4;
    std::string bytes(stories_bin);
    constexpr std::size_t tables = 512 * 8 * word;  // of sines and cosines, which are not read
    std::fill(bytes.end() - tables, bytes.end(), '\0');
    bytes += stories_tokenizer;
    bytes.resize((bytes.size() + word - 1) / word * word);
    const std::size_t words = bytes.size() / word;
    std::string planes(bytes.size(), '\0');
    for (std::size_t i = 0; i < words; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &bytes[i * word], word);
        bits = std::rotl(bits, 1);
        for (std::size_t k = 0; k < word; ++k) {
            planes[k * words + i] = static_cast<char>(bits >> 8U * k & 0xFFU);
        }
    }
    uLongf size = ::compressBound(planes.size());
    std::string packed(size, '\0');
    ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(planes.data()), planes.size(), Z_BEST_COMPRESSION);
    packed.resize(size);
    return packed;
}

}  // namespace attn::models
