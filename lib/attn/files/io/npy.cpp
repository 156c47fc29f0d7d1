#include "attn/files/io/array_files.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "attn/files/io/json.hpp"
#include "attn/files/io/zip.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& label, const std::string& what, std::size_t offset) {
    throw InputError(label + ": " + what + " at offset " + std::to_string(offset) +
                     ": save it again with numpy.save");
}

/// Converts a header, which is a Python dictionary, to JSON with all characters at the same places.
///
///     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
std::string header_as_json(std::string_view header) {
    constexpr std::string_view python{"()TFL"}, json{"[]tf "};  // Python 2 wrote 2L
    std::string text(header);
    char quote = '\0';
    std::size_t last = 0;  // last character that is not a space
    for (std::size_t i = 0; i < text.size(); ++i) {
        char& letter = text[i];
        const bool ends = letter == quote;
        if (ends || (quote == '\0' && (letter == '\'' || letter == '"'))) {
            quote = ends ? '\0' : letter;
            letter = '"';
        } else if (const std::size_t at = python.find(letter); quote == '\0' && at != python.npos) {
            letter = json[at];
        }
        if ((letter == ']' || letter == '}') && quote == '\0' && text[last] == ',') {
            text[last] = ' ';
        }
        if (letter != ' ' && letter != '\n') last = i;
    }
    return text;
}

/// Parses a type such as `<f4`; `place` is the offset of the header.
StoredType type_of(const Json& descr, std::string_view header, std::size_t place,
                   const std::string& label) {
    const auto refuse = [&](std::size_t offset, const std::string& what) {
        throw NotATensor(label, what + " at offset " + std::to_string(place + offset),
                         "convert it with .astype('float32') and save it again");
    };
    if (descr.is_array()) refuse(header.find('['), "a structured array is not a tensor");
    if (!descr.is_string()) fail(label, "'descr' is not a string", place);
    const auto word = descr.get<std::string>();
    const std::size_t at = header.find(word) - 1;
    if (word == "|O" || word == "O") {
        refuse(at, "the array contains pickled Python objects, not numbers");
    }
    const bool has_order = !word.empty() && std::string_view("<>=|").find(word[0]) != word.npos;
    std::optional<StoredType> type = type_called(word.substr(has_order ? 1 : 0), &TypeNames::numpy);
    if (!type) refuse(at, "the type " + quoted_text(word) + " is not supported");
    type->big_endian = word[0] == '>';
    return *type;
}

NpyLayout parse_header(std::string_view header, std::size_t place, const std::string& label) {
    std::set<std::string> missing{"descr", "fortran_order", "shape"};
    const auto take_key = [&](int, Json::parse_event_t event, const Json& key) {
        if (event == Json::parse_event_t::key && missing.erase(key.get<std::string>()) == 0) {
            const auto name = key.get<std::string>();
            fail(label, "the header has an unexpected key " + quoted_text(name),
                 place + header.rfind(name) - 1);
        }
        return true;
    };
    // The parser would treat a NUL as the end of the text.
    if (const std::size_t nul = header.find('\0'); nul != header.npos) {
        fail(label, "the header contains a NUL", place + nul);
    }
    Json read;
    try {
        read = Json::parse(header_as_json(header), take_key);
    } catch (const Json::parse_error& error) {
        fail(label, "the header is not a Python dictionary", place + error.byte - 1);
    } catch (const Json::exception&) {
        fail(label, "the header contains a number out of range", place);
    }
    if (!read.is_object() || !missing.empty()) {
        fail(label, "the header lacks one of 'descr', 'fortran_order' and 'shape'",
             place + header.size());
    }
    NpyLayout layout;
    layout.type = type_of(read["descr"], header, place, label);
    const auto refuse = [&](const char* key, const std::string& what) {
        fail(label, "'" + std::string(key) + "' is " + what, place + header.find(key) - 1);
    };
    if (!read["fortran_order"].is_boolean()) refuse("fortran_order", "neither True nor False");
    layout.column_major = read["fortran_order"].get<bool>();
    const std::optional<Shape> shape = sizes_in(read["shape"]);
    if (!shape) refuse("shape", "not a tuple of sizes");
    if (shape->size() > most_axes) refuse("shape", "a tuple of more than 32 axes");
    layout.shape = *shape;
    return layout;
}

}  // namespace

