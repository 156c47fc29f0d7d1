#include "attn/files/io/read_tensor.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/gguf.hpp"
#include "attn/files/io/json.hpp"
#include "attn/files/io/number_lists.hpp"
#include "attn/files/io/workbook.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/collected.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr const char* formats = "give .npy, .npz, .safetensors, .gguf, .pt, .csv or .json";

struct Spec {
    std::string path;
    std::string name;
};

bool exists(const std::string& path) {
    struct stat status {};
    return path == "-" || ::stat(path.c_str(), &status) == 0;
}

// A path may contain colons itself, so the longest prefix that exists is the file.
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

std::string listed_names(const std::vector<StoredArray>& arrays) {
    return some_of(collected(arrays, [](const auto& each) { return quoted_text(each.name); }));
}

// First bytes of some well-known unsupported files, and advice on each.
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

bool looks_like_json_object(std::string_view bytes) {
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    return first != bytes.npos && bytes[first] == '{';
}

// Wraps arrays that are already in memory.
std::vector<StoredArray> in_memory(std::vector<NamedTensor> tensors) {
    std::vector<StoredArray> arrays;
    for (NamedTensor& each : tensors) {
        const std::string name = each.name;
        arrays.push_back({name, [tensor = std::move(each)] { return tensor; }});
    }
    return arrays;
}

bool begins_with(const InputFile& file, std::string_view magic) {
    return file.text(0, magic.size()) == magic;
}
bool looks_like_npy(const InputFile& file) { return begins_with(file, npy_magic); }
bool looks_like_zip(const InputFile& file) {
    return begins_with(file, "PK\x03\x04") || begins_with(file, "PK\x05\x06");
}

std::vector<StoredArray> zip_arrays(const InputFile& file) {
    return looks_like_torch(file) ? torch_arrays(file) : npz_arrays(file);
}

/// The binary formats.
struct Format {
    std::vector<std::string_view> endings;
    bool (*looks_like)(const InputFile&);
    std::vector<StoredArray> (*read)(const InputFile&);
};
const Format binary_formats[] = {
    {{".npy"}, looks_like_npy, npy_arrays},
    {{".xlsx"}, looks_like_workbook, workbook_arrays},
    {{".npz", ".pt", ".pth"}, looks_like_zip, zip_arrays},
    {{".safetensors"}, looks_like_safetensors, safetensors_arrays},
    {{".gguf"}, looks_like_gguf, gguf_arrays},
};

std::vector<StoredArray> text_arrays(InputFile& file, std::vector<std::string>& notes) {
    const std::string_view text = file.all();
    const std::string& label = file.label();
    const bool is_python = text.find("array(") != text.npos || text.find("tensor(") != text.npos;
    if (looks_like_json_object(text) && !is_python) return json_arrays(text, label);
    const bool is_json = label.ends_with(".json");
    if (!is_json) {
        if (auto matrices = read_document(text, label)) return in_memory(*std::move(matrices));
    }
    if (looks_like_printed_array(text) || is_json) {
        return in_memory(parse_printed_arrays(text, label));
    }
    const std::size_t nul = text.find('\0');
    if (nul != text.npos) {
        throw InputError(label +
                         ": neither a known binary format nor text, by the byte at offset " +
                         std::to_string(nul) + ": " + formats);
    }
    return in_memory(parse_csv(text, label, notes));
}

}  // namespace

std::string file_of(const std::string& spec) { return split_spec(spec).path; }

TensorFile::TensorFile(const std::string& path) : file_(std::make_unique<InputFile>(path)) {
    find_arrays();
}

TensorFile::TensorFile(std::string_view bytes, const std::string& label)
    : file_(std::make_unique<InputFile>(bytes, label)) {
    find_arrays();
}

void TensorFile::find_arrays() {
    InputFile& file = *file_;
    if (file.size() == 0) throw InputError(label() + ": the file is empty: " + formats);
    // The content is more reliable than the name, ...
    for (const Format& each : binary_formats) {
        if (each.looks_like(file)) return void(arrays_ = each.read(file));
    }
    for (const Foreign& each : foreign_formats) {
        if (begins_with(file, each.magic)) throw InputError(label() + ": " + each.advice);
    }
    // ... but a damaged file is best explained by the format of its name.
    for (const Format& each : binary_formats) {
        for (const std::string_view ending : each.endings) {
            if (label().ends_with(ending)) return void(arrays_ = each.read(file));
        }
    }
    arrays_ = text_arrays(file, notes_);
}

NamedTensor TensorFile::read(const std::string& name) const {
    const bool is_lone = arrays_.size() == 1 && arrays_[0].name.empty();
    const auto found = std::find_if(arrays_.begin(), arrays_.end(), [&](const StoredArray& each) {
        return is_lone || each.name == name;
    });
    if (found == arrays_.end()) {
        throw InputError(
            label() + ": no array is called " + quoted_text(name) + ": " +
            (arrays_.empty() ? "it contains none" : "choose one of " + listed_names(arrays_)));
    }
    NamedTensor array = found->read();
    array.name = name;
    return array;
}

std::vector<NamedTensor> TensorFile::read_all(const Sink& note) const {
    for (const std::string& each : notes_) note(each);
    std::vector<NamedTensor> tensors;
    std::vector<std::string> left_out;
    for (const StoredArray& each : arrays_) {
        try {
            tensors.push_back(each.read());
            tensors.back().name = each.name;
        } catch (const NotATensor& reason) {
            if (arrays_.size() == 1) throw;
            left_out.push_back(label() + ": left out " + quoted_text(each.name) + ": " +
                               reason.reason());
        }
    }
    if (tensors.empty() && !left_out.empty()) {
        throw InputError(label() + ": contains no tensor, only " + listed_names(arrays_) + ": " +
                         formats);
    }
    for (const std::string& each : left_out) note(each);
    return tensors;
}

std::vector<NamedTensor> read_tensors(const std::string& spec, const Sink& note) {
    const Spec parts = split_spec(spec);
    const TensorFile file(parts.path);
    if (parts.name.empty()) return file.read_all(note);
    for (const std::string& each : file.notes()) note(each);
    return {file.read(parts.name)};
}

Tensor read_tensor(const std::string& spec, const Sink& note) {
    return read_named_tensor(spec, note).tensor;
}

NamedTensor read_named_tensor(const std::string& spec, const Sink& note) {
    const Spec parts = split_spec(spec);
    const TensorFile file(parts.path);
    for (const std::string& each : file.notes()) note(each);
    const std::vector<StoredArray>& arrays = file.arrays();
    if (!parts.name.empty()) {
        if (arrays.size() == 1 && arrays[0].name.empty()) {
            throw InputError(file.label() + ": contains one array without a name: leave out :" +
                             visible(parts.name));
        }
        return file.read(parts.name);
    }
    if (arrays.size() == 1) return arrays[0].read();
    if (arrays.empty())
        throw InputError(file.label() + ": contains no array: give a file with one");
    throw InputError(file.label() + ": holds " + std::to_string(arrays.size()) + " arrays, " +
                     listed_names(arrays) + ": pick one with FILE:NAME");
}

}  // namespace attn
