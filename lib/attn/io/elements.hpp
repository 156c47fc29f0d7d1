#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// A tensor under the name that a file gives it; the name is empty where the format has none.
struct NamedTensor {
    std::string name;
    Tensor tensor;
};

/// A tensor to write and its name in the file; the tensor itself stays where it is.
struct TensorRef {
    std::string name;
    const Tensor& tensor;
};

/// Errors  OutputError, starting with `label`, when two of `tensors` share a name.
void check_names(const std::string& label, const std::vector<TensorRef>& tensors);

/// How a file stores one number.
struct StoredType {
    enum class Kind { floating, brain_floating, signed_integer, unsigned_integer, boolean };
    Kind kind = Kind::floating;
    std::size_t size = 4;  // in bytes: 1, 2, 4 or 8
    bool big_endian = false;
};

/// The number of bytes that `shape` takes with elements of `item_size` bytes, or nothing when no
/// memory could hold it. An axis of length 0 makes it 0, but the others must be sane even then.
std::optional<std::size_t> byte_count(const Shape& shape, std::size_t item_size);

/// Turns the `payload` of a file, in row-major order, into a tensor with axes `axis0`, `axis1`, ...
/// Floating types of 2 and 4 bytes become float32, of 8 float64; integers int64; booleans bool.
///
/// Range   payload must have exactly byte_count(shape, type.size) bytes.
/// Errors  InputError, starting with `label`, for an integer that int64 cannot hold.
Tensor decode_elements(const StoredType& type, const Shape& shape, std::string_view payload,
                       const std::string& label);

/// The bytes of a tensor's values as they lie in memory, which is row-major and little-endian.
std::string_view value_bytes(const Tensor& tensor);

/// `axis0`, `axis1`, ...: what axes are called as long as nobody knows better.
Axes numbered_axes(std::size_t count);

}  // namespace attn
