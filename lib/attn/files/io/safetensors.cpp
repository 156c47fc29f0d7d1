#include "attn/files/io/array_files.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/files/io/json.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Json = nlohmann::json;

constexpr std::size_t length_size = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit

// Unsupported types of the format: other arrays of the file can be read.
constexpr std::string_view other_types[] = {"F8_E4M3",     "F8_E5M2",     "F8_E8M0",
                                            "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4",
                                            "F6_E2M3",     "F6_E3M2",     "C64"};

// One array as described in the header; without a type if that is unsupported.
struct Entry {
    std::string name;
    std::string place;  // name in messages
    std::optional<StoredType> type;
    std::string type_word;
    Shape shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// `place` is the file, or one of its arrays.
[[noreturn]] void fail_safetensors(const std::string& place, const std::string& what) {
    throw InputError(place + ": " + what + ": save it again");
}

Shape parse_sizes(const Json& value, const char* key, const std::string& place) {
    const std::optional<Shape> sizes = sizes_in(value);
    if (!sizes) fail_safetensors(place, std::string(key) + " is not a list of sizes");
    return *sizes;
}

Entry parse_entry(const std::string& name, const Json& value, const std::string& place) {
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
        fail_safetensors(place, "the header lacks one of 'dtype', 'shape' and 'data_offsets'");
    }
    Entry entry;
    entry.name = name;
    entry.place = place;
    if (value["dtype"].is_string()) entry.type_word = value["dtype"].get<std::string>();
    entry.type = type_called(entry.type_word, &TypeNames::safetensors);
    if (!entry.type && std::ranges::find(other_types, entry.type_word) == std::end(other_types)) {
        fail_safetensors(
            place, "the type " + quoted_text(entry.type_word) + " is not one of the format's");
    }
    entry.shape = parse_sizes(value["shape"], "'shape'", place);
    if (entry.shape.size() > most_axes) fail_safetensors(place, "the shape has more than 32 axes");
    const Shape offsets = parse_sizes(value["data_offsets"], "'data_offsets'", place);
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
        fail_safetensors(place, "'data_offsets' is not a pair of start and end");
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.type && byte_count(entry.shape, entry.type->size) != entry.end - entry.begin) {
        fail_safetensors(place, "shape " + shape_text(entry.shape) + " does not take the " +
                                    std::to_string(entry.end - entry.begin) +
                                    " bytes that it is given");
    }
    return entry;
}

/// Returns the entries of a header, in the order of their values.
std::vector<Entry> entries_in(const Json& header, const std::string& label) {
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
        if (name == "__metadata__") {
            const bool has_texts =
                value.is_object() && std::all_of(value.begin(), value.end(),
                                                 [](const Json& each) { return each.is_string(); });
            if (!has_texts)
                fail_safetensors(label, "'__metadata__' does not hold texts by their names");
            continue;
        }
        entries.push_back(parse_entry(name, value, label + ": array " + quoted_text(name)));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    return entries;
}

/// Checks that the arrays cover the values, from an offset on, without gaps or overlap.
void check_cover(const std::vector<Entry>& entries, std::uint64_t offset, const InputFile& file) {
    const std::uint64_t size = file.size() - offset;
    std::uint64_t covered = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != covered) {
            fail_safetensors(entry.place, "the values should begin at " + std::to_string(covered) +
                                              ", not " + std::to_string(entry.begin) +
                                              " (a hole or an overlap)");
        }
        if (entry.end > size) {
            fail_safetensors(entry.place, "the values end at " + std::to_string(entry.end) +
                                              ", but the file has only " + std::to_string(size) +
                                              " bytes of them");
        }
        covered = entry.end;
    }
    if (covered != size) {
        fail_safetensors(file.label(), std::to_string(size - covered) +
                                           " bytes too many at offset " +
                                           std::to_string(offset + covered));
    }
}

