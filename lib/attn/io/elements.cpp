#include "attn/io/elements.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

template <class Bits>
Bits load(const char* from, bool big_endian) {
    Bits bits = 0;
    std::memcpy(&bits, from, sizeof(Bits));
    if (!big_endian) return bits;
    Bits swapped = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i) {
        swapped = static_cast<Bits>(swapped << 8U | (bits >> (8U * i) & 0xFFU));
    }
    return swapped;
}

// Every half-precision number is a float32 exactly: the exponent is moved from bias 15 to bias 127.
float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    const std::uint32_t exponent = half >> 10U & 0x1FU;
    const std::uint32_t fraction = half & 0x3FFU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112U;
    return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

// A brain float is the upper half of a float32.
float brain_to_float(std::uint16_t brain) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16U);
}

// Converts piece by piece, so that the values lie in memory once and not twice.
template <class Bits, class Result, class Convert>
Tensor converted(const Shape& shape, const Fetch& fetch, bool big_endian, Convert convert) {
    constexpr std::size_t piece = std::size_t{1} << 16U;
    Array<Result> values = empty_array<Result>(shape);
    std::vector<char> bytes(std::min(piece, values.size()) * sizeof(Bits));
    for (std::size_t start = 0; start < values.size(); start += piece) {
        const std::size_t count = std::min(piece, values.size() - start);
        fetch(bytes.data(), count * sizeof(Bits));
        for (std::size_t i = 0; i < count; ++i) {
            const Bits bits = load<Bits>(bytes.data() + i * sizeof(Bits), big_endian);
            values.data()[start + i] = convert(bits, start + i);
        }
    }
    return {numbered_axes(shape.size()), std::move(values)};
}

// The same type as in the file: read to where it stays when the byte order agrees too.
template <class Bits, class Result>
Tensor copied(const Shape& shape, const Fetch& fetch, bool big_endian) {
    static_assert(sizeof(Bits) == sizeof(Result));
    if (big_endian) {
        return converted<Bits, Result>(
            shape, fetch, true, [](Bits bits, std::size_t) { return std::bit_cast<Result>(bits); });
    }
    Array<Result> values = empty_array<Result>(shape);
    if (values.size() > 0) {
        fetch(reinterpret_cast<char*>(values.data()), values.size() * sizeof(Result));
    }
    return {numbered_axes(shape.size()), std::move(values)};
}

template <class Bits>
Tensor integers(const StoredType& type, const Shape& shape, const Fetch& fetch,
                const std::string& label) {
    if (type.kind == StoredType::Kind::signed_integer) {
        using Signed = std::make_signed_t<Bits>;
        return converted<Bits, std::int64_t>(
            shape, fetch, type.big_endian,
            [](Bits bits, std::size_t) { return static_cast<Signed>(bits); });
    }
    const auto checked = [&label](Bits bits, std::size_t index) {
        constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
        if (static_cast<std::uint64_t>(bits) > largest) {
            throw InputError(label + ": element " + std::to_string(index) + " is " +
                             std::to_string(bits) +
                             ", which int64 cannot hold: store floating-point numbers instead");
        }
        return static_cast<std::int64_t>(bits);
    };
    return converted<Bits, std::int64_t>(shape, fetch, type.big_endian, checked);
}

}  // namespace

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
    const bool swap = type.big_endian;
    if (type.kind == StoredType::Kind::boolean) {
        return converted<std::uint8_t, bool>(
            shape, fetch, swap, [](std::uint8_t bits, std::size_t) { return bits != 0; });
    }
    if (type.kind == StoredType::Kind::brain_floating) {
        return converted<std::uint16_t, float>(
            shape, fetch, swap,
            [](std::uint16_t bits, std::size_t) { return brain_to_float(bits); });
    }
    if (type.kind == StoredType::Kind::floating) {
        if (type.size == 8) return copied<std::uint64_t, double>(shape, fetch, swap);
        if (type.size == 4) return copied<std::uint32_t, float>(shape, fetch, swap);
        return converted<std::uint16_t, float>(
            shape, fetch, swap,
            [](std::uint16_t bits, std::size_t) { return half_to_float(bits); });
    }
    switch (type.size) {
        case 1:
            return integers<std::uint8_t>(type, shape, fetch, label);
        case 2:
            return integers<std::uint16_t>(type, shape, fetch, label);
        case 4:
            return integers<std::uint32_t>(type, shape, fetch, label);
        default:
            return integers<std::uint64_t>(type, shape, fetch, label);
    }
}

Tensor strided(const Tensor& flat, const Shape& shape, const Shape& strides, std::size_t offset) {
    const auto gather = [&](const auto& from) {
        using T = std::remove_cvref_t<decltype(*from.data())>;
        Array<T> values = empty_array<T>(shape);
        Shape index(shape.size(), 0);
        std::size_t place = offset;
        for (std::size_t i = 0; i < values.size(); ++i) {
            values.data()[i] = from.data()[place];
            for (std::size_t axis = shape.size(); axis-- > 0;) {
                place += strides[axis];
                if (++index[axis] < shape[axis]) break;
                place -= shape[axis] * strides[axis];
                index[axis] = 0;
            }
        }
        return Tensor(numbered_axes(shape.size()), std::move(values));
    };
    return std::visit(gather, flat.values());
}

Tensor rows_of(const Tensor& tensor, const std::vector<std::size_t>& rows) {
    return with_floating(tensor.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Shape shape = tensor.shape();
        const std::size_t width = element_count(shape) / shape[0];
        shape[0] = rows.size();
        Array<T> part = empty_array<T>(shape);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            std::copy_n(tensor.as<T>().data() + rows[r] * width, width, part.data() + r * width);
        }
        return {tensor.axes(), std::move(part)};
    });
}

std::string_view value_bytes(const Tensor& tensor) {
    return std::visit(
        [](const auto& array) {
            return std::string_view(reinterpret_cast<const char*>(array.data()),
                                    array.size() * sizeof(*array.data()));
        },
        tensor.values());
}

Axes numbered_axes(std::size_t count) {
    Axes axes;
    for (std::size_t i = 0; i < count; ++i) axes.push_back("axis" + std::to_string(i));
    return axes;
}

}  // namespace attn
