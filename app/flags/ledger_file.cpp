#include "app/flags/ledger_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/files/io/read_tensor.hpp"

namespace app {
namespace {

/// `03_query` is the step `query`.
std::string without_number(const std::string& stem) {
    const std::size_t digits = stem.find_first_not_of("0123456789");
    const bool numbered = digits != 0 && digits != std::string::npos && stem[digits] == '_';
    return numbered ? stem.substr(digits + 1) : stem;
}

std::vector<attn::NamedTensor> read_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().extension() == ".npy") files.push_back(entry->path());
    }
    if (error) {
        throw attn::InputError(folder + ": cannot be read: " + error.message() +
                               ": check its permissions");
    }
    if (files.empty()) {
        throw attn::InputError(
            folder + ": contains no .npy file: save one for each step, such as weights.npy");
    }
    std::sort(files.begin(), files.end());
    std::map<std::string, fs::path> origins;
    std::vector<attn::NamedTensor> arrays;
    for (const fs::path& file : files) {
        const std::string name = without_number(file.stem().string());
        const auto [origin, is_new] = origins.try_emplace(name, file);
        if (!is_new) {
            throw attn::InputError(folder + ": both " + origin->second.filename().string() +
                                   " and " + file.filename().string() + " are " + name +
                                   ": remove one of them");
        }
        arrays.push_back(attn::TensorFile(file.string()).read(name));
    }
    return arrays;
}

std::vector<attn::NamedTensor> read_arrays(const std::string& spec, bool takes_unnamed) {
    std::error_code ignored;
    if (std::filesystem::is_directory(spec, ignored)) return read_folder(spec);
    std::vector<attn::NamedTensor> arrays = attn::read_tensors(spec, report_note);
    if (arrays.size() == 1 && arrays[0].name.empty() && takes_unnamed) {
        arrays[0].name = without_number(std::filesystem::path(spec).stem().string());
    }
    return arrays;
}

}  // namespace

attn::Ledger read_ledger(const std::string& spec, bool takes_unnamed) {
    attn::Ledger ledger(attn::chains_of(attn::step_table()));
    for (attn::NamedTensor& each : read_arrays(spec, takes_unnamed)) {
        if (each.name.empty()) {
            throw attn::InputError(spec +
                                   ": contains one array without a name: name its step, as in " +
                                   spec + ":weights");
        }
        ledger.record(each.name, std::move(each.tensor));
    }
    return ledger;
}

const std::vector<Flag>& tolerance_flags() {
    static const std::vector<Flag> all{
        Flag{flags::atol, "X", "largest accepted absolute difference", number(), "rounding"}
            .typed_only(),
        Flag{flags::rtol, "X", "largest accepted relative difference", number(), "rounding"}
            .typed_only(),
    };
    return all;
}

std::optional<attn::Tolerance> tolerance_of(const Arguments& arguments) {
    const auto absolute = arguments[flags::atol];
    const auto relative = arguments[flags::rtol];
    if (!absolute && !relative) return std::nullopt;
    for (const auto& each : {absolute, relative}) {
        if (each.value_or(0) >= 0 && std::isfinite(each.value_or(0))) continue;
        throw attn::ConfigError(
            "--atol and --rtol must not be negative, infinite or nan: pass a number such as 1e-5");
    }
    attn::Tolerance tolerance;
    tolerance.absolute = absolute.value_or(tolerance.absolute);
    tolerance.relative = relative.value_or(tolerance.relative);
    return tolerance;
}

}  // namespace app
