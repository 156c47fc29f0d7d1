#include "attn/files/io/elements.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written in memory order");

using Kind = StoredType::Kind;

constexpr TypeNames type_names[] = {
    {{Kind::floating, 4}, "f4", "F32", "torch FloatStorage"},
    {{Kind::floating, 8}, "f8", "F64", "torch DoubleStorage"},
    {{Kind::signed_integer, 8}, "i8", "I64", "torch LongStorage"},
    {{Kind::boolean, 1}, "b1", "BOOL", "torch BoolStorage"},
    {{Kind::floating, 2}, "f2", "F16", "torch HalfStorage"},
    {{Kind::brain_floating, 2}, "", "BF16", "torch BFloat16Storage"},
    {{Kind::boolean, 1}, "?", "", ""},
    {{Kind::signed_integer, 1}, "i1", "I8", "torch CharStorage"},
    {{Kind::signed_integer, 2}, "i2", "I16", "torch ShortStorage"},
    {{Kind::signed_integer, 4}, "i4", "I32", "torch IntStorage"},
    {{Kind::unsigned_integer, 1}, "u1", "U8", "torch ByteStorage"},
    {{Kind::unsigned_integer, 2}, "u2", "U16", ""},
    {{Kind::unsigned_integer, 4}, "u4", "U32", ""},
    {{Kind::unsigned_integer, 8}, "u8", "U64", ""},
};

// Converts stored values piece by piece, so that they are not in memory twice; values that need no
// conversion are read directly into the result.
template <class Result, class Stored, class Convert>
Tensor values_of(const StoredType& type, const Shape& shape, const Fetch& fetch,
                 const Convert& convert) {
    constexpr bool stays = std::is_same_v<Result, Stored>;
    Array<Result> values = empty_array<Result>(shape);
    const std::size_t piece = stays ? values.size() : std::size_t{1} << 16U;
    std::vector<Stored> stored(stays ? 0 : std::min(piece, values.size()));
    for (std::size_t start = 0; start < values.size(); start += piece) {
        const std::size_t count = std::min(piece, values.size() - start);
        char* const bytes =
            stays ? reinterpret_cast<char*>(values.data()) : reinterpret_cast<char*>(stored.data());
        fetch(bytes, count * sizeof(Stored));
        for (std::size_t i = 0; type.big_endian && i < count; ++i) {
            std::reverse(bytes + i * sizeof(Stored), bytes + (i + 1) * sizeof(Stored));
        }
        for (std::size_t i = 0; !stays && i < count; ++i) {
            values.data()[start + i] = convert(stored[i], start + i);
        }
    }
    return {numbered_axes(shape.size()), std::move(values)};
}

}  // namespace

void name_rows(NamedTensor& named, const std::vector<std::string>& words) {
    const Shape shape = named.tensor.shape();
    const bool fits = shape.size() > 1 && shape[shape.size() - 2] == words.size();
    if (named.row_names.empty() && fits) named.row_names = words;
}

std::optional<StoredType> type_called(std::string_view word, std::string_view TypeNames::*column) {
    for (const TypeNames& each : type_names) {
        if (each.*column == word && !word.empty()) return each.type;
    }
    return std::nullopt;
}

const TypeNames& names_of(DType dtype) { return type_names[static_cast<std::size_t>(dtype)]; }

void check_names(const std::string& label, const std::vector<TensorRef>& tensors) {
    std::set<std::string_view> names;
    for (const TensorRef& each : tensors) {
        if (!names.insert(each.name).second) {
            throw OutputError(label + ": two tensors are called " + each.name +
                              ": give each a name of its own");
        }
    }
}

std::optional<std::size_t> byte_count(const Shape& shape, std::size_t item_size) {
    constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
    std::size_t bytes = item_size;
    bool empty = false;
    for (const std::size_t extent : shape) {
        if (extent == 0) {
            empty = true;
        } else if (bytes > limit / extent) {
            return std::nullopt;
        } else {
            bytes *= extent;
        }
    }
    return empty ? 0 : bytes;
}

Fetch fetch_rows(const InputFile& file, std::uint64_t place, std::size_t row_bytes,
                 std::vector<std::size_t> rows) {
    return [&file, place, row_bytes, rows = std::move(rows), done = std::size_t{0}](
               char* to, std::size_t size) mutable {
        while (size > 0) {
            const std::size_t within = done % row_bytes;
            const std::size_t part = std::min(size, row_bytes - within);
            file.read(place + rows[done / row_bytes] * row_bytes + within, to, part);
            done += part;
            to += part;
            size -= part;
        }
    };
}

Tensor read_elements(const StoredType& type, const Shape& shape, const Fetch& fetch,
                     const std::string& label) {
    const auto integer = [&label](auto number, std::size_t index) {
        if (!std::in_range<std::int64_t>(number)) {
            throw InputError(label + ": element " + std::to_string(index) + " is " +
                             std::to_string(number) +
                             ", which int64 cannot hold: store floating-point numbers instead");
        }
        return static_cast<std::int64_t>(number);
    };
    const auto integers = [&]<class Stored>(Stored) {
        return values_of<std::int64_t, Stored>(type, shape, fetch, integer);
    };
    const auto of_size = [&](auto one, auto two, auto four, auto eight) {
        if (type.size == 1) return integers(one);
        if (type.size == 2) return integers(two);
        return type.size == 4 ? integers(four) : integers(eight);
    };
    const auto same = [](auto number, std::size_t) { return number; };
    const auto of_brain = [](std::uint16_t bits, std::size_t) { return brain_to_float(bits); };
    const auto of_half = [](std::uint16_t bits, std::size_t) { return half_to_float(bits); };
    switch (type.kind) {
        case Kind::boolean:
            return values_of<bool, std::uint8_t>(
                type, shape, fetch, [](std::uint8_t bits, std::size_t) { return bits != 0; });
        case Kind::brain_floating:
            return values_of<float, std::uint16_t>(type, shape, fetch, of_brain)
                .of_type(DType::bfloat16);
        case Kind::signed_integer:
            return of_size(std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{});
        case Kind::unsigned_integer:
            return of_size(std::uint8_t{}, std::uint16_t{}, std::uint32_t{}, std::uint64_t{});
        case Kind::floating:
            break;
    }
    if (type.size == 8) return values_of<double, double>(type, shape, fetch, same);
    if (type.size == 4) return values_of<float, float>(type, shape, fetch, same);
    return values_of<float, std::uint16_t>(type, shape, fetch, of_half).of_type(DType::float16);
}

std::string_view value_bytes(const Tensor& tensor) {
    return std::visit(
        [](const auto& array) {
            return std::string_view(reinterpret_cast<const char*>(array.data()),
                                    array.size() * sizeof(*array.data()));
        },
        tensor.values());
}

std::string_view stored_bytes(const Tensor& tensor, std::string& room) {
    if (!is_16_bit(tensor.dtype())) return value_bytes(tensor);
    const auto narrow = tensor.dtype() == DType::float16 ? float_to_half : float_to_brain;
    const Array<float>& cells = tensor.as<float>();
    room.resize(stored_size(tensor));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::uint16_t bits = narrow(cells.data()[i]);
        std::memcpy(room.data() + 2 * i, &bits, 2);
    }
    return room;
}

}  // namespace attn
