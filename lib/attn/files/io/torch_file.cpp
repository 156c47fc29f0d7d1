#include "attn/files/io/array_files.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "attn/files/io/pickle.hpp"
#include "attn/files/io/zip.hpp"
#include "attn/ground/text/collected.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::string_view pickle_name{"/data.pkl"};
constexpr std::uint64_t longest_pickle = std::uint64_t{1} << 24U;
constexpr std::size_t most_expanded = std::size_t{1} << 24U;

[[noreturn]] void refuse(const std::string& label, const std::string& what) {
    throw InputError(label + ": " + what + ": " + pickle_advice);
}

using PickleType = PickleValue::PickleType;

// A tensor as described in the pickle.
struct Described {
    std::string key;
    std::string type_name;
    StoredType type;
    std::size_t offset = 0;
    Shape shape;
    Shape strides;
};

std::size_t natural(const PickleValue& value, const std::string& label) {
    if (value.value_type != PickleType::integer || value.integer < 0) {
        refuse(label, "its offset, shape or strides are not whole numbers of 0 or more");
    }
    return static_cast<std::size_t>(value.integer);
}

Shape naturals(const Pickle& pickle, const PickleValue& list, const std::string& label) {
    if ((list.value_type != PickleType::tuple && list.value_type != PickleType::list) ||
        list.items.size() > most_axes) {
        refuse(label, "its shape or strides are not a list of at most 32 numbers");
    }
    return collected(list.items, [&](std::size_t each) { return natural(pickle[each], label); });
}

Described described(const Pickle& pickle, const PickleValue& tensor, const std::string& label) {
    const PickleValue& storage = pickle[tensor.items[0]];
    if (storage.value_type != PickleType::storage) refuse(label, "it has no storage");
    Described result;
    result.type_name = pickle[storage.items[0]].text;
    const std::optional<StoredType> type = type_called(result.type_name, &TypeNames::torch);
    if (!type) refuse(label, "it has no storage");
    result.key = storage.text;
    result.type = *type;
    result.offset = natural(pickle[tensor.items[1]], label);
    result.shape = naturals(pickle, pickle[tensor.items[2]], label);
    result.strides = naturals(pickle, pickle[tensor.items[3]], label);
    if (result.strides.size() != result.shape.size()) refuse(label, "its strides do not fit");
    return result;
}

// Returns the number of storage elements that are needed: up to the last one shown.
std::size_t reach(const Described& tensor, std::size_t elements, const std::string& label) {
    std::size_t last = tensor.offset;
    if (element_count(tensor.shape) == 0) return 0;
    for (std::size_t axis = 0; axis < tensor.shape.size() && last < elements; ++axis) {
        const std::size_t steps = tensor.shape[axis] - 1;
        const bool beyond = steps > 0 && tensor.strides[axis] > elements / steps;
        last = beyond ? elements : last + steps * tensor.strides[axis];
    }
    if (last >= elements) refuse(label, "it reaches beyond its storage");
    return last + 1;
}

// The entries of the file by name, and the last storage that was read, because tensors that share
// one are adjacent.
struct Archive {
    const InputFile& file;
    std::string folder{};
    std::map<std::string, ZipEntry> entries{};
    std::uint64_t allowed = most_expanded;  // numbers of all tensors, and of storages read for them
    std::string latest{};
    Tensor flat{};

    // Returns the entry `archive/data/KEY` next to `archive/data.pkl`.
    const ZipEntry& storage(const Described& tensor, const std::string& label) const {
        const auto found = entries.find(folder + "/data/" + tensor.key);
        if (found != entries.end()) return found->second;
        refuse(label, "its storage " + quoted_text(tensor.key) + " is missing");
    }
    // Small files may claim a large size by many tensors of one storage, and by strides of 0.
    void take(const Described& tensor, const std::string& label) {
        const ZipEntry& entry = storage(tensor, label);
        const std::uint64_t size = byte_count(tensor.shape, 1).value_or(allowed + 1);
        const std::uint64_t cost = std::max(size, latest == entry.name ? 0 : entry.unpacked);
        latest = entry.name;
        if (cost > allowed) {
            refuse(label, "with its shape " + shape_text(tensor.shape) +
                              " the tensors are far larger than what the file holds");
        }
        allowed -= cost;
    }
};

