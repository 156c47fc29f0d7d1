#include "attn/models/hugging_face.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/json.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hf_config.hpp"
#include "attn/models/model_path.hpp"
#include "attn/models/open_model.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Opens a file that should not be longer than `most` bytes.
std::shared_ptr<InputFile> file_in(const fs::path& path, std::uint64_t most) {
    std::shared_ptr<InputFile> file = open_model_file(path.string());
    if (file->size() <= most) return file;
    throw InputError(file->label() + ": is larger than any such file: give that of the model");
}

/// Parses the object in a small file.
Json json_in(const fs::path& path) {
    constexpr std::uint64_t most = 64U << 20U;
    const std::shared_ptr<InputFile> file = file_in(path, most);
    Json json = parse_json(file->all(), file->label());
    if (json.is_object()) return json;
    throw InputError(file->label() + ": is not a JSON object: save it again");
}

/// Refuses a folder: describes what is there instead of a model, or what is missing.
[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& lacks) {
    const std::string there = kind_of_file(folder);
    throw InputError(!there.empty() ? there
                                    : file_label(folder.string()) + ": " + lacks + ": run " +
                                          download_command(folder) + ", or give another folder");
}

/// Returns the number of a shard and the count: model-00001-of-00002.safetensors; 0 if it is none.
std::pair<std::size_t, std::size_t> shard_of(const fs::path& file) {
    const std::string stem = file.stem().string();
    const std::size_t of = stem.rfind("-of-");
    if (of == stem.npos) return {};
    const std::size_t dash = stem.rfind('-', of - 1) + 1;
    const auto number = parse_whole<std::size_t>(std::string_view(stem).substr(dash, of - dash));
    const auto count = parse_whole<std::size_t>(std::string_view(stem).substr(of + 4));
    return number && count ? std::pair(*number, *count) : std::pair<std::size_t, std::size_t>();
}

/// The files of a model and, from an index, the file of each tensor.
struct Shards {
    std::set<std::string> files;
    std::map<std::string, std::string> file_of;
};

Shards shards_of_index(const fs::path& index) {
    const Json json = json_in(index);
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object()) {
        throw InputError(file_label(index.string()) + ": has no 'weight_map': save it again");
    }
    Shards shards;
    for (const auto& [tensor, name] : map->items()) {
        // A shard must be in the folder of its index.
        if (!name.is_string() || fs::path(name.get<std::string>()).has_parent_path()) {
            throw InputError(file_label(index.string()) +
                             ": 'weight_map' names a file that is not next to it: save it again");
        }
        const fs::path file = index.parent_path() / name.get<std::string>();
        shards.files.insert(shards.file_of[tensor] = file.string());
        std::error_code ignored;
        if (fs::exists(file, ignored)) continue;
        throw InputError(file_label(file.string()) +
                         ": is a shard that the index names, but is not there: run " +
                         download_command(index.parent_path()));
    }
    return shards;
}

void refuse_lost_links(const fs::path& folder) {
    std::error_code ignored;
    for (const char* name : {"config.json", "model.safetensors"}) {
        if (!fs::is_symlink(folder / name, ignored) || fs::exists(folder / name, ignored)) continue;
        throw InputError(file_label((folder / name).string()) +
                         ": is a link to a file that is not there: run " +
                         download_command(folder));
    }
}

/// Returns the .safetensors files of a model: a single one, those of its index, or all shards.
Shards shards_in(const fs::path& folder) {
    std::error_code ignored;
    const fs::path index = folder / "model.safetensors.index.json";
    Shards shards;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const fs::path file = entry.path().filename();
        if (file == "model.safetensors") return {{entry.path().string()}, {}};
        if (file.extension() != ".safetensors" || file == "adapter_model.safetensors") continue;
        shards.files.insert(entry.path().string());
    }
    if (fs::exists(index, ignored)) return shards_of_index(index);
    if (shards.files.empty()) refuse_folder(folder, "has neither model.safetensors nor its index");
    const std::string first = *shards.files.begin();
    const std::size_t all = shard_of(first).second;
    if (all == 0 && shards.files.size() > 1) {
        throw InputError(file_label(folder.string()) + ": has " +
                         std::to_string(shards.files.size()) +
                         " .safetensors files, and none is model.safetensors: give one of them, '" +
                         visible(first) + "'");
    }
    if (all > 0 && shards.files.size() != all) {
        throw InputError(file_label(folder.string()) + ": has " +
                         std::to_string(shards.files.size()) + " of " + std::to_string(all) +
                         " shards and no index: run " + download_command(folder));
    }
    return shards;
}

