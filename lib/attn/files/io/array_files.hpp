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

/// Whether a spreadsheet would compute a text, alone or after single quotes: `=1+1`, `+a`, `-a`,
/// `@a`. A word of that kind is written after one more single quote, which is taken off when it is
/// read.
bool is_formula(std::string_view text);
/// A word as a field of a CSV file, quoted if it needs quotes; a formula stays a word.
std::string csv_field(const std::string& word);

/// Reads a table of numbers: fields separated by commas, semicolons, tabs or blanks, rows by line
/// ends; `#` starts a comment, fields may be quoted. `nan` and `inf` are numbers.
///
/// A first line without any number is column names. pandas and R write more: a first field left
/// empty (or one field fewer) says that the first column is row names, and 0, 1, 2, ... above rows
/// with decimal points are column numbers. What is passed over so is told in `notes`.
///
/// Shapes  one array without a name, (rows, columns), axes `axis0` and `axis1`.
/// Range   bool where all are True or False, float64 otherwise.
/// Errors  InputError, starting with `label`, naming line and column: a field that is no number, a
///         row of another length, a blank line between rows, a long table (see write_long_table).
std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label,
                                   std::vector<std::string>& notes);

/// Reads the matrices of a document, in brackets, in LaTeX or in tables, with words around them;
/// nullopt if a text is none. A matrix is called as the words before it say: `Attention weights:`
/// above it, the left side of its equation (`scores = Q @ K^T = [[...]]`), a symbol beside words;
/// else `matrix_1`, `matrix_2`, ... if there are several. Of a product and its result the last
/// matrix counts. Rows in brackets under each other are one matrix. Text behind a row is a remark.
///
/// Errors  InputError, starting with `label`: rows of unequal length, no matrix at all, an array
///         shortened with `...`, a letter in a matrix.
std::optional<std::vector<NamedTensor>> read_document(std::string_view text,
                                                      const std::string& label);

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

/// The arrays of a .npz file: a zip archive of .npy files, stored or deflated, in the order of the
/// archive. Entries of another kind are arrays that cannot be read.
///
/// Errors  InputError, starting with the file's label, that names the array: as npy_arrays; also a
///         damaged or encrypted archive, a name that occurs twice, and an entry that claims more
///         than its compressed bytes can unpack to.
std::vector<StoredArray> npz_arrays(const InputFile& file);

/// Appends `tensors` to `file` as .npz as numpy.savez would: stored, not compressed.
/// Errors  OutputError when two tensors share a name.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors);

/// The same with a comment of at most longest_zip_comment bytes, at which NumPy does not look.
void write_npz(OutputFile& file, const std::vector<TensorRef>& tensors, std::string_view comment);

/// Whether a file begins as .safetensors does: the header's length in 8 bytes and a `{`.
bool looks_like_safetensors(const InputFile& file);

/// The arrays of a .safetensors file, in the order in which the values lie.
///
/// Range   F16, BF16 and F32 become float32, F64 float64, I8 to I64 and U8 to U64 int64, BOOL bool.
/// Errors  InputError, starting with the file's label, that names the array or the offset: a header
///         that is too long or no JSON, values that overlap, leave a hole, lie outside the file or
///         do not fit their shape, a name that occurs twice. NotATensor for any other type.
/// Source  the format's description, github.com/huggingface/safetensors.
std::vector<StoredArray> safetensors_arrays(const InputFile& file);

/// Appends `tensors` to `file` as .safetensors. The values lie widest type first, so that each is
/// aligned to its size; the header is padded to 8 bytes.
/// Errors  OutputError when two tensors share a name.
void write_safetensors(OutputFile& file, const std::vector<TensorRef>& tensors);

/// Whether a zip archive is what torch.save writes: it holds a `data.pkl`.
bool looks_like_torch(const InputFile& file);

/// The tensors of a file of torch.save: a lone tensor, those in a plain dictionary, by their keys,
/// or in a list or tuple, as `matrix_1`, `matrix_2`, ... A state dictionary is a dictionary;
/// parameters are tensors.
///
/// Range   floating types stay, integers become int64, bool
///         stays. Views, transposed and expanded tensors are read as what they show.
/// Errors  InputError, starting with the file's label: a pickle that would make anything but
///         tensors, numbers, text, lists and dictionaries (it is never run, only read), a tensor
///         that reaches beyond its storage, a damaged archive. NotATensor for other values.
/// Source  Python's pickletools, torch.serialization.
std::vector<StoredArray> torch_arrays(const InputFile& file);

/// Writes `tensors` as one long table with a line for each element, in pieces: the columns are
/// `step`, the axes that any tensor has, in an order that keeps every tensor's own, and `value`;
/// then for axes that have words, as `query_token`, the word of each index. An axis that a tensor
/// lacks is left empty. Numbers are the shortest text that reads back to the same bits; true is 1.
/// Made for data frames: this program does not read it.
/// Errors  OutputError when two tensors, or two axes of one, share a name, and when two tensors
///         have the same axes in contrary order.
void write_long_table(const Sink& sink, const std::vector<TensorRef>& tensors);

}  // namespace attn