NamedTensor read_described(Archive& archive, const Described& tensor, const std::string& label) {
    const ZipEntry& entry = archive.storage(tensor, label);
    const std::size_t elements = entry.unpacked / tensor.type.size;
    if (reach(tensor, elements, label) == 0) {
        return {"", read_elements(
                        tensor.type, tensor.shape, [](char*, std::size_t) {}, label)};
    }
    // The checksum covers the whole storage, which several tensors may share.
    const std::string wanted = entry.name + "/" + tensor.type_name;
    if (archive.latest != wanted) {
        ZipEntryReader reader(archive.file, entry, label);
        const Fetch fetch = [&](char* to, std::size_t count) { reader.read(to, count); };
        archive.flat = read_elements(tensor.type, {elements}, fetch, label);
        std::string rest(entry.unpacked % tensor.type.size, '\0');
        reader.read(rest.data(), rest.size());
        reader.finish();
        archive.latest = wanted;
    }
    return {"", strided(archive.flat, tensor.shape, tensor.strides, tensor.offset)};
}

const ZipEntry* pickle_entry(const std::vector<ZipEntry>& entries) {
    const auto found = std::find_if(entries.begin(), entries.end(), [](const ZipEntry& each) {
        return each.name.ends_with(pickle_name);
    });
    return found == entries.end() ? nullptr : &*found;
}

std::shared_ptr<Archive> opened(const InputFile& file) {
    const std::string& label = file.label();
    const std::vector<ZipEntry> entries = zip_directory(file);
    const ZipEntry* const pickle = pickle_entry(entries);
    if (pickle == nullptr) refuse(label, "the archive has no data.pkl");
    const auto archive = std::make_shared<Archive>(Archive{file});
    archive->folder = pickle->name.substr(0, pickle->name.size() - pickle_name.size());
    for (const ZipEntry& each : entries) {
        archive->entries.emplace(each.name, each);
        archive->allowed += 4 * std::min(each.unpacked, most_unpacked_per_byte * each.packed);
        if (each.name != archive->folder + "/byteorder") continue;
        std::string order(std::min<std::uint64_t>(each.unpacked, 8), '\0');
        ZipEntryReader(file, each, label).read(order.data(), order.size());
        if (order == "big") refuse(label, "it was saved on a big-endian machine");
    }
    return archive;
}

Pickle pickle_in(const Archive& archive) {
    const std::string& label = archive.file.label();
    const ZipEntry& entry = archive.entries.at(archive.folder + std::string(pickle_name));
    if (entry.unpacked > longest_pickle) refuse(label, "the pickle inside is too large");
    std::string bytes(entry.unpacked, '\0');
    ZipEntryReader reader(archive.file, entry, label);
    reader.read(bytes.data(), bytes.size());
    reader.finish();
    return Pickle(bytes, label);
}

}  // namespace

bool looks_like_torch(const InputFile& file) {
    return pickle_entry(zip_directory(file)) != nullptr;
}

std::vector<StoredArray> torch_arrays(const InputFile& file) {
    const std::string& label = file.label();
    const auto archive = opened(file);
    const Pickle pickle = pickle_in(*archive);
    const PickleValue& result = pickle.result();
    if (result.value_type == PickleType::tensor) {
        const Described tensor = described(pickle, result, label);
        archive->take(tensor, label);
        return {{"", [archive, tensor] {
                     return read_described(*archive, tensor, archive->file.label());
                 }}};
    }
    const bool has_keys = result.value_type == PickleType::dictionary;
    const bool is_list =
        result.value_type == PickleType::list || result.value_type == PickleType::tuple;
    if (!has_keys && !is_list) refuse(label, "it contains no tensor, list or dictionary");

    // The last of equal keys wins, as in Python.
    std::vector<StoredArray> arrays;
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < result.items.size(); i += has_keys ? 2 : 1) {
        const PickleValue& key = pickle[result.items[i]];
        const PickleValue& value = pickle[result.items[has_keys ? i + 1 : i]];
        const std::string number = result.items.size() > 1 ? "matrix_" + std::to_string(i + 1) : "";
        const std::string name = !has_keys ? number
                                 : key.value_type == PickleType::integer
                                     ? std::to_string(key.integer)
                                     : key.text;
        const std::string array_label = label + ": array " + quoted_text(name);
        StoredArray array{name, [array_label]() -> NamedTensor {
                              throw NotATensor(array_label, "it is not a tensor", pickle_advice);
                          }};
        if (value.value_type == PickleType::tensor) {
            const Described tensor = described(pickle, value, array_label);
            archive->take(tensor, array_label);
            array.read = [archive, tensor, array_label] {
                return read_described(*archive, tensor, array_label);
            };
        }
        const auto [place, is_new] = places.try_emplace(name, arrays.size());
        if (is_new) {
            arrays.push_back(std::move(array));
        } else {
            arrays[place->second] = std::move(array);
        }
    }
    return arrays;
}

}  // namespace attn
