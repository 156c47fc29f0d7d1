#include "attn/models/hugging_face.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "attn/io/array_files.hpp"
#include "attn/io/json.hpp"
#include "attn/models/hf_config.hpp"
#include "attn/models/open_model.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A file that no model has longer than `most` bytes.
std::shared_ptr<InputFile> file_in(const fs::path& path, std::uint64_t most) {
    std::shared_ptr<InputFile> file = open_model_file(path.string());
    if (file->size() <= most) return file;
    throw InputError(file->label() + ": is larger than any such file: give that of the model");
}

/// The object in a small file.
Json json_in(const fs::path& path) {
    constexpr std::uint64_t most = 64U << 20U;
    const std::shared_ptr<InputFile> file = file_in(path, most);
    Json json = parse_json(file->all(), file->label());
    if (json.is_object()) return json;
    throw InputError(file->label() + ": is no JSON object: save it anew");
}

/// The folder itself, or in a cache of downloads (models--X--Y) the files of its main branch.
fs::path model_folder(const fs::path& folder) {
    std::error_code ignored;
    const fs::path main = folder / "refs" / "main";
    if (!fs::is_regular_file(main, ignored)) return folder;
    const std::string commit = InputFile(main.string()).text(0, 64);
    return folder / "snapshots" / std::string(trimmed(commit));
}

/// Refuses a folder without the file that is needed, and names what it has in its place.
[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& what) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const std::string ending = entry.path().extension().string();
        for (const char* each : {".gguf", ".bin", ".pt", ".pth", ".onnx", ".h5"}) {
            if (ending == each) open_model_file(entry.path().string());
        }
        if (entry.path().filename() == "adapter_config.json") {
            throw InputError(
                file_label(folder.string()) +
                ": has an adapter (LoRA) alone: merge it into its model and save that");
        }
    }
    throw InputError(file_label(folder.string()) + ": " + what);
}

/// The .safetensors files of a model: one, or those that its index names.
std::vector<std::string> shards_in(const fs::path& folder) {
    std::error_code ignored;
    const fs::path single = folder / "model.safetensors";
    if (fs::exists(single, ignored)) return {single.string()};
    const fs::path index = folder / "model.safetensors.index.json";
    if (!fs::exists(index, ignored)) {
        refuse_folder(folder,
                      "has neither model.safetensors nor its index: give the folder of a model");
    }
    const Json json = json_in(index);
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object()) {
        throw InputError(file_label(index.string()) + ": has no 'weight_map': save it anew");
    }
    std::set<std::string> names;
    for (const Json& name : *map) {
        // A shard lies beside its index, nowhere else.
        if (!name.is_string() || fs::path(name.get<std::string>()).has_parent_path()) {
            throw InputError(file_label(index.string()) +
                             ": 'weight_map' names what is no file beside it: save it anew");
        }
        names.insert((folder / name.get<std::string>()).string());
    }
    return {names.begin(), names.end()};
}

/// The configuration of the part that reads text: models that see pictures too keep it by itself.
Json config_in(const fs::path& folder, const std::string& label) {
    Json config = json_in(folder / "config.json");
    std::error_code ignored;
    const fs::path generation = folder / "generation_config.json";
    if (fs::exists(generation, ignored)) {
        const Json more = json_in(generation);
        if (more.contains("eos_token_id")) config["eos_token_id"] = more["eos_token_id"];
    }
    const auto text = config.find("text_config");
    if (text == config.end() || !text->is_object()) return config;
    for (const char* known : {"gemma3", "mistral3", "llava", "llava_next"}) {
        if (config.value("model_type", Json()) != known) continue;
        Json of_text = *text;
        for (const char* key : {"eos_token_id", "tie_word_embeddings", "quantization_config"}) {
            if (config.contains(key) && (!of_text.contains(key) || of_text[key].is_null())) {
                of_text[key] = config[key];
            }
        }
        return of_text;
    }
    family_in({config, label});  // says which are known
    return config;
}

