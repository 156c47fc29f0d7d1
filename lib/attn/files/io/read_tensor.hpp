#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/elements.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/ground/text/text_pieces.hpp"

namespace attn {

/// A file of arrays: .npy, .npz, .safetensors, .pt, .csv, .json or a printed array. Lists its
/// arrays at once, and reads each on demand. A .npy file, a plain table, a single tensor and a bare
/// list are one array without a name. The content determines the format; the suffix only if the
/// content is ambiguous.
///
/// Shapes  those of the file, with axes `axis0`, `axis1`, ... unless the file names them, as this
///         program's own .json does.
/// Range   float32 (also for 16-bit types), float64, int64 or bool; .csv gives float64 or bool.
/// Errors  InputError naming the file, the offset or line, and what to do.
class TensorFile {
public:
    /// Opens the file at `path`; `-` is standard input.
    explicit TensorFile(const std::string& path);
    /// Uses bytes in memory, which must outlive this; `label` replaces the path, including its
    /// suffix.
    TensorFile(std::string_view bytes, const std::string& label);

    const std::string& label() const { return file_->label(); }
    const std::vector<StoredArray>& arrays() const { return arrays_; }

    /// Returns the array with that name. A single unnamed array matches any name.
    /// Errors  also for an unknown name: lists the existing ones.
    NamedTensor read(const std::string& name) const;

    /// Returns all arrays. Entries that are intact but not tensors (text, objects) are left out,
    /// unless there is nothing else; `note` receives a message for them, and for skipped column
    /// names.
    std::vector<NamedTensor> read_all(const Sink& note) const;

    /// Remarks from opening the file, one sentence each.
    const std::vector<std::string>& notes() const { return notes_; }

private:
    void find_arrays();

    std::unique_ptr<InputFile> file_;
    std::vector<StoredArray> arrays_;
    std::vector<std::string> notes_;
};

/// A sink that ignores notes.
inline void ignore_note(std::string_view) {}

/// Reads the arrays of `spec`: `FILE` for all of them, `FILE:NAME` for a single one, which is also
/// the name of a single unnamed array.
/// Errors  as TensorFile.
std::vector<NamedTensor> read_tensors(const std::string& spec, const Sink& note = ignore_note);

/// Returns the file of `FILE` or `FILE:NAME`.
std::string file_of(const std::string& spec);

/// Reads one array. `spec` is `FILE` or `FILE:NAME`; the name is needed if a file has several.
/// Errors  as TensorFile; also for a name if the file has none.
Tensor read_tensor(const std::string& spec, const Sink& note = ignore_note);
/// Reads one array with its name and the names of its rows and columns.
NamedTensor read_named_tensor(const std::string& spec, const Sink& note = ignore_note);

}  // namespace attn
