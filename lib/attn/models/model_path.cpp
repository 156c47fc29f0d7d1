#include "attn/models/model_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/files/io/input_file.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::models {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

// {file} and {folder} are its path, {download} is download_command, {-} is the prefix of another
// program's options and {ours} that of ours.
constexpr auto by_transformers =
    "run python3 -c \"from transformers import AutoModelForCausalLM as M; "
    "M.from_pretrained('{folder}').save_pretrained('OUT')\" and give OUT";
constexpr auto from_flax =
    "run python3 -c \"from transformers import AutoModelForCausalLM as M; "
    "M.from_pretrained('{folder}', from_flax=True).save_pretrained('OUT')\" and give OUT";
constexpr auto from_tensorflow =
    "run python3 -c \"from transformers import AutoModelForCausalLM as M; "
    "M.from_pretrained('{folder}', from_tf=True).save_pretrained('OUT')\" and give OUT";
constexpr auto by_its_maker =
    "there is no config.json beside it: load it in the program that made it and give the folder "
    "that save_pretrained writes; for one layer of a GPT-2 in it, run attn-explain {ours}weights "
    "'{file}' {ours}model gpt2 {ours}layer 0";
constexpr auto from_meta =
    "run python3 -m transformers.models.llama.convert_llama_weights_to_hf {-}input_dir '{folder}' "
    "{-}output_dir OUT and give OUT";
constexpr auto as_safetensors = "get it as safetensors: {download}";
constexpr auto whole_folder =
    "give its folder, '{folder}'";  // no message about what the folder lacks

/// Files of other programs, recognised by their first bytes, their names, or both.
struct OtherFile {
    std::string_view beginning;  ///< its first bytes; empty: any
    std::string_view name;       ///< a `*` before or after it matches the rest; empty: any
    std::string_view beside;     ///< a file next to it; empty: any
    const char* what;
    const char* to_do;
};
constexpr OtherFile other_files[]{
    {"version https://git-lfs"sv, "", "", "a git-lfs pointer, not the file itself",
     "run cd '{folder}' && git lfs pull"},
    {"<!"sv, "", "", "an HTML page, downloaded instead of the file", "run {download}"},
    {"<html"sv, "", "", "an HTML page, downloaded instead of the file", "run {download}"},
    {"GGUF"sv, "", "", "a GGUF file, which is a complete model", "give it, '{file}'"},
    {"lmgg"sv, "", "", "a GGML file, older than GGUF", as_safetensors},
    {"fmgg"sv, "", "", "a GGMF file, older than GGUF", as_safetensors},
    {"tjgg"sv, "", "", "a GGJT file, older than GGUF", as_safetensors},
    {"algg"sv, "", "", "a GGLA adapter, older than GGUF", as_safetensors},
    {"", "*.pth", "params.json", "a file of Meta's own, which is not read as a model", from_meta},
    {"PK\x03\x04"sv, "", "config.json",
     "a ZIP archive, as torch.save and NumPy write them, which is not read as a model",
     by_transformers},
    {"PK\x03\x04"sv, "", "",
     "a ZIP archive, as torch.save and NumPy write them, which is not read as a model",
     by_its_maker},
    {"\x80\x02"sv, "", "config.json", "a file of torch.save (pickle), which is not read as a model",
     by_transformers},
    {"\x80\x02"sv, "", "", "a file of torch.save (pickle), which is not read as a model",
     by_its_maker},
    {"\x80\x04"sv, "", "", "a pickle, which is not read as a model", by_its_maker},
    {"\x89HDF"sv, "", "", "an HDF5 file, as TensorFlow writes them", from_tensorflow},
    {"", "*.onnx", "", "an ONNX file, which is not read as a model", as_safetensors},
    {"", "*.msgpack", "", "a file of Flax, which is not read as a model", from_flax},
    {"", "*.ckpt.index", "", "of a checkpoint of TensorFlow 1, which is not read as a model",
     "run transformers-cli convert for its kind of model and give the folder that it writes"},
    {"", "*.incomplete", "", "an unfinished download", "run {download}"},
    {"", "adapter_config.json", "", "of an adapter (LoRA) alone, without its model",
     "run python3 -c \"from peft import AutoPeftModelForCausalLM as M; "
     "M.from_pretrained('{folder}').merge_and_unload().save_pretrained('OUT')\" and give OUT"},
    {"", "model_index.json", "", "of a pipeline of diffusers, which makes images",
     "give the folder of a language model"},
    {"", "params.json", "", "of a model in its maker's own format, not Hugging Face's",
     as_safetensors},
    {"", "tokenizer.json", "", "a tokenizer, not its model", whole_folder},
    {"", "*_config.json", "", "settings of a model, not the model", whole_folder},
};
constexpr std::string_view endings_of_models[]{".bin", ".pt",      ".pth",  ".ckpt",       ".gguf",
                                               ".h5",  ".msgpack", ".onnx", ".safetensors"};

