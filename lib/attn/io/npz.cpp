#include "attn/io/npz.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "attn/io/npy.hpp"
#include "attn/io/zip.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

NamedTensor read_entry(const InputFile& file, const ZipEntry& entry, const std::string& label) {
    // The header tells the size, so that no more is unpacked than the array needs.
    ZipEntryReader reader(file, entry, label);
    std::string start(std::min<std::uint64_t>(entry.unpacked, longest_npy_header), '\0');
    reader.read(start.data(), start.size());
    const NpyLayout layout = parse_npy_layout(start, label);
    if (layout.values_size != entry.unpacked - layout.values_offset) {
        throw InputError(label + ": shape " + shape_text(layout.shape) + " needs " +
                         std::to_string(layout.values_size) +
                         " bytes of values, but the archive holds " +
                         std::to_string(entry.unpacked - layout.values_offset) +
                         ": save it anew with numpy.savez");
    }

    // Take what came with the header first, and the rest from the archive.
    std::string_view early = std::string_view(start).substr(layout.values_offset);
    const Fetch fetch = [&](char* to, std::size_t size) {
        const std::size_t count = std::min(size, early.size());
        std::memcpy(to, early.data(), count);
        early.remove_prefix(count);
        reader.read(to + count, size - count);
    };
    NamedTensor array = read_npy_values(layout, fetch, label);
    reader.finish();
    return array;
}

}  // namespace

std::vector<StoredArray> npz_arrays(const InputFile& file) {
    constexpr std::string_view ending{".npy"};
    std::vector<StoredArray> arrays;
    std::set<std::string> names;
    for (ZipEntry& entry : zip_directory(file)) {
        const bool is_array = entry.name.ends_with(ending);
        const std::string name =
            entry.name.substr(0, entry.name.size() - (is_array ? ending.size() : 0));
        if (!names.insert(name).second) {
            throw InputError(file.label() + ": holds " + shown(name) +
                             " twice: save it anew with numpy.savez");
        }
        const auto read = [&file, entry, is_array, name]() {
            const std::string label = file.label() + ": array " + shown(name);
            if (!is_array) {
                throw NotATensor(label, "it is no array of NumPy",
                                 "save the arrays with numpy.savez");
            }
            return read_entry(file, entry, label);
        };
        arrays.push_back({name, read});
    }
    return arrays;
}

void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors, std::string_view comment) {
    check_names(file.path(), tensors);
    ZipWriter archive(file);
    for (const TensorRef& each : tensors) {
        archive.add(each.name + ".npy", npy_header(each.tensor), value_bytes(each.tensor));
    }
    archive.finish(comment);
}

void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors) {
    write_npz(file, tensors, {});
}

}  // namespace attn
