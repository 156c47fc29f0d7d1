#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/atomic_file.hpp"
#include "attn/io/elements.hpp"
#include "attn/io/input_file.hpp"
#include "attn/tensor/tensor.hpp"

namespace attn {

/// The six bytes that every .npy file starts with.
inline constexpr std::string_view npy_magic{"\x93NUMPY"};

/// The header of a .npy file: type, order and shape of the rest.
struct NpyLayout {
    StoredType type;
    bool column_major = false;
    Shape shape;
    std::size_t values_offset = 0;
    std::size_t values_size = 0;  // in bytes
};

/// The longest beginning of a file in which a header is looked for.
inline constexpr std::size_t longest_npy_header = 64 * 1024;

/// Reads the header at the beginning of `bytes`, which need not hold the values: versions 1.0, 2.0
/// and 3.0.
///
/// Errors  InputError, starting with `label`, that names the offset: a header that is damaged or
///         describes more than memory could hold. NotATensor for a type that is no number.
/// Source  NumPy, numpy.lib.format.
NpyLayout parse_npy_layout(std::string_view bytes, const std::string& label);

/// Reads the values after a header, in either array order and either byte order.
///
/// Shapes  that of the header, with axes `axis0`, `axis1`, ...
/// Range   f2 and f4 become float32, f8 float64, i1 to i8 and u1 to u8 int64, b1 bool.
/// Errors  InputError, starting with `label`, for an integer that int64 cannot hold.
NamedTensor read_npy_values(const NpyLayout& layout, const Fetch& fetch, const std::string& label);

/// The one array of a .npy file, which has no name.
/// Errors  InputError as above; also for missing or trailing bytes. Nothing is allocated before the
///         size has been checked against the file's.
std::vector<StoredArray> npy_arrays(const InputFile& file);

/// The part of a .npy file before the values, byte for byte as NumPy 1.24 writes it.
std::string npy_header(const Tensor& tensor);

/// Appends `tensor` to `file` as .npy; the values go out as they lie in memory.
void write_npy(OutputFile& file, const Tensor& tensor);

}  // namespace attn
