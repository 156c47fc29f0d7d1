#include "attn/files/io/gguf.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attn/files/io/gguf_blocks.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Json = nlohmann::json;

constexpr std::string_view gguf_magic = "GGUF";
constexpr std::uint64_t usual_alignment = 32;

/// The types of GGUF by number; empty names are no longer in use.
constexpr std::string_view gguf_types[]{
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

/// Reads one value after another.
class Cursor {
public:
    explicit Cursor(const InputFile& file) : file_(file) {}

    std::uint64_t place() const { return place_; }
    [[noreturn]] void fail(const std::string& what) const {
        throw InputError(file_.label() + ": " + what + " at offset " + std::to_string(place_) +
                         ": download or create it again");
    }
    std::string bytes(std::uint64_t size) {
        constexpr std::size_t piece = 1U << 20U;
        if (size > file_.size() - place_) fail("the header is cut off");
        if (place_ < begin_ || place_ + size > begin_ + piece_.size()) {
            begin_ = place_;
            piece_ = file_.text(begin_, std::max<std::size_t>(piece, size));
        }
        place_ += size;
        return piece_.substr(place_ - size - begin_, size);
    }
    std::uint64_t number(std::size_t size) { return little_endian(bytes(size), size); }
    std::string text() { return bytes(number(8)); }

    /// Reads a value of one of the metadata types.
    Json value(std::uint64_t kind) {
        constexpr std::size_t sizes[]{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        constexpr std::size_t most = 1U << 22U;  // a value of one byte takes 16 in memory
        if (++values_ > most) fail("metadata of more than 4194304 values");
        if (kind == 8) return text();
        if (kind >= std::size(sizes) || sizes[kind] == 0) {
            fail("a value of the unknown kind " + std::to_string(kind));
        }
        const std::uint64_t bits = number(sizes[kind]);
        const std::uint64_t above = 64 - 8 * sizes[kind];
        if (kind == 6) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        if (kind == 7) return bits != 0;
        if (kind == 12) return std::bit_cast<double>(bits);
        const bool is_signed = kind == 1 || kind == 3 || kind == 5 || kind == 11;
        if (is_signed) return static_cast<std::int64_t>(bits << above) >> above;
        return bits;
    }
    Json list() {
        const std::uint64_t kind = number(4);
        const std::uint64_t count = number(8);
        if (count > file_.size()) fail("a list that is longer than the file");
        Json::array_t all;
        for (std::uint64_t i = 0; i < count; ++i) all.push_back(value(kind));
        return all;
    }

private:
    const InputFile& file_;
    std::uint64_t place_ = 0;
    std::uint64_t begin_ = 0;  // of the buffered piece
    std::size_t values_ = 0;   // metadata values read so far
    std::string piece_;
};

/// Unpacks numbers in blocks, row by row.
Tensor from_blocks(const BlockType& type, const Shape& shape, const Fetch& fetch) {
    constexpr std::size_t most = 4096;  // at a time
    Array<float> numbers = empty_array<float>(shape);
    const std::size_t all = numbers.size() / type.numbers;
    std::vector<Octet> bytes(std::min(most, all) * type.bytes);
    for (std::size_t first = 0; first < all; first += most) {
        const std::size_t count = std::min(most, all - first);
        fetch(reinterpret_cast<char*>(bytes.data()), count * type.bytes);
        for (std::size_t i = 0; i < count; ++i) {
            type.open(&bytes[i * type.bytes], numbers.data() + (first + i) * type.numbers);
        }
    }
    return {numbered_axes(shape.size()), std::move(numbers)};
}

/// Returns the bytes of `numbers` numbers; 0 for unsupported types.
std::size_t bytes_of(std::string_view type, std::size_t numbers) {
    if (const BlockType* in = blocks_of(type)) return numbers / in->numbers * in->bytes;
    const auto stored = type_called(type, &TypeNames::safetensors);
    return stored ? numbers * stored->size : 0;
}

/// Returns an array that is read on demand, whole or by the rows of its first axis.
StoredArray array_at(const InputFile& file, const GgufTensor& of, std::uint64_t size) {
    const std::string label = file.label() + ": array " + quoted_text(of.name);
    const BlockType* const in = blocks_of(of.type);
    const auto stored = type_called(of.type, &TypeNames::safetensors);
    const auto read = [=, &file, name = of.name, type = of.type, place = of.place](
                          const Shape& shape, std::size_t row, std::vector<std::size_t> rows) {
        if (in == nullptr && !stored) {
            throw NotATensor(
                label, "holds " + type + ", which is not supported",
                "run llama-quantize on '" + file.label() +
                    "' with requantizing allowed and the type Q8_0, and pass its output");
        }
        const Fetch fetch = fetch_rows(file, place, row, std::move(rows));
        if (in != nullptr) return NamedTensor{name, from_blocks(*in, shape, fetch)};
        return NamedTensor{name, read_elements(*stored, shape, fetch, label)};
    };
    StoredArray array{of.name, [read, shape = of.shape, size] { return read(shape, size, {0}); }};
    array.shape = of.shape;
    array.width = static_cast<double>(size) /
                  static_cast<double>(std::max<std::size_t>(1, element_count(of.shape)));
    if (of.shape.size() < 2) return array;
    const std::size_t row_size = size / std::max<std::size_t>(1, of.shape[0]);
    array.read_rows = [read, shape = of.shape, row_size](const std::vector<std::size_t>& rows) {
        Shape some = shape;
        some[0] = rows.size();
        return read(some, row_size, rows);
    };
    if (in == nullptr) return array;
    array.keep = [&file, of, row_size](const std::vector<std::size_t>& rows) {
        auto bytes = std::make_shared<std::string>(rows.size() * row_size, '\0');
        fetch_rows(file, of.place, row_size, rows)(bytes->data(), bytes->size());
        const auto memory = std::make_shared<InputFile>(*bytes, file.label());
        GgufTensor kept = of;
        kept.place = 0;
        kept.shape[0] = rows.size();
        return [bytes, memory, read_rows = array_at(*memory, kept, bytes->size()).read_rows](
                   const std::vector<std::size_t>& which) { return read_rows(which); };
    };
    return array;
}

/// Reads one entry of the list of tensors; its place is relative to the end of the header.
GgufTensor tensor_in(Cursor& cursor, const InputFile& file) {
    GgufTensor tensor;
    tensor.name = cursor.text();
    const std::uint64_t axes = cursor.number(4);
    if (axes > 4) cursor.fail("array " + quoted_text(tensor.name) + " claims more than 4 axes");
    for (std::uint64_t i = 0; i < axes; ++i) tensor.shape.push_back(cursor.number(8));
    std::ranges::reverse(tensor.shape);  // the file begins with the innermost axis
    const std::uint64_t id = cursor.number(4);
    if (id >= std::size(gguf_types) || gguf_types[id].empty()) {
        cursor.fail("array " + quoted_text(tensor.name) + " has the unknown type " +
                    std::to_string(id));
    }
    tensor.type = gguf_types[id];
    const BlockType* const in = blocks_of(tensor.type);
    const std::size_t width = axes > 0 ? tensor.shape.back() : 1;
    if ((in != nullptr && width % in->numbers != 0) || !byte_count(tensor.shape, 8)) {
        cursor.fail("array " + quoted_text(tensor.name) + " " + shape_text(tensor.shape) +
                    " does not fit blocks of " + tensor.type);
    }
    tensor.place = cursor.number(8);
    if (tensor.place > file.size()) {
        cursor.fail("array " + quoted_text(tensor.name) + " is beyond the end of the file");
    }
    return tensor;
}

/// Returns the type number and the bytes of a number, text, flag or list.
std::pair<std::uint64_t, std::string> kind_and_bytes(const Json& value) {
    const auto bits = [](std::uint64_t number) { return little_endian_bytes(number, 4); };
    if (value.is_boolean()) return {7, std::string(1, value.get<bool>() ? '\1' : '\0')};
    if (value.is_number_float()) return {6, bits(std::bit_cast<std::uint32_t>(value.get<float>()))};
    if (value.is_number()) {
        const auto number = value.get<std::uint64_t>();
        const bool is_signed = !value.is_number_unsigned();
        const bool is_short = is_signed ? std::in_range<std::int32_t>(value.get<std::int64_t>())
                                        : std::in_range<std::uint32_t>(number);
        if (is_short) return {is_signed ? 5 : 4, bits(number & 0xFFFFFFFFU)};
        return {is_signed ? 11 : 10, little_endian_bytes(number, 8)};
    }
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        return {8, little_endian_bytes(text.size(), 8) + text};
    }
    refuse_unless(value.is_array(), "metadata of GGUF are numbers, text, flags and lists");
    std::string all;
    std::uint64_t kind = 8;
    for (const Json& each : value) {
        const auto [of_each, bytes] = kind_and_bytes(each);
        refuse_unless((all.empty() || of_each == kind) && !each.is_array(),
                      "a GGUF list contains values of one type, and no lists");
        kind = of_each;
        all += bytes;
    }
    return {9, bits(kind) + little_endian_bytes(value.size(), 8) + all};
}

}  // namespace