NpyLayout parse_npy_layout(std::string_view bytes, const std::string& label) {
    // Find the header: its length has 2 bytes in version 1 and 4 bytes in later ones.
    if (!bytes.starts_with(npy_magic))
        fail(label, "this is not a .npy file, by its first bytes", 0);
    if (bytes.size() < 10) fail(label, "the file ends within the header", bytes.size());
    const int version = static_cast<unsigned char>(bytes[6]);
    if (version < 1 || version > 3) {
        fail(label, "unknown .npy version " + std::to_string(version), 6);
    }
    const std::size_t length_size = version == 1 ? 2 : 4;
    const std::size_t begin = 8 + length_size;
    if (bytes.size() < begin) fail(label, "the file ends within the header", bytes.size());
    const std::uint64_t length = little_endian(bytes.substr(8), length_size);
    if (length > bytes.size() - begin) {
        fail(label,
             "the header claims " + std::to_string(length) + " bytes, but the file ends before",
             bytes.size());
    }

    // Parse it, and check that its array fits in memory.
    NpyLayout layout = parse_header(bytes.substr(begin, length), begin, label);
    const std::optional<std::size_t> size = byte_count(layout.shape, layout.type.size);
    if (!size)
        fail(label, "no memory is large enough for the shape " + shape_text(layout.shape), begin);
    layout.values_offset = begin + length;
    layout.values_size = *size;
    return layout;
}

NamedTensor read_npy_values(const NpyLayout& layout, const Fetch& fetch, const std::string& label) {
    if (!layout.column_major || layout.shape.size() < 2) {
        return {"", read_elements(layout.type, layout.shape, fetch, label)};
    }
    const Tensor flat = read_elements(layout.type, {element_count(layout.shape)}, fetch, label);
    Shape strides(layout.shape.size(), 1);
    for (std::size_t axis = 1; axis < strides.size(); ++axis) {
        strides[axis] = strides[axis - 1] * layout.shape[axis - 1];
    }
    return {"", strided(flat, layout.shape, strides)};
}

std::vector<StoredArray> npy_arrays(const InputFile& file) {
    const auto read = [&file]() {
        const std::string& label = file.label();
        const NpyLayout layout = parse_npy_layout(file.text(0, longest_npy_header), label);
        const std::uint64_t size = file.size() - layout.values_offset;
        if (layout.values_size > size) {
            fail(label,
                 "shape " + shape_text(layout.shape) + " needs " +
                     std::to_string(layout.values_size) +
                     " bytes of values, but the file ends after " + std::to_string(size),
                 file.size());
        }
        if (layout.values_size < size) {
            fail(label,
                 std::to_string(size - layout.values_size) + " bytes too many after the values",
                 layout.values_offset + layout.values_size);
        }
        return read_npy_values(
            layout, fetch_rows(file, layout.values_offset, layout.values_size, {0}), label);
    };
    return {{"", read}};
}

std::string npy_header(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    const TypeNames& type = names_of(tensor.dtype());
    std::string text = "{'descr': '" + std::string(type.type.size == 1 ? "|" : "<") +
                       std::string(type.numpy) +
                       "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
    // NumPy pads the first length to 21 digits so that it can grow in place, ...
    if (!shape.empty()) text.append(21 - std::to_string(shape[0]).size(), ' ');
    // ... and aligns the values to 64 bytes.
    constexpr std::size_t before = 10;
    text.append(63 - (before + text.size()) % 64, ' ');
    text += '\n';
    std::string header(npy_magic);
    header += '\x01';
    header += '\0';
    return header + little_endian_bytes(text.size(), 2) + text;
}

/// Converts bfloat16, which NumPy lacks, to float32, which has the same numbers.
Tensor as_numpy(const Tensor& tensor) {
    return tensor.dtype() == DType::bfloat16 ? tensor.of_type(DType::float32) : tensor;
}

void write_npy(OutputFile& file, const Tensor& tensor) {
    const Tensor known = as_numpy(tensor);
    std::string room;
    file.write(npy_header(known));
    file.write(stored_bytes(known, room));
}

namespace {

NamedTensor read_entry(const InputFile& file, const ZipEntry& entry, const std::string& label) {
    // The header determines the size, so that no more is unpacked than the array needs.
    ZipEntryReader reader(file, entry, label);
    std::string start(std::min<std::uint64_t>(entry.unpacked, longest_npy_header), '\0');
    reader.read(start.data(), start.size());
    const NpyLayout layout = parse_npy_layout(start, label);
    if (layout.values_size != entry.unpacked - layout.values_offset) {
        throw InputError(label + ": shape " + shape_text(layout.shape) + " needs " +
                         std::to_string(layout.values_size) +
                         " bytes of values, but the archive holds " +
                         std::to_string(entry.unpacked - layout.values_offset) +
                         ": save it again with numpy.savez");
    }

    // Copy the part that came with the header first, and the rest from the archive.
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
            throw InputError(file.label() + ": holds " + quoted_text(name) +
                             " twice: save it again with numpy.savez");
        }
        const auto read = [&file, entry, is_array, name]() {
            const std::string label = file.label() + ": array " + quoted_text(name);
            if (!is_array) {
                throw NotATensor(label, "it is not a NumPy array",
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
    std::string room;
    for (const TensorRef& each : tensors) {
        const Tensor known = as_numpy(each.tensor);
        archive.add(each.name + ".npy", npy_header(known), stored_bytes(known, room));
    }
    archive.finish(comment);
}

void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors) {
    write_npz(file, tensors, {});
}

}  // namespace attn
