// Each format reads back what it wrote: the same names, the same axes if it stores them, and the
// same bits.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/elements.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/show/render/render.hpp"
#include "tests/files/io/scratch.hpp"

using namespace attn;

namespace {

// Zeros of either sign, infinities, nan, the smallest and the largest numbers, and then all kinds.
template <class T, class Bits>
Array<T> floats(const Shape& shape, std::uint64_t seed) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {T(0.0),
                         T(-0.0),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         Limits::min(),
                         Limits::max(),
                         Limits::lowest(),
                         T(0.1),
                         T(16777216.0),
                         Limits::quiet_NaN()};
    Array<T> values = empty_array<T>(shape);
    for (std::size_t i = 0; i < values.size(); ++i) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const T random = std::bit_cast<T>(static_cast<Bits>(seed >> (64 - 8 * sizeof(Bits))));
        const T value =
            i < std::size(special) ? special[(i + seed / 7) % std::size(special)] : random;
        // Text has only one nan, without a sign or a payload.
        values.data()[i] = std::isnan(value) ? Limits::quiet_NaN() : value;
    }
    return values;
}

Array<std::int64_t> integers(const Shape& shape) {
    Array<std::int64_t> values = empty_array<std::int64_t>(shape);
    const std::int64_t special[] = {0, -1, 9007199254740993, INT64_MAX, INT64_MIN, 5};
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = special[i % 6];
    return values;
}

Array<bool> truths(const Shape& shape) {
    Array<bool> values = empty_array<bool>(shape);
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = i % 3 == 1;
    return values;
}

Tensor cast_back(const Tensor& tensor, DType dtype) {
    if (tensor.dtype() == dtype) return tensor;
    if (dtype != DType::int64 && dtype != DType::boolean) return cast(tensor, dtype);
    Array<std::int64_t> whole = empty_array<std::int64_t>(tensor.shape());
    Array<bool> truth = empty_array<bool>(tensor.shape());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        whole.data()[i] = static_cast<std::int64_t>(tensor.at(i));
        truth.data()[i] = tensor.at(i) != 0;
    }
    if (dtype == DType::int64) return {tensor.axes(), whole};
    return {tensor.axes(), truth};
}

using Write = void (*)(OutputFile&, const std::vector<TensorRef>&);

void write_json(OutputFile& file, const std::vector<TensorRef>& tensors) {
    Document document;
    for (const TensorRef& each : tensors) {
        Section section;
        section.name = each.name;
        section.content = each.tensor;
        document.sections.push_back(section);
    }
    render_json(document, [&file](std::string_view text) { file.write(text); });
}

struct Format {
    const char* ending;
    Write write;
    bool keeps_axes;
};
constexpr Format formats[] = {
    {".npz", write_npz, false},
    {".safetensors", write_safetensors, false},
    {".json", write_json, true},
};

void check_same(const Tensor& back, const Tensor& tensor, bool axes, bool types) {
    CHECK(back.shape() == tensor.shape());
    if (axes) CHECK(back.axes() == tensor.axes());
    if (types) CHECK(back.dtype() == tensor.dtype());
    CHECK(value_bytes(cast_back(back, tensor.dtype())) == value_bytes(tensor));
}

}  // namespace

TEST_SUITE("round trips") {
    TEST_CASE("every format reads back what it wrote, for every type and many shapes") {
        const ::ScratchFolder scratch;
        const Axes words{"batch", "head", "vocab", "feature"};
        for (const Shape& shape :
             {Shape{}, Shape{1}, Shape{13}, Shape{1, 1}, Shape{2, 7}, Shape{7, 2}, Shape{3, 3},
              Shape{1, 5, 1}, Shape{2, 3, 4, 5}, Shape{0}, Shape{3, 0, 2}}) {
            const Axes axes(words.end() - static_cast<std::ptrdiff_t>(shape.size()), words.end());
            const std::vector<std::pair<std::string, Tensor>> all{
                {"float32", {axes, floats<float, std::uint32_t>(shape, shape.size() + 3)}},
                {"float64", {axes, floats<double, std::uint64_t>(shape, shape.size() + 5)}},
                {"int64", {axes, integers(shape)}},
                {"bool", {axes, truths(shape)}},
                {"float16", cast({axes, floats<float, std::uint32_t>(shape, 7)}, DType::float16)},
                {"bfloat16", cast({axes, floats<float, std::uint32_t>(shape, 8)}, DType::bfloat16)},
            };
            const auto is_known_to_numpy = [](const Tensor& tensor) {
                return tensor.dtype() != DType::bfloat16;  // it is written as float32
            };
            std::vector<TensorRef> tensors;
            for (const auto& [name, tensor] : all) tensors.push_back({name, tensor});
            for (const Format& format : formats) {
                CAPTURE(format.ending);
                CAPTURE(shape_text(shape));
                const std::string path = scratch / ("all" + std::string(format.ending));
                OutputFile file(path);
                format.write(file, tensors);
                file.commit();
                CHECK(read_tensors(path).size() == all.size());
                for (const auto& [name, tensor] : all) {
                    CAPTURE(name);
                    const bool keeps_type =
                        format.ending != std::string_view(".npz") || is_known_to_numpy(tensor);
                    check_same(read_tensor(path + ":" + name), tensor, format.keeps_axes,
                               keeps_type);
                }
            }
            for (const auto& [name, tensor] : all) {
                OutputFile file(scratch / "one.npy");
                write_npy(file, tensor);
                file.commit();
                check_same(read_tensor(scratch / "one.npy"), tensor, false,
                           is_known_to_numpy(tensor));
            }
        }
    }
}
