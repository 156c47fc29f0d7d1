#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// A file of arrays: .npy, .npz, .safetensors, .pt, .csv, .json or a printed array. Which arrays it
/// holds is known at once, each is read when it is asked for. A .npy file, a plain table, a lone
/// tensor and a bare list hold one array without a name. The content decides what the file is; only
/// where it leaves a doubt does the name's ending.
///
/// Shapes  those of the file, with axes `axis0`, `axis1`, ... except where the file names them:
///         this program's own .json.
/// Range   float32 (also for 16-bit types), float64, int64 or bool; .csv gives float64 or bool.
/// Errors  InputError naming the file, the offset or line, and what to do.
class TensorFile {
public:
    /// Opens the file at `path`; `-` is standard input.
    explicit TensorFile(const std::string& path);
    /// Bytes in memory, which must outlive this; `label` takes the place of the path, also for its
    /// ending.
    TensorFile(std::string_view bytes, const std::string& label);

    const std::string& label() const { return file_->label(); }
    const std::vector<StoredArray>& arrays() const { return arrays_; }

    /// The array called `name`. A lone array without a name takes any.
    /// Errors  also for a name that is not there: lists those that are.
    NamedTensor read(const std::string& name) const;

    /// All arrays. What is whole but no tensor (text, objects) is left out, unless there is nothing
    /// else; `note` is told, as of column names that were passed over.
    std::vector<NamedTensor> read_all(const Sink& note) const;

    /// Remarks from opening the file, a sentence each.
    const std::vector<std::string>& notes() const { return notes_; }

private:
    void find_arrays();

    std::unique_ptr<InputFile> file_;
    std::vector<StoredArray> arrays_;
    std::vector<std::string> notes_;
};

/// An output for notes that ignores them.
inline void ignore_note(std::string_view) {}

/// The arrays that `spec` names: `FILE`, all of them, or `FILE:NAME`, that one alone. A lone array
/// without a name is called NAME then.
/// Errors  as TensorFile.
std::vector<NamedTensor> read_tensors(const std::string& spec, const Sink& note = ignore_note);

/// The file of `FILE` or `FILE:NAME`.
std::string file_of(const std::string& spec);

/// Reads one array. `spec` is `FILE` or `FILE:NAME`; the name is needed where a file holds several.
/// Errors  as TensorFile; also for a name where the file has none.
Tensor read_tensor(const std::string& spec, const Sink& note = ignore_note);
/// The same with what the file says of it.
NamedTensor read_named_tensor(const std::string& spec, const Sink& note = ignore_note);

}  // namespace attn