std::string GgufTensor::derivation(const InputFile& file, std::size_t index) const {
    const BlockType* const in = blocks_of(type);
    if (in == nullptr) return {};
    const std::size_t block = index / in->numbers;
    std::vector<Octet> bytes(in->bytes);
    file.read(place + block * in->bytes, reinterpret_cast<char*>(bytes.data()), bytes.size());
    return fmt::format("number {} of block {} ({})\n  = {}", index % in->numbers, block, type,
                       in->derivation(bytes.data(), index % in->numbers));
}

bool looks_like_gguf(const InputFile& file) {
    return file.text(0, gguf_magic.size()) == gguf_magic;
}

Gguf read_gguf(const InputFile& file) {
    Cursor cursor(file);
    if (cursor.bytes(std::min<std::uint64_t>(4, file.size())) != gguf_magic)
        cursor.fail("is not GGUF");
    const std::uint64_t version = cursor.number(4);
    if (version != 2 && version != 3) {
        throw InputError(file.label() + ": is GGUF version " + std::to_string(version) +
                         (version >> 16U != 0 ? ", greatest byte first" : "") +
                         ", but only versions 2 and 3, little-endian, are read: create it again "
                         "with convert_hf_to_gguf.py");
    }
    const std::uint64_t count = cursor.number(8);
    const std::uint64_t keys = cursor.number(8);
    if (count > 1U << 16U) cursor.fail("more than 65536 arrays");
    Gguf result;
    result.metadata = Json::object();
    for (std::uint64_t i = 0; i < keys; ++i) {
        const std::string key = cursor.text();
        const std::uint64_t kind = cursor.number(4);
        constexpr std::uint64_t of_lists = 9;
        result.metadata[key] = kind == of_lists ? cursor.list() : cursor.value(kind);
    }
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < count; ++i) {
        result.tensors.push_back(tensor_in(cursor, file));
        if (names.insert(result.tensors.back().name).second) continue;
        cursor.fail("two arrays are called " + quoted_text(result.tensors.back().name));
    }
    const Json specified = result.metadata.value("general.alignment", Json(usual_alignment));
    const std::uint64_t alignment =
        specified.is_number_unsigned() ? specified.get<std::uint64_t>() : 0;
    if (!std::has_single_bit(alignment)) cursor.fail("general.alignment is not a power of two");
    const std::uint64_t values = (cursor.place() + alignment - 1) / alignment * alignment;
    for (GgufTensor& each : result.tensors) {
        const std::uint64_t size = bytes_of(each.type, *byte_count(each.shape, 1));
        each.place += values;
        if (each.place + size > file.size()) {
            throw InputError(file.label() + ": array " + quoted_text(each.name) + " ends at " +
                             std::to_string(each.place + size) + ", and the file at " +
                             std::to_string(file.size()) + ": download it again");
        }
        each.array = array_at(file, each, size);
    }
    return result;
}