/// Returns an array that is read on demand, whole or by rows.
StoredArray stored_array(Entry described, std::uint64_t values_offset, const InputFile& file) {
    const auto shared = std::make_shared<const Entry>(std::move(described));
    const auto read = [&file, shared, values_offset](const Shape& shape,
                                                     const std::vector<std::size_t>& rows) {
        const Entry& entry = *shared;
        if (!entry.type) {
            throw NotATensor(
                entry.place, "the type " + quoted_text(entry.type_word) + " is not supported",
                "convert it to F32, as python3 -c \"from safetensors.torch import load_file, "
                "save_file; save_file({n: t.float() for n, t in load_file('" +
                    file.label() + "').items()}, 'OUT.safetensors')\" does");
        }
        const std::uint64_t bytes = entry.end - entry.begin;
        const std::size_t parts = rows.empty() ? 1 : entry.shape[0];
        const Fetch fetch = fetch_rows(file, values_offset + entry.begin, bytes / parts,
                                       rows.empty() ? std::vector<std::size_t>{0} : rows);
        return NamedTensor{entry.name, read_elements(*entry.type, shape, fetch, entry.place)};
    };
    const auto read_rows = [read, shared](const std::vector<std::size_t>& rows) {
        Shape shape = shared->shape;
        shape[0] = rows.size();
        return read(shape, rows);
    };
    return {shared->name, [read, shared] { return read(shared->shape, {}); }, read_rows,
            shared->shape, shared->type ? static_cast<double>(shared->type->size) : 0};
}

}  // namespace

bool looks_like_safetensors(const InputFile& file) {
    const std::string start = file.text(0, length_size + 1);
    return start.size() > length_size && start[length_size] == '{' &&
           little_endian(start, length_size) <= file.size() - length_size;
}

std::vector<StoredArray> safetensors_arrays(const InputFile& file) {
    const std::string& label = file.label();
    if (file.size() < length_size)
        fail_safetensors(label, "the file ends within the first 8 bytes");
    const std::uint64_t length = little_endian(file.text(0, length_size), length_size);
    if (length > longest_header || length > file.size() - length_size) {
        fail_safetensors(
            label, "the header claims " + std::to_string(length) + " bytes at offset 0, but the " +
                       (length > longest_header ? "format allows 100000000" : "file ends before"));
    }
    const std::string text = file.text(length_size, length);
    const Json header = parse_json(text, label + ": header");
    if (!header.is_object() || text.front() != '{')
        fail_safetensors(label, "the header is not a JSON object");
    std::vector<Entry> entries = entries_in(header, label);
    const std::uint64_t values_offset = length_size + length;
    check_cover(entries, values_offset, file);
    std::vector<StoredArray> arrays;
    for (Entry& each : entries)
        arrays.push_back(stored_array(std::move(each), values_offset, file));
    return arrays;
}

void write_safetensors(OutputFile& file, const std::vector<TensorRef>& tensors) {
    check_names(file.path(), tensors);

    // Write the largest types first.
    std::vector<const TensorRef*> order;
    for (const TensorRef& each : tensors) order.push_back(&each);
    const auto names = [](const TensorRef* each) { return names_of(each->tensor.dtype()); };
    const auto width = [&](const TensorRef* each) { return names(each).type.size; };
    std::ranges::stable_sort(order, std::greater(), width);

    // Describe each array in the header.
    Json header = Json::object();
    std::size_t offset = 0;
    for (const TensorRef* each : order) {
        const std::size_t end = offset + stored_size(each->tensor);
        header[each->name] = {{"dtype", names(each).safetensors},
                              {"shape", each->tensor.shape()},
                              {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.append((8 - text.size() % 8) % 8, ' ');

    // Write length, header and values.
    file.write(little_endian_bytes(text.size(), length_size) + text);
    std::string room;
    for (const TensorRef* each : order) file.write(stored_bytes(each->tensor, room));
}

}  // namespace attn
