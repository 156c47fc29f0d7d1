#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// True if a spreadsheet would compute a text, alone or after single quotes: `=1+1`, `+a`, `-a`,
/// `@a`. Such a word is written with one more single quote in front, which is removed when it is
/// read.
bool is_formula(std::string_view text);
/// Formats a word as a field of a CSV file, quoted if necessary; a formula stays text.
std::string csv_field(const std::string& word);

/// Reads a table of numbers: fields separated by commas, semicolons, tabs or spaces, rows by line
/// ends; `#` starts a comment, fields may be quoted. `nan` and `inf` are numbers.
///
/// A first line without any number has column names. pandas and R write more: if the first field of
/// that line is empty (or missing), the first column has row names, and 0, 1, 2, ... above rows
/// with decimal points are column numbers. Adds a note for everything that is skipped.
///
/// Shapes  one array without a name, (rows, columns), axes `axis0` and `axis1`.
/// Range   bool if all fields are True or False, otherwise float64.
/// Errors  InputError, starting with `label`, naming line and column: a field that is not a number,
///         a row of another length, a blank line between rows, a long table (see write_long_table).
std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label,
                                   std::vector<std::string>& notes);

/// Reads the matrices of a document, in brackets, in LaTeX or in tables, with words around them;
/// nullopt for any other text. A matrix is named by the words before it: `Attention weights:` above
/// it, the left side of its equation (`scores = Q @ K^T = [[...]]`), a symbol next to words; else
/// `matrix_1`, `matrix_2`, ... if there are several. If a product is followed by its result, the
/// last matrix counts. Rows in brackets below each other are one matrix. Text after a row is a
/// comment on it.
///
/// Errors  InputError, starting with `label`: rows of unequal length, no matrix at all, an array
///         shortened with `...`, a letter in a matrix.
std::optional<std::vector<NamedTensor>> read_document(std::string_view text,
                                                      const std::string& label);
/// Returns the matrices of a text that is a document, of any length; empty if it has none. Adds the
/// names of those that were shortened with `...` to `shortened`.
///
/// Errors  as read_document, except for these two.
std::vector<NamedTensor> document_matrices(std::string_view text, const std::string& label,
                                           std::vector<std::string>& shortened);

/// The six bytes that every .npy file starts with.
inline constexpr std::string_view npy_magic{"\x93NUMPY"};

/// The header of a .npy file: type, order and shape of the values.
struct NpyLayout {
    StoredType type;
    bool column_major = false;
    Shape shape;
    std::size_t values_offset = 0;
    std::size_t values_size = 0;  // in bytes
};

/// The longest header that is read.
inline constexpr std::size_t longest_npy_header = 64 * 1024;

/// Parses the header at the beginning of `bytes`, which need not contain the values: versions 1.0,
/// 2.0 and 3.0.
///
/// Errors  InputError, starting with `label` and naming the offset: a header that is damaged or
///         describes more than fits in memory. NotATensor for a type that is not numeric.
/// Source  NumPy, numpy.lib.format.
NpyLayout parse_npy_layout(std::string_view bytes, const std::string& label);

/// Reads the values after a header, in either array order and either byte order.
///
/// Shapes  that of the header, with axes `axis0`, `axis1`, ...
/// Range   f2 and f4 become float32, f8 float64, i1 to i8 and u1 to u8 int64, b1 bool.
/// Errors  InputError, starting with `label`, for an integer that int64 cannot hold.
NamedTensor read_npy_values(const NpyLayout& layout, const Fetch& fetch, const std::string& label);

/// Returns the single array of a .npy file, which has no name.
/// Errors  InputError as above; also for missing or trailing bytes. Nothing is allocated before the
///         size has been checked against the file's.
std::vector<StoredArray> npy_arrays(const InputFile& file);

/// Returns the header of a .npy file, byte for byte as NumPy 1.24 writes it.
std::string npy_header(const Tensor& tensor);

/// Appends `tensor` to `file` as .npy; its memory is written without conversion.
void write_npy(OutputFile& file, const Tensor& tensor);

/// Returns the arrays of a .npz file: a zip archive of .npy files, stored or deflated, in archive
/// order. Other entries are arrays that cannot be read.
///
/// Errors  InputError, starting with the file's label, that names the array: as npy_arrays; also a
///         damaged or encrypted archive, a name that occurs twice, and an entry that claims more
///         than its compressed bytes can unpack to.
std::vector<StoredArray> npz_arrays(const InputFile& file);

/// Appends `tensors` to `file` as .npz, like numpy.savez: stored, not compressed.
/// Errors  OutputError if two tensors have the same name.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors);

/// Adds a comment of at most longest_zip_comment bytes, which NumPy ignores.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors, std::string_view comment);

/// True if a file begins like .safetensors: the length of the header in 8 bytes and a `{`.
bool looks_like_safetensors(const InputFile& file);

/// Returns the arrays of a .safetensors file, in the order of their values.
///
/// Range   F16, BF16 and F32 become float32, F64 float64, I8 to I64 and U8 to U64 int64, BOOL bool.
/// Errors  InputError, starting with the file's label, that names the array or the offset: a header
///         that is too long or not JSON, values that overlap, leave a hole, lie outside the file or
///         do not fit their shape, a name that occurs twice. NotATensor for any other type.
/// Source  the format's description, github.com/huggingface/safetensors.
std::vector<StoredArray> safetensors_arrays(const InputFile& file);

/// Appends `tensors` to `file` as .safetensors. The values are sorted by size of type, the largest
/// first, so that each is aligned; the header is padded to 8 bytes.
/// Errors  OutputError if two tensors have the same name.
void write_safetensors(OutputFile& file, const std::vector<TensorRef>& tensors);

/// True if a zip archive was written by torch.save: it contains a `data.pkl`.
bool looks_like_torch(const InputFile& file);

/// The tensors of a file of torch.save: a lone tensor, those in a plain dictionary, by their keys,
/// or in a list or tuple, as `matrix_1`, `matrix_2`, ... A state dictionary is a dictionary;
/// parameters are tensors.
///
/// Range   floating-point types are kept, integers become int64, bool stays. Views, transposed and
///         expanded tensors have the numbers that they show.
/// Errors  InputError, starting with the file's label: a pickle that creates anything but tensors,
///         numbers, text, lists and dictionaries (it is never run, only read), a tensor beyond the
///         end of its storage, a damaged archive. NotATensor for other values.
/// Source  Python's pickletools, torch.serialization.
std::vector<StoredArray> torch_arrays(const InputFile& file);

/// Writes `tensors` as one long table with one line per element, in pieces: the columns are `step`,
/// the axes of all tensors, in an order compatible with each tensor's own, and `value`; then for
/// axes with words, such as `query_token`, the word of each index. Axes that a tensor lacks are
/// empty. Numbers are the shortest text that reads back to the same bits; true is 1. Intended for
/// data frames: this program does not read it.
/// Errors  OutputError if two tensors, or two axes of one, have the same name, and if two tensors
///         have the same axes in contrary orders.
void write_long_table(const Sink& sink, const std::vector<TensorRef>& tensors);

}  // namespace attn