void write_gguf(OutputFile& file, const Json& metadata, const std::vector<TensorRef>& tensors) {
    check_names(file.path(), tensors);
    refuse_unless(metadata.is_object(), "metadata of GGUF are an object");
    for (const TensorRef& each : tensors) {
        const DType dtype = each.tensor.dtype();
        refuse_unless(dtype == DType::float32 || dtype == DType::float16,
                      each.name + " is " + std::string(dtype_name(dtype)) +
                          ", but only float32 and float16 are written as GGUF");
    }
    const auto text = [](std::string_view specified) {
        return little_endian_bytes(specified.size(), 8) + std::string(specified);
    };
    const auto padding = [](std::uint64_t size) {
        return std::string((usual_alignment - size % usual_alignment) % usual_alignment, '\0');
    };
    std::string head(gguf_magic);
    head += little_endian_bytes(3, 4) + little_endian_bytes(tensors.size(), 8) +
            little_endian_bytes(metadata.size(), 8);
    for (const auto& [key, value] : metadata.items()) {
        const auto [kind, bytes] = kind_and_bytes(value);
        head += text(key) + little_endian_bytes(kind, 4) + bytes;
    }
    std::uint64_t place = 0;
    for (const TensorRef& each : tensors) {
        const Shape shape = each.tensor.shape();
        head += text(each.name) + little_endian_bytes(shape.size(), 4);
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            head += little_endian_bytes(shape[axis], 8);
        }
        const bool is_half = each.tensor.dtype() == DType::float16;
        head += little_endian_bytes(is_half ? 1 : 0, 4) + little_endian_bytes(place, 8);
        place += stored_size(each.tensor);
        place += padding(place).size();
    }
    file.write(head + padding(head.size()));
    for (const TensorRef& each : tensors) {
        std::string room;
        const std::string_view bytes = stored_bytes(each.tensor, room);
        file.write(bytes);
        file.write(padding(bytes.size()));
    }
}

std::vector<StoredArray> gguf_arrays(const InputFile& file) {
    std::vector<StoredArray> arrays;
    for (GgufTensor& each : read_gguf(file).tensors) arrays.push_back(std::move(each.array));
    return arrays;
}

}  // namespace attn