template <std::size_t count>
bool is_one_of(std::string_view word, const std::string_view (&words)[count]) {
    return std::ranges::find(words, word) != std::end(words);
}

bool fits(std::string_view pattern, std::string_view name) {
    if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
    return pattern.empty() || pattern == name;
}

std::string here(const fs::path& folder) { return folder.empty() ? "." : folder.string(); }

/// Returns the row for a file; nullptr if there is none.
const OtherFile* row_of(const fs::path& file) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return nullptr;  // reading a pipe would block
    const std::string beginning = InputFile(file.string()).text(0, 64);
    const std::string name = file.filename().string();
    const auto knows = [&](const OtherFile& row) {
        return beginning.starts_with(row.beginning) && fits(row.name, name) &&
               (row.beside.empty() || fs::exists(file.parent_path() / row.beside, ignored));
    };
    const auto found = std::ranges::find_if(other_files, knows);
    return found == std::end(other_files) ? nullptr : &*found;
}

std::string note_on(const OtherFile& row, const fs::path& file, const fs::path& model) {
    const std::string folder = visible(here(file.parent_path()));
    const std::string label = file_label(file.string());
    return label + ": is " + row.what + ": " +
           filled(row.to_do, {{"ours", std::string(setting_prefix)},
                              {"-", "--"},
                              {"file", label},
                              {"folder", folder},
                              {"download", download_command(model)}});
}

/// True if a name in a folder should be looked up.
bool may_be_weights(const fs::path& file) {
    constexpr std::string_view others[]{".index", ".incomplete", ".json"};
    const std::string ending = file.extension().string();
    return is_one_of(ending, endings_of_models) || is_one_of(ending, others);
}

/// Returns the sorted names in a folder that `keep` accepts.
template <class Keep>
std::vector<std::string> names_in(const fs::path& folder, Keep keep) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        if (keep(entry)) names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

/// Returns the names of models in a cache: models--org--name.
constexpr std::string_view cached = "models--";

std::string name_in_cache(const std::string& folder) {
    return replaced_all(folder.substr(cached.size()), "--", "/");
}

/// Returns the snapshot of a download folder's main branch, or its only one.
fs::path snapshot_in(const fs::path& folder) {
    std::error_code ignored;
    const fs::path snapshots = folder / "snapshots";
    const fs::path main = folder / "refs" / "main";
    if (!fs::is_directory(snapshots, ignored)) return folder;
    const std::vector<std::string> all =
        names_in(snapshots, [](const auto& entry) { return entry.is_directory(); });
    if (fs::is_regular_file(main, ignored)) {
        const std::string line = InputFile(main.string()).text(0, 64);
        const std::string commit = line.substr(0, line.find_first_of(" \r\n"));
        if (std::ranges::count(all, commit) > 0) return snapshots / commit;
    }
    if (all.size() == 1) return snapshots / all[0];
    throw InputError(file_label(snapshots.string()) +
                     (all.empty() ? ": contains no snapshot: run " + download_command(folder)
                                  : ": holds " + joined(all) + ", and refs/main names none of " +
                                        "them: give one, such as '" +
                                        visible((snapshots / all[0]).string()) + "'"));
}

/// True if a word may be the name of a model in a cache: it has at most one slash, and no suffix of
/// a file.
bool may_be_name(const std::string& word) {
    constexpr auto signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./";
    const std::string ending = fs::path(word).extension().string();
    return !word.empty() && std::ranges::count(word, '/') <= 1 && !word.starts_with('.') &&
           !word.starts_with('/') && !word.ends_with('/') &&
           word.find_first_not_of(signs) == word.npos && ending != ".json" && ending != ".txt" &&
           ending != ".npz" && !is_one_of(ending, endings_of_models);
}