/// Returns the configuration of the text model; models with vision keep it in a separate part.
Json config_in(const fs::path& folder, const std::string& label) {
    Json config = json_in(folder / "config.json");
    std::error_code ignored;
    const fs::path generation = folder / "generation_config.json";
    if (fs::exists(generation, ignored)) {
        const Json more = json_in(generation);
        if (more.contains("eos_token_id")) config["eos_token_id"] = more["eos_token_id"];
    }
    if (fs::exists(folder / "quantize_config.json", ignored) &&
        !config.contains("quantization_config")) {
        config["quantization_config"] = {{"quant_method", "gptq"}};  // the older format, until 2023
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
    family_in({config, label});  // the error lists the supported families
    return config;
}

/// Converts GPT-2's older vocab.json and merges.txt to the text of a tokenizer.json.
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
                             " is not a pair of pieces: give the merges.txt of the model");
        }
        merges.push_back(line);
    }
    Json whole{{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
               {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
    const char* const end = "<|endoftext|>";
    if (vocab.contains(end)) whole["added_tokens"] = {{{"content", end}, {"id", vocab[end]}}};
    return whole.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Adds the tokenizer next to a model. An unsupported one refuses only texts, not --ids.
void add_tokenizer(Model& model, const fs::path& folder, const std::string& named) {
    std::error_code ignored;
    fs::path path = named.empty() ? folder / "tokenizer.json" : fs::path(named);
    const bool is_gpt2 = model.architecture.family == "gpt2";
    if (named.empty() && !fs::exists(path, ignored)) {
        std::string there;
        for (const char* other : {"spiece.model", "sentencepiece.bpe.model", "tiktoken.model",
                                  "tokenizer.model", "vocab.json", "vocab.txt", "tekken.json"}) {
            if (fs::exists(folder / other, ignored)) there = other;
        }
        if (there.empty()) return;
        const bool in_two = is_gpt2 && there == "vocab.json";
        if (!in_two || !fs::exists(folder / "merges.txt", ignored)) {
            const std::string pointer = kind_of_file(folder / there, true);
            const std::string place = visible(folder.string());
            model.tokenizer_trouble =
                !pointer.empty() ? pointer
                : in_two ? model.label + " has vocab.json and no merges.txt beside it: run " +
                               download_command(folder) + ", or pass $ids instead of $text"_message
                         : model.label + " has " + there +
                               " and no tokenizer.json: run python3 -c \"from transformers import "
                               "AutoTokenizer as T; T.from_pretrained('" +
                               place + "').save_pretrained('" + place +
                               "')\", or pass $ids instead of $text"_message;
            return;
        }
        path = folder / there;
    }
    try {
        constexpr std::uint64_t largest = 256U << 20U;
        const bool is_older =
            is_gpt2 && (path.filename() == "vocab.json" || path.filename() == "merges.txt");
        const std::shared_ptr<InputFile> file = file_in(path, largest);
        TokenizerSource source;
        if (!is_older) {
            source.as_json = [path] { return std::string(file_in(path, largest)->all()); };
        }
        model.tokenizer =
            read_json_tokenizer(is_older ? gpt2_tokenizer(path.parent_path()) : file->all(),
                                file->label(), model.architecture.vocab_size, std::move(source));
    } catch (const InputError& error) {
        if (!named.empty()) throw;
        model.tokenizer_trouble =
            std::string(error.what()) + ", or pass $ids instead of $text"_message;
    }
}

/// Refuses a part of a model, a file in this folder or the folder itself, and names the whole.
void refuse_part(const fs::path& place, const fs::path& folder) {
    const auto refuse = [&](const std::string& what, const fs::path& whole) {
        throw InputError(file_label(place.string()) + what + visible(whole.string()) + "'");
    };
    const auto [number, all] = shard_of(place);
    if (place != folder && place.extension() != ".json" && all > 1) {
        refuse(": is shard " + std::to_string(number) + " of " + std::to_string(all) +
                   ": give the folder, '",
               folder);
    }
    if (folder.filename() == "blobs") {
        refuse(": is a file of a cache of downloads, without its config.json: give '",
               folder.parent_path());
    }
}

/// Returns the arrays of all files of a model.
std::vector<StoredArray> arrays_of(const Shards& shards) {
    std::vector<StoredArray> arrays;
    for (const std::string& name : shards.files) {
        const std::shared_ptr<const InputFile> file = open_model_file(name);
        for (StoredArray& array : safetensors_arrays(*file)) {
            const auto counts = shards.file_of.find(array.name);
            if (!shards.file_of.empty() &&
                (counts == shards.file_of.end() || counts->second != name)) {
                continue;
            }
            // Keep the file open as long as the array.
            arrays.push_back({array.name, [file, read = std::move(array.read)] { return read(); },
                              [file, read = std::move(array.read_rows)](
                                  const std::vector<std::size_t>& rows) { return read(rows); },
                              array.shape, array.width});
        }
    }
    return arrays;
}

}  // namespace

Model open_hugging_face(const fs::path& place, const std::string& named_tokenizer) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(place, ignored);
    const fs::path above = place.parent_path();
    const fs::path folder = is_folder ? place : above.empty() ? fs::path(".") : above;
    if (!is_folder) open_model_file(place.string());
    refuse_part(place, folder);
    const fs::path config_path = folder / "config.json";
    if (!fs::exists(fs::symlink_status(config_path, ignored))) {
        refuse_folder(folder,
                      "there is no config.json beside it, which has the sizes of the model");
    }
    refuse_lost_links(folder);
    const std::string label = file_label(config_path.string());
    const Config config(config_in(folder, label), label);
    const Family family = family_in(config);  // checked before reading gigabytes
    const Shards shards = is_folder                      ? shards_in(folder)
                          : place.extension() == ".json" ? shards_of_index(place)
                                                         : Shards{{place.string()}, {}};

    Model model;
    model.label = file_label(place.string());
    model.architecture = architecture_of(config, family);
    const std::vector<StoredArray> arrays = arrays_of(shards);
    if (std::ranges::count(arrays, "tok_embeddings.weight", &StoredArray::name) > 0) {
        throw InputError(model.label +
                         ": names its tensors like Meta's and Mistral's own programs: get the "
                         "files of transformers, " +
                         download_command(folder));
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
