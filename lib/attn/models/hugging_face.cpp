#include "attn/models/hugging_face.hpp"

#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "attn/io/json.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The text of a file that no model has longer than `most` bytes.
std::string_view text_in(InputFile& file, std::uint64_t most) {
    if (file.size() > most) {
        throw InputError(file.label() + ": is larger than any such file: give that of the model");
    }
    return file.all();
}

Json json_in(const fs::path& path, std::uint64_t most) {
    InputFile file(path.string());
    return parse_json(text_in(file, most), file.label());
}

/// The .safetensors files of a model: one, or those that its index names.
std::vector<std::string> shards_in(const fs::path& folder) {
    std::error_code ignored;
    const fs::path single = folder / "model.safetensors";
    if (fs::exists(single, ignored)) return {single.string()};
    const fs::path index = folder / "model.safetensors.index.json";
    if (!fs::exists(index, ignored)) {
        throw InputError(file_label(folder.string()) +
                         ": has neither model.safetensors nor its index: give the folder of a "
                         "model");
    }
    constexpr std::uint64_t most = 64U << 20U;
    const Json json = json_in(index, most);
    const auto map = json.is_object() ? json.find("weight_map") : json.end();
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

}  // namespace

Model open_hugging_face(const std::string& path, const std::string& named_tokenizer) {
    std::error_code ignored;
    const fs::path given(path);
    const bool is_folder = fs::is_directory(given, ignored);
    const fs::path folder = is_folder ? given : given.parent_path();
    const fs::path config_path = folder / "config.json";
    if (!fs::exists(config_path, ignored)) {
        throw InputError(file_label(path) +
                         ": there is no config.json beside it, which says the "
                         "sizes of the model: give its folder");
    }
    const bool one_file = !is_folder && given.extension() == ".safetensors";
    const std::vector<std::string> files =
        one_file ? std::vector<std::string>{path} : shards_in(folder);

    constexpr std::uint64_t most = 4U << 20U;
    const Json config = json_in(config_path, most);
    const std::string label = file_label(config_path.string());
    if (!config.is_object()) throw InputError(label + ": is no configuration: save it anew");
    // Models that see pictures too keep the part that reads text by itself.
    const auto text = config.find("text_config");
    const Json& of_text = text != config.end() && text->is_object() ? *text : config;

    Model model;
    model.label = file_label(path);
    const Family family = family_in(of_text, label);
    model.architecture = architecture_of(of_text, family, label);
    std::vector<StoredArray> arrays;
    for (const std::string& name : files) {
        const auto file = std::make_shared<const InputFile>(name);
        for (StoredArray& array : safetensors_arrays(*file)) {
            // The array reads from the file, which lives as long as it.
            arrays.push_back({array.name, [file, read = std::move(array.read)] { return read(); },
                              [file, read = std::move(array.read_rows)](
                                  const std::vector<std::size_t>& rows) { return read(rows); },
                              array.shape});
        }
    }
    add_tensors(model, family, arrays);
    const fs::path tokenizer =
        named_tokenizer.empty() ? folder / "tokenizer.json" : fs::path(named_tokenizer);
    if (!named_tokenizer.empty() || fs::exists(tokenizer, ignored)) {
        constexpr std::uint64_t largest = 256U << 20U;
        InputFile file(tokenizer.string());
        model.tokenizer = read_json_tokenizer(text_in(file, largest), file.label(),
                                              model.architecture.vocab_size);
    }
    return model;
}

}  // namespace attn::models
