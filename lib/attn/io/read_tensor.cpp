#include "attn/io/read_tensor.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attn/io/csv.hpp"
#include "attn/io/file_bytes.hpp"
#include "attn/io/json.hpp"
#include "attn/io/npy.hpp"
#include "attn/io/npz.hpp"
#include "attn/io/safetensors.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

constexpr std::size_t most_names = 12;  // as many as fit a message

struct Spec {
    std::string path;
    std::string name;
};

bool exists(const std::string& path) {
    struct stat status {};
    return path == "-" || ::stat(path.c_str(), &status) == 0;
}

// A path may hold colons itself, so the longest prefix that exists is the file.
Spec split_spec(const std::string& spec) {
    if (exists(spec)) return {spec, ""};
    for (std::size_t colon = spec.rfind(':'); colon != spec.npos && colon > 0;
         colon = spec.rfind(':', colon - 1)) {
        const std::string path = spec.substr(0, colon);
        if (exists(path)) return {path, spec.substr(colon + 1)};
    }
    const std::size_t colon = spec.rfind(':');
    if (colon == spec.npos || colon == 0) return {spec, ""};
    return {spec.substr(0, colon), spec.substr(colon + 1)};
}

std::string listed_names(const std::vector<NamedTensor>& tensors) {
    std::string text;
    for (std::size_t i = 0; i < std::min(tensors.size(), most_names); ++i) {
        if (i > 0) text += ", ";
        text += shown(tensors[i].name);
    }
    if (tensors.size() > most_names) {
        text += " and " + std::to_string(tensors.size() - most_names) + " more";
    }
    return text;
}

// What some well-known files that cannot be read begin with, and what to do about each.
struct Foreign {
    std::string_view magic;
    const char* advice;
};
constexpr Foreign foreign_formats[] = {
    {"\x1F\x8B", "it is compressed with gzip: unpack it first"},
    {"\x89HDF", "it is HDF5: save the arrays with numpy.savez"},
    {"\x80\x02", "it is a Python pickle: save the arrays with numpy.savez"},
    {"\x80\x04", "it is a Python pickle: save the arrays with numpy.savez"},
};

bool looks_like_json(std::string_view bytes) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    return first != bytes.npos && (bytes[first] == '{' || bytes[first] == '[');
}

std::vector<NamedTensor> unnamed(Tensor tensor) {
    std::vector<NamedTensor> result;
    result.push_back({"", std::move(tensor)});
    return result;
}

}  // namespace

std::vector<NamedTensor> read_tensors_from_bytes(std::string_view bytes, const std::string& label) {
    constexpr const char* formats = "give .npy, .npz, .safetensors, .csv or .json";
    if (bytes.empty()) throw InputError(label + ": the file is empty: " + formats);

    // The content is the better witness, ...
    if (bytes.starts_with(npy_magic)) return unnamed(parse_npy(bytes, label));
    if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) {
        return parse_npz(bytes, label);
    }
    if (looks_like_safetensors(bytes)) return parse_safetensors(bytes, label);
    for (const Foreign& each : foreign_formats) {
        if (bytes.starts_with(each.magic)) throw InputError(label + ": " + each.advice);
    }
    if (looks_like_json(bytes)) return parse_json_tensors(bytes, label);

    // ... but a damaged file is best explained as what its name says it was.
    if (label.ends_with(".npy")) return unnamed(parse_npy(bytes, label));
    if (label.ends_with(".npz")) return parse_npz(bytes, label);
    if (label.ends_with(".safetensors")) return parse_safetensors(bytes, label);
    if (label.ends_with(".json")) return parse_json_tensors(bytes, label);
    const std::size_t nul = bytes.find('\0');
    if (nul != bytes.npos) {
        throw InputError(label +
                         ": neither a known binary format nor text, by the byte at offset " +
                         std::to_string(nul) + ": " + formats);
    }
    return parse_csv(bytes, label);
}

std::vector<NamedTensor> read_tensors(const std::string& path) {
    const FileBytes bytes = read_file_bytes(path);
    return read_tensors_from_bytes(bytes.view(), file_label(path));
}

Tensor read_tensor(const std::string& spec) {
    const Spec parts = split_spec(spec);
    const std::string& path = parts.path;
    const std::string& name = parts.name;
    std::vector<NamedTensor> tensors = read_tensors(path);
    const std::string label = file_label(path);
    if (name.empty()) {
        if (tensors.size() == 1) return std::move(tensors[0].tensor);
        if (tensors.empty()) throw InputError(label + ": holds no array: give a file with one");
        throw InputError(label + ": holds " + std::to_string(tensors.size()) + " arrays, " +
                         listed_names(tensors) + ": pick one with FILE:NAME");
    }
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const NamedTensor& each) { return each.name == name; });
    if (found != tensors.end()) return std::move(found->tensor);
    if (tensors.size() == 1 && tensors[0].name.empty()) {
        throw InputError(label + ": holds one array without a name: leave out :" + name);
    }
    throw InputError(label + ": no array is called " + shown(name) + ": choose one of " +
                     listed_names(tensors));
}

}  // namespace attn
