#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "attn/io/atomic_file.hpp"
#include "attn/io/elements.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The six bytes that every .npy file starts with.
inline constexpr std::string_view npy_magic{"\x93NUMPY"};

/// Reads the bytes of a .npy file: versions 1.0, 2.0 and 3.0, both array orders, both byte orders.
///
/// Shapes  that of the file, with axes `axis0`, `axis1`, ...
/// Range   f2 and f4 become float32, f8 float64, i1 to i8 and u1 to u8 int64, b1 bool.
/// Errors  InputError, starting with `label`, that names the offset: a header that lies about the
///         size, missing or trailing bytes, a type that is no number. Nothing is allocated before
///         the size has been checked against `bytes`.
/// Source  NumPy, numpy.lib.format.
Tensor parse_npy(std::string_view bytes, const std::string& label);

/// What the header of a .npy file says about the rest.
struct NpyLayout {
    StoredType type;
    bool column_major = false;
    Shape shape;
    std::size_t values_offset = 0;
    std::size_t values_size = 0;  // in bytes
};

/// Reads the header at the beginning of `bytes`, which need not hold the values.
/// Errors  InputError as parse_npy.
NpyLayout parse_npy_layout(std::string_view bytes, const std::string& label);

/// The part of a .npy file before the values, byte for byte as NumPy 1.24 writes it.
std::string npy_header(const Tensor& tensor);

/// Appends `tensor` to `file` as .npy; the values go out as they lie in memory.
void write_npy(OutputFile& file, const Tensor& tensor);

}  // namespace attn