/// Returns the download folders of Hugging Face's programs.
std::vector<fs::path> caches() {
    std::vector<fs::path> all;
    for (const auto& [variable, below] :
         std::vector<std::pair<const char*, const char*>>{{"HF_HUB_CACHE", ""},
                                                          {"HF_HOME", "hub"},
                                                          {"XDG_CACHE_HOME", "huggingface/hub"},
                                                          {"HOME", ".cache/huggingface/hub"}}) {
        const char* const value = std::getenv(variable);
        if (value != nullptr && *value != '\0') all.push_back(fs::path(value) / below);
    }
    return all;
}

fs::path place_in_caches(const std::string& name) {
    std::error_code ignored;
    const std::vector<fs::path> all = caches();
    for (const fs::path& cache : all) {
        const fs::path folder = cache / (std::string(cached) + replaced_all(name, "/", "--"));
        if (fs::is_directory(folder, ignored)) return snapshot_in(folder);
    }
    const std::string meant = closest(name, {"stories"});
    throw InputError(name + ": there is no such file or folder, and no such model in the cache " +
                     (all.empty() ? "of Hugging Face" : file_label(all.front().string())) + ": " +
                     (meant.empty() ? "run hf download " + name + ", or give a folder"
                                    : "did you mean " + meant + "?"));
}

}  // namespace

std::string download_command(const fs::path& place) {
    for (const fs::path& part : place) {
        if (part.string().starts_with(cached)) {
            return "hf download " + visible(name_in_cache(part.string()));
        }
    }
    return std::string("hf download ORG/NAME --") + "local-dir '" + visible(here(place)) + "'";
}

fs::path model_place(const std::string& given) {
    std::error_code ignored;
    const fs::path path = given.ends_with('/') ? fs::path(given).parent_path() : fs::path(given);
    if (!fs::exists(fs::symlink_status(path, ignored)) && may_be_name(given)) {
        return place_in_caches(given);
    }
    if (path.filename() == "config.json") return here(path.parent_path());
    if (path.filename() == "snapshots") return snapshot_in(path.parent_path());
    return fs::is_directory(path, ignored) ? snapshot_in(path) : path;
}

std::string kind_of_file(const fs::path& place, bool is_sibling) {
    std::error_code ignored;
    if (!fs::is_directory(place, ignored)) {
        const OtherFile* const row = row_of(place);
        const bool is_known = row != nullptr && row->beginning != "GGUF" &&
                              !(is_sibling && row->name.ends_with(".json"));
        return is_known ? note_on(*row, place, place.parent_path()) : "";
    }
    const std::string label = file_label(place.string());
    const auto is_model = [](const fs::directory_entry& entry) {
        std::error_code unread;
        return fs::exists(entry.path() / "config.json", unread);
    };
    const auto is_cached = [](const fs::directory_entry& entry) {
        return entry.path().filename().string().starts_with(cached);
    };
    const bool is_one = fs::exists(place / "config.json", ignored) ||
                        fs::exists(place / "model_index.json", ignored);
    if (const auto all = names_in(place, is_cached); !all.empty()) {
        return label + ": is a cache of models: give one, such as " +
               visible(name_in_cache(all[0]));
    }
    if (const auto all = names_in(place, is_model); !all.empty() && !is_one) {
        return label + ": contains models in its folders: give one, such as '" +
               visible((place / all.back()).string()) + "'";
    }
    if (!is_one && fs::exists(place.parent_path() / "config.json", ignored)) {
        return label + ": is a folder within that of a model: give '" +
               visible(place.parent_path().string()) + "'";
    }
    const OtherFile* best = nullptr;
    fs::path of_best;
    auto entry = fs::recursive_directory_iterator(place, ignored);
    for (; entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
        if (entry.depth() > 0) entry.disable_recursion_pending();
        if (!may_be_weights(entry->path()) || !entry->is_regular_file(ignored)) continue;
        const OtherFile* const row = row_of(entry->path());
        if (row == nullptr || row->to_do == whole_folder || (best != nullptr && best <= row))
            continue;
        best = row;
        of_best = entry->path();
    }
    return best != nullptr ? note_on(*best, of_best, place) : "";
}

}  // namespace attn::models
