#include "attn/io/elements.hpp"

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>

#include "attn/tensor/error.hpp"

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

using Kind = StoredType::Kind;

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

template <class Bits, class Result, class Convert>
Tensor converted(const Shape& shape, std::string_view payload, bool big_endian, Convert convert) {
    Array<Result> values = empty_array<Result>(shape);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values.data()[i] = convert(load<Bits>(payload.data() + i * sizeof(Bits), big_endian), i);
    }
    return {numbered_axes(shape.size()), std::move(values)};
}

// The same type as in the file: one copy when the byte order agrees too.
template <class Bits, class Result>
Tensor copied(const Shape& shape, std::string_view payload, bool big_endian) {
    static_assert(sizeof(Bits) == sizeof(Result));
    if (big_endian) {
        return converted<Bits, Result>(shape, payload, true, [](Bits bits, std::size_t) {
            return std::bit_cast<Result>(bits);
        });
    }
    Array<Result> values = empty_array<Result>(shape);
    if (!payload.empty()) std::memcpy(values.data(), payload.data(), payload.size());
    return {numbered_axes(shape.size()), std::move(values)};
}

template <class Bits>
Tensor integers(const StoredType& type, const Shape& shape, std::string_view payload,
                const std::string& label) {
    if (type.kind == Kind::signed_integer) {
        using Signed = std::make_signed_t<Bits>;
        return converted<Bits, std::int64_t>(
            shape, payload, type.big_endian,
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
    return converted<Bits, std::int64_t>(shape, payload, type.big_endian, checked);
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

Tensor decode_elements(const StoredType& type, const Shape& shape, std::string_view payload,
                       const std::string& label) {
    assert(byte_count(shape, type.size) == payload.size());
    const bool swap = type.big_endian;
    if (type.kind == Kind::boolean) {
        return converted<std::uint8_t, bool>(
            shape, payload, swap, [](std::uint8_t bits, std::size_t) { return bits != 0; });
    }
    if (type.kind == Kind::brain_floating) {
        return converted<std::uint16_t, float>(
            shape, payload, swap,
            [](std::uint16_t bits, std::size_t) { return brain_to_float(bits); });
    }
    if (type.kind == Kind::floating) {
        if (type.size == 8) return copied<std::uint64_t, double>(shape, payload, swap);
        if (type.size == 4) return copied<std::uint32_t, float>(shape, payload, swap);
        return converted<std::uint16_t, float>(
            shape, payload, swap,
            [](std::uint16_t bits, std::size_t) { return half_to_float(bits); });
    }
    switch (type.size) {
        case 1:
            return integers<std::uint8_t>(type, shape, payload, label);
        case 2:
            return integers<std::uint16_t>(type, shape, payload, label);
        case 4:
            return integers<std::uint32_t>(type, shape, payload, label);
        default:
            return integers<std::uint64_t>(type, shape, payload, label);
    }
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