/// GPT-2's older form, vocab.json and merges.txt beside it, as the text of a tokenizer.json.
std::string gpt2_tokenizer(const fs::path& folder) {
    const Json vocab = json_in(folder / "vocab.json");
    const std::shared_ptr<InputFile> file = file_in(folder / "merges.txt", 64U << 20U);
    std::istringstream lines{std::string(file->all())};
    Json merges = Json::array();
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        line = trimmed(line);
        if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
        if (std::ranges::count(line, ' ') != 1) {
            throw InputError(file->label() + ": line " + std::to_string(number) +
                             " is no pair of pieces: give the merges.txt of the model");
        }
        merges.push_back(line);
    }
    Json whole{{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
               {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
    const char* const end = "<|endoftext|>";
    if (vocab.contains(end)) whole["added_tokens"] = {{{"content", end}, {"id", vocab[end]}}};
    return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The tokenizer beside a model. What it cannot read refuses texts alone, not --ids.
void add_tokenizer(Model& model, const fs::path& folder, const std::string& named) {
    std::error_code ignored;
    fs::path path = named.empty() ? folder / "tokenizer.json" : fs::path(named);
    const bool is_gpt2 = model.architecture.family == "gpt2";
    if (named.empty() && !fs::exists(path, ignored)) {
        std::string there;
        for (const char* other : {"tokenizer.model", "vocab.json", "vocab.txt", "tekken.json"}) {
            if (fs::exists(folder / other, ignored)) there = other;
        }
        if (there.empty()) return;
        const bool in_two = is_gpt2 && there == "vocab.json";
        if (!in_two || !fs::exists(folder / "merges.txt", ignored)) {
            model.tokenizer_trouble =
                model.label + " has " + there + " and no " +
                (in_two ? "merges.txt beside it"
                        : "tokenizer.json, which save_pretrained of a fast tokenizer writes") +
                ": pass $ids instead of $text"_told;
            return;
        }
        path = folder / there;
    }
    try {
        constexpr std::uint64_t largest = 256U << 20U;
        const bool is_older =
            is_gpt2 && (path.filename() == "vocab.json" || path.filename() == "merges.txt");
        const std::shared_ptr<InputFile> file = file_in(path, largest);
        model.tokenizer =
            read_json_tokenizer(is_older ? gpt2_tokenizer(path.parent_path()) : file->all(),
                                file->label(), model.architecture.vocab_size);
    } catch (const InputError& error) {
        if (!named.empty()) throw;
        model.tokenizer_trouble =
            std::string(error.what()) + ", or pass $ids instead of $text"_told;
    }
}

}  // namespace

Model open_hugging_face(const std::string& path, const std::string& named_tokenizer) {
    std::error_code ignored;
    const fs::path given(path);
    const bool is_folder = fs::is_directory(given, ignored);
    const fs::path folder = is_folder ? model_folder(given) : given.parent_path();
    const fs::path config_path = folder / "config.json";
    const bool one_file = !is_folder && given.extension() == ".safetensors";
    if (one_file) open_model_file(path);
    if (!fs::exists(config_path, ignored)) {
        refuse_folder(folder.empty() ? "." : folder,
                      "there is no config.json beside it, which says the sizes of the model: give "
                      "its folder");
    }
    const std::vector<std::string> files =
        one_file ? std::vector<std::string>{path} : shards_in(folder);
    const std::string label = file_label(config_path.string());
    const Config config(config_in(folder, label), label);

    Model model;
    model.label = file_label(path);
    const Family family = family_in(config);
    model.architecture = architecture_of(config, family);
    std::vector<StoredArray> arrays;
    for (const std::string& name : files) {
        const std::shared_ptr<const InputFile> file = open_model_file(name);
        for (StoredArray& array : safetensors_arrays(*file)) {
            // The array reads from the file, which lives as long as it.
            arrays.push_back({array.name, [file, read = std::move(array.read)] { return read(); },
                              [file, read = std::move(array.read_rows)](
                                  const std::vector<std::size_t>& rows) { return read(rows); },
                              array.shape});
        }
    }
    add_tensors(model, family, arrays);
    add_tokenizer(model, folder, named_tokenizer);
    if (const fs::path beside = folder / "adapter_config.json"; fs::exists(beside, ignored)) {
        model.note = file_label(beside.string()) +
                     " is of an adapter, which is not applied: these are the model's own numbers; "
                     "merge it into the model and save that";
    }
    return model;
}

}  // namespace attn::models
