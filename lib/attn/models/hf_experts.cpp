#include <array>
#include <cmath>
#include <utility>

#include "attn/models/hugging_face.hpp"

namespace attn::models {
namespace {

/// (expert, in, out) as (expert, out, in).
Tensor transposed_each(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    if (shape.size() != 3) return tensor;
    const std::size_t area = shape[1] * shape[2];
    return strided(tensor, {shape[0], shape[2], shape[1]}, {area, 1, shape[2]});
}

/// Numbers of 4 bits, a sign, 2 bits of exponent and 1 of mantissa, each block with a power of two:
/// blocks (expert, out, block, byte), the low half of a byte first; scales (expert, out, block).
Tensor unpacked(const Tensor& blocks, const Tensor& scales) {
    static constexpr std::array<float, 8> sizes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    constexpr int exponent_of_one = 127;
    const Shape shape = blocks.shape();
    if (shape.size() != 4 || blocks.dtype() != DType::int64 || scales.dtype() != DType::int64 ||
        scales.shape() != Shape(shape.begin(), shape.end() - 1)) {
        return blocks;
    }
    Array<float> numbers = empty_array<float>({shape[0], shape[1], 2 * shape[2] * shape[3]});
    const auto& bytes = blocks.as<std::int64_t>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto byte = static_cast<std::uint64_t>(bytes.data()[i / 2]);
        const std::uint64_t code = (i % 2 == 0 ? byte : byte >> 4U) & 15U;
        const std::int64_t scale = scales.as<std::int64_t>().data()[i / 2 / shape[3]];
        const float size = std::ldexp(sizes[code & 7U], static_cast<int>(scale) - exponent_of_one);
        numbers.data()[i] = code < 8 ? size : -size;
    }
    return {numbered_axes(3), std::move(numbers)};
}

}  // namespace

StoredArray transposed_experts(const StoredArray& plain) {
    const Shape& s = plain.shape;
    return {plain.name,
            [plain] {
                return NamedTensor{plain.name, transposed_each(plain.read().tensor)};
            },
            [plain](const std::vector<std::size_t>& rows) {
                return NamedTensor{plain.name, transposed_each(plain.read_rows(rows).tensor)};
            },
            s.size() == 3 ? Shape{s[0], s[2], s[1]} : s};
}

std::optional<StoredArray> unpacked_experts(const StoredArray* blocks, const StoredArray* scales) {
    if (blocks == nullptr || scales == nullptr) return std::nullopt;
    const Shape& s = blocks->shape;
    return StoredArray{blocks->name,
                       [b = *blocks, of = *scales] {
                           return NamedTensor{b.name, unpacked(b.read().tensor, of.read().tensor)};
                       },
                       [b = *blocks, of = *scales](const std::vector<std::size_t>& rows) {
                           return NamedTensor{b.name, unpacked(b.read_rows(rows).tensor,
                                                               of.read_rows(rows).tensor)};
                       },
                       s.size() == 4 ? Shape{s[0], s[1], 2 * s[2] * s[3]} : s};
}

}  // namespace attn::models
