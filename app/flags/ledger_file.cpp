#include "app/flags/ledger_file.hpp"

#include <algorithm>
#include <filesystem>

#include "attn/cards/step_table.hpp"
#include "attn/io/read_tensor.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

/// `03_query` is the step `query`.
std::string without_number(const std::string& stem) {
    const std::size_t digits = stem.find_first_not_of("0123456789");
    const bool numbered = digits != 0 && digits != std::string::npos && stem[digits] == '_';
    return numbered ? stem.substr(digits + 1) : stem;
}

attn::Ledger read_folder(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".npy") files.push_back(entry.path());
    }
    if (files.empty()) {
        throw attn::InputError(folder.string() +
                               ": holds no .npy file; save one for each step, such as weights.npy");
    }
    std::sort(files.begin(), files.end());
    attn::Ledger ledger(attn::chains_of(attn::step_table()));
    for (const auto& file : files) {
        ledger.record(without_number(file.stem().string()), attn::read_tensor(file.string()));
    }
    return ledger;
}

}  // namespace

attn::Ledger read_ledger(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return read_folder(path);
    attn::Ledger ledger(attn::chains_of(attn::step_table()));
    for (attn::NamedTensor& array : attn::read_tensors(path)) {
        if (array.name.empty()) {
            throw attn::InputError(path +
                                   ": holds one array without a name; use .npz, .safetensors or a "
                                   "folder of .npy files named after the steps");
        }
        ledger.record(array.name, std::move(array.tensor));
    }
    return ledger;
}

}  // namespace app
