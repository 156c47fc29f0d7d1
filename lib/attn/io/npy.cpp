#include "attn/io/array_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "attn/io/zip.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

struct Header {
    std::optional<StoredType> type;
    std::optional<bool> column_major;
    std::optional<Shape> shape;
};

// Reads the header, which is a Python dictionary written out:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
public:
    HeaderParser(std::string_view bytes, std::size_t begin, std::size_t end,
                 const std::string& label)
        : text_(bytes.substr(0, end)), position_(begin), label_(label) {}

    Header parse() {
        Header header;
        expect('{');
        while (!accept('}')) {
            const std::size_t start = position_;
            const std::string_view key = string();
            expect(':');
            if (key == "descr" && !header.type) {
                header.type = type();
            } else if (key == "fortran_order" && !header.column_major) {
                header.column_major = boolean();
            } else if (key == "shape" && !header.shape) {
                header.shape = shape();
            } else {
                fail(start, "the header has an unexpected key " + shown(key));
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_blanks();
        if (position_ != text_.size()) fail(position_, "the header goes on after its '}'");
        if (!header.type || !header.column_major || !header.shape) {
            fail(position_, "the header lacks one of 'descr', 'fortran_order' and 'shape'");
        }
        return header;
    }

private:
    [[noreturn]] void fail(std::size_t offset, const std::string& what) const {
        throw InputError(label_ + ": " + what + " at offset " + std::to_string(offset) +
                         ": save it anew with numpy.save");
    }

    [[noreturn]] void refuse_type(std::size_t offset, const std::string& what) const {
        throw NotATensor(label_, what + " at offset " + std::to_string(offset),
                         "convert it with .astype('float32') and save it anew");
    }

    void skip_blanks() {
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
            ++position_;
        }
    }

    bool accept(char letter) {
        skip_blanks();
        if (position_ == text_.size() || text_[position_] != letter) return false;
        ++position_;
        return true;
    }

    void expect(char letter) {
        if (!accept(letter)) {
            fail(position_, "the header lacks a " + shown(std::string_view(&letter, 1)));
        }
    }

    std::string_view string() {
        skip_blanks();
        const char quote = position_ < text_.size() ? text_[position_] : ' ';
        const std::size_t end =
            quote == '\'' || quote == '"' ? text_.find(quote, position_ + 1) : text_.npos;
        if (end == text_.npos) fail(position_, "the header lacks a quoted word");
        const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
        position_ = end + 1;
        return content;
    }

    bool boolean() {
        skip_blanks();
        for (const bool value : {false, true}) {
            const std::string_view word = value ? "True" : "False";
            if (text_.substr(position_).starts_with(word)) {
                position_ += word.size();
                return value;
            }
        }
        fail(position_, "'fortran_order' is neither True nor False");
    }

    Shape shape() {
        Shape result;
        expect('(');
        while (!accept(')')) {
            skip_blanks();
            std::size_t extent = 0;
            const char* const end = text_.data() + text_.size();
            const auto [rest, error] = std::from_chars(text_.data() + position_, end, extent);
            if (error != std::errc()) fail(position_, "'shape' is not a tuple of sizes");
            if (result.size() == most_axes) fail(position_, "'shape' has more than 32 axes");
            result.push_back(extent);
            position_ = static_cast<std::size_t>(rest - text_.data());
            accept('L');  // Python 2 marked long numbers so
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return result;
    }

    StoredType type() {
        skip_blanks();
        const std::size_t start = position_;
        if (accept('[')) refuse_type(start, "a structured array is no tensor");
        const std::string_view word = string();
        if (word == "|O" || word == "O") {
            refuse_type(start, "the array holds pickled Python objects, not numbers");
        }
        StoredType result;
        std::string_view rest = word;
        if (!rest.empty() && std::string_view("<>=|").find(rest[0]) != rest.npos) {
            result.big_endian = rest[0] == '>';
            rest.remove_prefix(1);
        }
        if (rest == "b1" || rest == "?") {
            result.kind = StoredType::Kind::boolean;
            result.size = 1;
            return result;
        }
        if (rest.size() == 2 && std::string_view("1248").find(rest[1]) != rest.npos) {
            result.size = static_cast<std::size_t>(rest[1] - '0');
            if (rest[0] == 'f' && result.size > 1) return result;
            result.kind = rest[0] == 'i' ? StoredType::Kind::signed_integer
                                         : StoredType::Kind::unsigned_integer;
            if (rest[0] == 'i' || rest[0] == 'u') return result;
        }
        refuse_type(start, "the type " + shown(word) + " is not supported");
    }

    std::string_view text_;
    std::size_t position_;
    const std::string& label_;
};

[[noreturn]] void fail(const std::string& label, const std::string& what, std::size_t offset) {
    throw InputError(label + ": " + what + " at offset " + std::to_string(offset) +
                     ": save it anew with numpy.save");
}

}  // namespace

NpyLayout parse_npy_layout(std::string_view bytes, const std::string& label) {
    // Find the header: its length has 2 bytes in version 1 and 4 bytes since.
    if (!bytes.starts_with(npy_magic)) fail(label, "this is no .npy file, by its first bytes", 0);
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

    // Read it, and see to it that some memory could hold what it describes.
    Header header = HeaderParser(bytes, begin, begin + length, label).parse();
    const std::optional<std::size_t> size = byte_count(*header.shape, header.type->size);
    if (!size) fail(label, "no memory can hold the shape " + shape_text(*header.shape), begin);
    return {*header.type, *header.column_major, *std::move(header.shape), begin + length, *size};
}

NamedTensor read_npy_values(const NpyLayout& layout, const Fetch& fetch, const std::string& label) {
    const Widened widened = layout.type.widened();
    if (!layout.column_major || layout.shape.size() < 2) {
        return {"", read_elements(layout.type, layout.shape, fetch, label), widened};
    }
    const Tensor flat = read_elements(layout.type, {element_count(layout.shape)}, fetch, label);
    Shape strides(layout.shape.size(), 1);
    for (std::size_t axis = 1; axis < strides.size(); ++axis) {
        strides[axis] = strides[axis - 1] * layout.shape[axis - 1];
    }
    return {"", strided(flat, layout.shape, strides), widened};
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
        std::uint64_t place = layout.values_offset;
        const Fetch fetch = [&](char* to, std::size_t count) {
            file.read(place, to, count);
            place += count;
        };
        return read_npy_values(layout, fetch, label);
    };
    return {{"", read}};
}

std::string npy_header(const Tensor& tensor) {
    constexpr std::string_view codes[] = {"<f4", "<f8", "<i8", "|b1"};
    const Shape shape = tensor.shape();
    std::string text = "{'descr': '";
    text += codes[static_cast<std::size_t>(tensor.dtype())];
    text += "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
    // NumPy leaves room for the first axis to grow in place to 21 digits, ...
    if (!shape.empty()) text.append(21 - std::to_string(shape[0]).size(), ' ');
    // ... and aligns the values to 64 bytes.
    constexpr std::size_t before = 10;
    text.append(63 - (before + text.size()) % 64, ' ');
    text += '\n';
    std::string header(npy_magic);
    header += '\x01';
    header += '\0';
    header += static_cast<char>(text.size() & 0xFFU);
    header += static_cast<char>(text.size() >> 8U);
    return header + text;
}

void write_npy(OutputFile& file, const Tensor& tensor) {
    file.write(npy_header(tensor));
    file.write(value_bytes(tensor));
}

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
