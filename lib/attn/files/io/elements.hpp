#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/input_file.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {

/// Largest number of axes, as in NumPy.
constexpr std::size_t most_axes = 32;

/// A tensor with its name in a file; empty if the format has no names.
struct NamedTensor {
    std::string name;
    Tensor tensor;
    std::vector<std::string> row_names{};     ///< if the first column of a table has names
    std::vector<std::string> column_names{};  ///< from the first line of a table
};

/// Gives the rows of a tensor that has none of their own the names, if there are as many.
void name_rows(NamedTensor& named, const std::vector<std::string>& words);

/// An array of a file: its name is known, its values are read on demand.
struct StoredArray {
    std::string name;
    /// Errors  InputError naming file and array; NotATensor.
    std::function<NamedTensor()> read;
    /// For formats that can read single rows of the first axis: the reader, and the whole shape.
    std::function<NamedTensor(const std::vector<std::size_t>& rows)> read_rows{};
    Shape shape{};
    double width = 4;  ///< bytes per number in the file
    /// For numbers in blocks: reads these rows packed, and returns a function that unpacks some of
    /// them.
    std::function<decltype(read_rows)(const std::vector<std::size_t>& rows)> keep{};
};

/// The meaning of the indices along an axis: one word each, per sequence of a batch, or per head.
struct AxisWords {
    std::string axis;
    std::vector<std::vector<std::string>> words{};
    std::string by = "batch";    ///< the axis that the lists are counted by
    std::string kind = "token";  ///< what a word is: token, or name
};

/// A tensor to write, by reference, with its name in the file.
struct TensorRef {
    std::string name;
    const Tensor& tensor;
    std::vector<AxisWords> words{};  ///< for formats that show them
};

/// Errors  OutputError, starting with `label`, if two of `tensors` have the same name.
void check_names(const std::string& label, const std::vector<TensorRef>& tensors);

/// Error for an array that is intact, but not numeric: text, objects, records. Code that reads all
/// arrays of a file skips it.
class NotATensor : public InputError {
public:
    NotATensor(const std::string& label, const std::string& reason, const std::string& advice)
        : InputError(label + ": " + reason + ": " + advice), reason_(reason) {}
    const std::string& reason() const { return reason_; }

private:
    std::string reason_;
};

/// The storage type of a number in a file.
struct StoredType {
    enum class Kind { floating, brain_floating, signed_integer, unsigned_integer, boolean };
    Kind kind = Kind::floating;
    std::size_t size = 4;  // in bytes: 1, 2, 4 or 8
    bool big_endian = false;
};

/// The names of a type in files.
struct TypeNames {
    StoredType type;
    std::string_view numpy;  ///< after the byte order
    std::string_view safetensors;
    std::string_view torch;  ///< the class of its storages
};
/// Returns nullopt for a word that is not in that column.
std::optional<StoredType> type_called(std::string_view word, std::string_view TypeNames::*column);
/// Returns the row of the type that is written.
const TypeNames& names_of(DType dtype);

/// Returns the bytes of `shape` with elements of `item_size` bytes; nullopt if they do not fit in
/// memory. An axis of length 0 makes it 0, but the others must be valid even then.
std::optional<std::size_t> byte_count(const Shape& shape, std::size_t item_size);

/// Fetches the next `size` bytes of an array's values.
using Fetch = std::function<void(char* to, std::size_t size)>;

/// Fetches rows of `row_bytes` bytes, one after another, from a file in which row 0 begins at
/// `place`. The file must outlive it.
Fetch fetch_rows(const InputFile& file, std::uint64_t place, std::size_t row_bytes,
                 std::vector<std::size_t> rows);

/// Reads byte_count(shape, type.size) bytes, in row-major order, into a tensor with axes `axis0`,
/// `axis1`, ... Floating-point types are kept; integers become int64, booleans bool.
///
/// Errors  InputError, starting with `label`, for an integer that int64 cannot hold.
Tensor read_elements(const StoredType& type, const Shape& shape, const Fetch& fetch,
                     const std::string& label);

/// Returns the bytes of a tensor's values in a file.
inline std::size_t stored_size(const Tensor& tensor) {
    return tensor.size() * names_of(tensor.dtype()).type.size;
}

/// Returns the bytes of a tensor's values in memory, which are row-major and little-endian.
std::string_view value_bytes(const Tensor& tensor);
/// Returns them as stored in a file: 16-bit types are converted into `room`.
std::string_view stored_bytes(const Tensor& tensor, std::string& room);

}  // namespace attn
